#!/usr/bin/env python3
"""try_library.py ROOT BUILD: the installed libtitan-ckpt, used outside of the tree, by find_package and by pkg-config.

Installs it, moves the prefix (so that no path of the first place may be in it), builds copies of examples/ both ways, runs them, and lets
titan-ckpt judge what they wrote and they what is damaged.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile


def run(*command, code=0, **more):
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, **more)
    if done.returncode != code:
        sys.exit(f"{' '.join(command)}: exit {done.returncode}, expected {code}\n{done.stdout}{done.stderr}")
    return done.stdout


def check(condition, what):
    if not condition:
        sys.exit(what)


def try_examples(programs, work, ckpt):
    run_folder = os.path.join(work, "run")
    wrote = run(os.path.join(programs, "write_checkpoint"), run_folder)
    check("6 tensors, whole" in wrote, wrote)
    identity = re.search(r"id ([0-9a-f]{32})", wrote)[1]
    read = os.path.join(programs, "read_tensor")
    listed = run(read, run_folder + "@latest")
    check(identity in listed and "optimizer  float32  line.bias.exp_avg_sq [ 1 ]" in listed, listed)
    value = float(run(read, run_folder + "@10", "line.weight").splitlines()[-1])
    shown = float(run(ckpt, "cat", run_folder + "@10", "line.weight").split()[-1])
    check(abs(value - shown) < 1e-5, f"{value} read, {shown} shown")

    check(identity[:12] in run(ckpt, "ls", run_folder), "ls shows another id")
    check("0 damaged" in run(ckpt, "verify", run_folder), "verify finds damage")
    shown = run(ckpt, "inspect", run_folder + "@latest")
    check("line-trainer 1.0, libtitan-ckpt" in shown, shown)
    check(run(ckpt, "diff", run_folder + "@10", run_folder + "@10").startswith("equal"), "diff of itself")

    shard = os.path.join(run_folder, "step-00000010/model/shard-00000.h5")
    os.chmod(shard, 0o644)
    with open(shard, "r+b") as file:
        file.truncate(os.path.getsize(shard) - 1)
    failed = subprocess.run([read, run_folder + "/step-00000010"], capture_output=True, text=True)
    check(failed.returncode == 1 and "shard-00000.h5" in failed.stderr, f"a cut file is not named: {failed.stderr}")
    shutil.rmtree(run_folder)


def main():
    root, build = sys.argv[1:3]
    ckpt = os.path.join(build, "bin/titan-ckpt")
    with tempfile.TemporaryDirectory() as work:
        prefix, examples = os.path.join(work, "moved here"), os.path.join(work, "examples")
        run("cmake", "--install", build, "--component", "libtitan-ckpt", "--prefix", os.path.join(work, "first"))
        os.rename(os.path.join(work, "first"), prefix)
        shutil.copytree(os.path.join(root, "examples"), examples)

        archive, = (os.path.join(folder, name) for folder, _, names in os.walk(prefix) for name in names if name == "libtitan-ckpt.a")
        names = run("nm", "--extern-only", "--defined-only", "--format=just-symbols", archive).split()
        check(any("write_checkpoint" in name for name in names), "the archive lacks write_checkpoint")
        foreign = [name for name in names if re.match(r"H5|ZSTD_|aec_|inflate|XXH", name)]
        notices = os.listdir(os.path.join(prefix, "share/doc/libtitan-ckpt"))
        check({"LICENSE", "THIRD_PARTY.md", "hdf5.txt", "libaec.txt", "zlib.txt", "zstd.txt", "xxhash.txt", "rapidjson.txt", "gcc.txt"} == set(notices), f"notices: {notices}")
        check(not foreign, f"the archive shows names of other libraries: {foreign[:5]}")

        run("cmake", "-S", examples, "-B", os.path.join(work, "cmake"), f"-DCMAKE_PREFIX_PATH={prefix}", "-DCMAKE_CXX_FLAGS=-Wall -Wextra -Werror")
        run("cmake", "--build", os.path.join(work, "cmake"))
        try_examples(os.path.join(work, "cmake"), work, ckpt)

        os.rename(prefix, os.path.join(work, "again"))  # pkg-config's text has no way to quote a space for every shell
        config = dict(os.environ, PKG_CONFIG_PATH=os.path.join(work, "again", os.path.relpath(os.path.dirname(archive), prefix), "pkgconfig"))
        flags = run("pkg-config", "--cflags", "--libs", "titan-ckpt", env=config).split()
        programs = os.path.join(work, "pkg-config")
        os.mkdir(programs)
        for name in ("read_tensor", "write_checkpoint"):
            run("g++", "-std=c++20", os.path.join(examples, name + ".cpp"), "-o", os.path.join(programs, name), *flags)
        try_examples(programs, work, ckpt)
    print("the examples build and run with find_package and with pkg-config")


if __name__ == "__main__":
    main()
