"""A Python wheel that holds one static program: pip puts it on the path. The same input gives the same bytes."""
import base64
import hashlib
import os
import time
import zipfile

TAG = "py3-none-manylinux_2_17_x86_64.manylinux2014_x86_64"


def digest(data):
    return "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


def write_wheel(folder, version, program, licences, epoch):
    """program: path of the executable; licences: path by name. Returns the wheel's path."""
    info = f"titan_ckpt-{version}.dist-info"
    metadata = ["Metadata-Version: 2.1", "Name: titan-ckpt", f"Version: {version}", "License: Apache-2.0",
                "Summary: Lists, verifies, compares, reshards and converts checkpoints of language models",
                "Requires-Python: >=3.7"]
    wheel = ["Wheel-Version: 1.0", "Generator: titan", "Root-Is-Purelib: false"]
    wheel += [f"Tag: py3-none-{platform}" for platform in TAG.split("-")[2].split(".")]
    read = lambda path: open(path, "rb").read()
    files = [(f"titan_ckpt-{version}.data/scripts/titan-ckpt", read(program), 0o755)]
    files += [(f"{info}/licenses/{name}", read(path), 0o644) for name, path in sorted(licences.items())]
    files += [(f"{info}/METADATA", ("\n".join(metadata) + "\n").encode(), 0o644)]
    files += [(f"{info}/WHEEL", ("\n".join(wheel) + "\n").encode(), 0o644)]
    record = "".join(f"{name},{digest(data)},{len(data)}\n" for name, data, _ in files) + f"{info}/RECORD,,\n"
    files += [(f"{info}/RECORD", record.encode(), 0o644)]
    path = os.path.join(folder, f"titan_ckpt-{version}-{TAG}.whl")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, data, mode in files:
            entry = zipfile.ZipInfo(name, time.gmtime(max(epoch, 315532800))[:6])
            entry.external_attr = (0o100000 | mode) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, data)
    return path
