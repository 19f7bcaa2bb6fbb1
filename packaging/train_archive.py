"""The relocatable archive of titan-train: bin/titan-train finds LibTorch and starts libexec/titan-train."""
import os
import shutil
import subprocess

from tarball import write_tarball

LAUNCHER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "titan-train.sh")


def write_train_archive(out, name, stage, build, epoch):
    """stage: where the component titan-train was installed. Returns the archive's path."""
    program = os.path.join(stage, "libexec/titan-train")
    os.makedirs(os.path.dirname(program))
    shutil.move(os.path.join(stage, "bin/titan-train"), program)
    shutil.copy(LAUNCHER, os.path.join(stage, "bin/titan-train"))
    # No path of the machine that built it. CMake's own way, for patchelf may be missing.
    work = os.path.join(build, "packages/run_path.cmake")
    with open(work, "w") as file:
        file.write(f'file(RPATH_SET FILE "{program}" NEW_RPATH "$ORIGIN/../lib")\n')
    subprocess.run(["cmake", "-P", work], check=True)
    # A library of CUDA goes with it where one was built.
    cuda = os.path.join(build, "lib/libtitan_cuda.so")
    if os.path.exists(cuda):
        os.makedirs(os.path.join(stage, "lib"))
        subprocess.run(["strip", "-o", os.path.join(stage, "lib/libtitan_cuda.so"), cuda], check=True)
    path = os.path.join(out, name + ".tar.gz")
    write_tarball(path, stage, name, epoch)
    return path
