#!/usr/bin/env python3
"""Makes the packages of titan-ckpt and uses each where nothing of the tree is visible: a root of its own, and a new Python environment.

    try_ckpt.py SOURCE BUILD
"""
import glob
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile

from bare import about_itself, in_root, no_debug_information, run


def use(program):
    """program(words...) runs titan-ckpt: what it says of itself, and checkpoints verified, whole and damaged."""
    about_itself(program, "titan-ckpt", 11, ["HDF5", "zstd", "xxHash"], ["The HDF Group", "Yann Collet", "Deutsches Klimarechenzentrum"])
    assert program("verify", "/golden").startswith("ok "), "verify"
    program("verify", "/damaged", expect=1)


def checkpoints(source, root):
    """A whole checkpoint at /golden, and one with a flipped byte at /damaged."""
    for name in ("golden", "damaged"):
        shutil.copytree(os.path.join(source, "tests/golden/format-1/step-00000012"), os.path.join(root, name))
    path = os.path.join(root, "damaged/model/shard-00000.h5")
    os.chmod(path, 0o644)
    with open(path, "r+b") as file:
        file.seek(os.path.getsize(path) // 2)
        byte = file.read(1)
        file.seek(-1, 1)
        file.write(bytes([byte[0] ^ 1]))


def man_pages(folder):
    pages = sorted(glob.glob(os.path.join(folder, "share/man/man1/*.1*")))
    assert len(pages) >= 12, pages
    for page in pages if shutil.which("man") else []:
        done = subprocess.run(["man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z", page], capture_output=True, text=True)
        assert done.returncode == 0 and not done.stderr, f"{page}: {done.stderr}"


def main(source, build):
    with tempfile.TemporaryDirectory(prefix="titan-packages-") as folder:
        out = os.path.join(folder, "dist")
        script = os.path.join(source, "scripts/package")
        package = [script, "--build", build, "--out", out, "--program", "titan-ckpt"]
        print(run(*package), end="")
        sums = {line.split()[1]: line.split()[0] for line in open(os.path.join(out, "SHA256SUMS"))}
        assert len(sums) == 3, sums
        for name, sum in sums.items():
            assert hashlib.sha256(open(os.path.join(out, name), "rb").read()).hexdigest() == sum, name

        root = os.path.join(folder, "tarball")
        os.mkdir(root)
        run("tar", "-xzf", glob.glob(out + "/*.tar.gz")[0], "-C", root, "--strip-components=1")
        checkpoints(source, root)
        man_pages(root)
        for needed in ("share/doc/titan-ckpt/LICENSE", "share/doc/titan-ckpt/hdf5.txt", "share/bash-completion/completions/titan-ckpt"):
            assert os.path.getsize(os.path.join(root, needed)) > 0, needed
        no_debug_information(root + "/bin/titan-ckpt")
        use(lambda *words, **more: in_root(root, "/bin/titan-ckpt", *words, **more))
        print("tarball  works")

        root = os.path.join(folder, "deb")
        os.mkdir(root)
        if shutil.which("dpkg-deb"):
            run("dpkg-deb", "-x", glob.glob(out + "/*.deb")[0], root)
            checkpoints(source, root)
            use(lambda *words, **more: in_root(root, "/usr/bin/titan-ckpt", *words, **more))
            print("deb      works")

        venv = os.path.join(folder, "venv")
        wheel = glob.glob(out + "/*.whl")[0]
        assert os.path.getsize(wheel) <= 6_500_000, os.path.getsize(wheel)
        run(sys.executable, "-m", "venv", venv)
        run(venv + "/bin/pip", "install", "--disable-pip-version-check", "--no-index", wheel)
        data = os.path.join(folder, "tarball")

        def installed(*words, **more):
            words = [data + word if word.startswith("/") else word for word in words]
            return run("titan-ckpt", *words, cwd="/", env={"PATH": venv + "/bin"}, **more)
        use(installed)
        print("wheel    works")

        sums_before = {name: sum for name, sum in sums.items() if not name.endswith(".deb")}
        run(*package)
        again = {line.split()[1]: line.split()[0] for line in open(os.path.join(out, "SHA256SUMS"))}
        assert sums_before == {name: again[name] for name in sums_before}, "a second call makes other bytes"
        print("a second call makes the same bytes")


if __name__ == "__main__":
    main(*sys.argv[1:])
