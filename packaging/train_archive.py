"""The relocatable archive of titan-train: bin/titan-train finds LibTorch and starts libexec/titan-train, which executes libexec/titan-train-engine."""
import os
import shutil
import subprocess

from tarball import write_tarball

LAUNCHER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "titan-train.sh")


def lay_out(stage, build):
    """Makes of a folder in which the component titan-train was installed one that runs anywhere, with any LibTorch."""
    program = os.path.join(stage, "libexec/titan-train")
    shutil.move(os.path.join(stage, "bin/titan-train"), program)
    shutil.copy(LAUNCHER, os.path.join(stage, "bin/titan-train"))
    parts = {path: "$ORIGIN/../lib" for path in (program, program + "-engine")}
    # The module for GPUs goes with it where one was built.
    cuda = os.path.join(build, "bin/libtitan_cuda.so")
    if os.path.exists(cuda):
        module = os.path.join(stage, "lib/libtitan_cuda.so")
        os.makedirs(os.path.dirname(module), exist_ok=True)
        subprocess.run(["strip", "-o", module, cuda], check=True)
        parts[module] = "$ORIGIN"
    # No path of the machine that built it. CMake's own way, for patchelf may be missing.
    work = os.path.join(build, "packages/run_path.cmake")
    with open(work, "w") as file:
        for part, run_path in parts.items():
            file.write(f'file(RPATH_SET FILE "{part}" NEW_RPATH "{run_path}")\n')
    subprocess.run(["cmake", "-P", work], check=True)


def write_train_archive(out, name, stage, build, epoch):
    """stage: where the component titan-train was installed. Returns the archive's path."""
    lay_out(stage, build)
    path = os.path.join(out, name + ".tar.gz")
    write_tarball(path, stage, name, epoch)
    return path
