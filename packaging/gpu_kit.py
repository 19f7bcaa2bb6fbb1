"""The folder that travels to a machine with a GPU: stripped programs, scripts/gpu-check and what it reads. There it needs Python and its torch alone."""
import os
import shutil

from train_archive import lay_out

MOST = 64 << 20  # bytes
FILES = ("scripts/gpu-check", "tests/e2e/harness.py", "tests/e2e/small.toml", "tests/gpu")


def write_gpu_kit(folder, root, train, ckpt, build):
    """train, ckpt: where these components were installed. Returns the bytes of the folder, which is made anew."""
    if not os.path.exists(os.path.join(build, "bin/libtitan_cuda.so")):
        raise SystemExit(f"error: {build}/bin has no libtitan_cuda.so\n  hint: scripts/bootstrap --cuda, then cmake --preset release && cmake --build build")
    lay_out(train, build)
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(train, folder, ignore=shutil.ignore_patterns("man", "bash-completion", "zsh", "fish"))
    shutil.copy(os.path.join(ckpt, "bin/titan-ckpt"), os.path.join(folder, "bin"))
    for name in FILES:
        source, target = os.path.join(root, name), os.path.join(folder, name)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        if os.path.isdir(source):
            shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, target)
    size = sum(os.path.getsize(os.path.join(place, name)) for place, _, names in os.walk(folder) for name in names)
    if size > MOST:
        raise SystemExit(f"error: {folder} has {size:,} bytes, more than the {MOST:,} that may travel")
    return size
