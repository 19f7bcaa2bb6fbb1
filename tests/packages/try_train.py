#!/usr/bin/env python3
"""Makes the archive of titan-train and uses it where nothing of the tree is visible: a root with the system's /usr, the unpacked archive
and, read-only, the folder that LibTorch was installed in. Then `cmake --install` into a bare folder.

    try_train.py SOURCE BUILD TORCH
"""
import glob
import os
import re
import subprocess
import sys
import tempfile

from bare import about_itself, in_root, may_mount, no_debug_information, run

CONFIG = """
[job]
dump_folder = "AT/work/run"
[model]
dim = 32
n_layers = 2
n_heads = 2
vocab_size = 256
[training]
steps = 2
seq_len = 16
local_batch_size = 1
global_batch_size = 2
dataset_path = "AT/work/text.txt"
[checkpoint]
enable = true
interval = 1
"""


def libraries(program):
    text = run("readelf", "-Wd", program)
    return sorted(re.findall(r"NEEDED.*\[(.*)\]", text)), re.findall(r"(?:RUNPATH|RPATH).*\[(.*)\]", text)


def newest_glibc(program):
    return max(tuple(map(int, found.split("."))) for found in re.findall(r"GLIBC_([0-9.]+)", run("readelf", "-WV", program)))


def gpu_kit(source, build, torch, work):
    """The folder that travels runs elsewhere, in calls with a budget, with the torch that Python imports."""
    run(os.path.join(source, "scripts/package"), "--build", build, "--out", work, "--gpu-kit")
    size = int(run("du", "-sb", work + "/gpu-kit").split()[0])
    assert size < 64 << 20, size
    for program in "libexec/titan-train", "bin/titan-ckpt", "lib/libtitan_cuda.so":
        no_debug_information(f"{work}/gpu-kit/{program}")
        assert build.encode() not in open(f"{work}/gpu-kit/{program}", "rb").read(), program
    os.rename(work + "/gpu-kit", work + "/elsewhere")
    env = {"PATH": "/usr/bin", "PYTHONPATH": os.path.dirname(torch), "TMPDIR": work, "PYTHONDONTWRITEBYTECODE": "1"}
    command = ["python3", work + "/elsewhere/scripts/gpu-check", "--device", "cpu", "--out", work + "/report.json"]
    told = run(*command, "--only", "1,18", env=env, cwd="/")
    assert re.search(r" 1  passed", told) and re.search(r"18  passed", told), told
    print(f"the kit for a GPU, {size / 1e6:.1f} MB  works")


def main(source, build, torch):
    with tempfile.TemporaryDirectory(prefix="titan-packages-") as folder:
        out = os.path.join(folder, "dist")
        print(run(os.path.join(source, "scripts/package"), "--build", build, "--out", out, "--program", "titan-train"), end="")
        archive, = glob.glob(out + "/titan-train-*.tar.gz")
        root = os.path.join(folder, "root")
        os.makedirs(root + "/opt/titan")
        os.makedirs(root + "/work")
        os.makedirs(root + "/tmp")
        run("tar", "-xzf", archive, "-C", root + "/opt/titan", "--strip-components=1")

        plain = {"libstdc++.so.6", "libgcc_s.so.1", "libc.so.6", "libm.so.6", "ld-linux-x86-64.so.2"}  # LibTorch needs them as well
        for name, torchs in {"titan-train": set(), "titan-train-engine": {"libtorch_cpu.so", "libc10.so", "libgomp.so.1"}}.items():
            program = f"{root}/opt/titan/libexec/{name}"
            needed, run_path = libraries(program)
            assert torchs <= set(needed) <= torchs | plain, (name, needed)
            assert run_path == ["$ORIGIN/../lib"], run_path
            assert newest_glibc(program) <= (2, 36), newest_glibc(program)
            no_debug_information(program)
            for path in (build, torch + "/lib"):
                assert path.encode() not in open(program, "rb").read(), path
        module = root + "/opt/titan/lib/libtitan_cuda.so"
        with_cuda = os.path.exists(build + "/bin/libtitan_cuda.so")
        assert os.path.exists(module) == with_cuda, "the module for GPUs goes with the archive where it was built"
        if with_cuda:
            assert libraries(module)[1] == ["$ORIGIN"], libraries(module)
            no_debug_information(module)
        assert "licenses" in open(f"{root}/opt/titan/share/man/man1/titan-train.1").read()
        assert os.path.exists(f"{root}/opt/titan/share/man/man1/titan-train-run.1")

        # Where nothing can be mounted, the bare folder is the place, and LibTorch stays in its own.
        own_root = may_mount()
        at, site = ("", "/site") if own_root else (root, os.path.dirname(torch))
        shown = [(os.path.dirname(torch), "/site")] + [(place, place) for place in ("/usr", "/dev", "/proc")]
        for link in ("bin", "lib", "lib64"):
            os.symlink("usr/" + link, f"{root}/{link}")
        os.symlink(at + "/opt/titan/bin/titan-train", root + "/work/linked")

        def program(*words, expect=0, env=None, start="/opt/titan/bin/titan-train"):
            env = {"PATH": "/usr/bin", "LC_ALL": "C.UTF-8", **({"TITAN_TORCH_DIR": site + "/torch"} if env is None else env)}
            if own_root:
                return in_root(root, start, *words, shown=shown, expect=expect, env=env)
            return run(at + start, *words, expect=expect, env=env, cwd="/")

        about_itself(program, "titan-train", 5, ["HDF5", "zstd", "xxHash", "LibTorch"], ["The HDF Group", "Gabi Melman", "Victor Zverovich"])
        print("help, versions and notices  work")
        with open(root + "/work/config.toml", "w") as file:
            file.write(CONFIG.replace("AT", at))
        with open(root + "/work/text.txt", "w") as file:
            file.write("A step is saved, and a run goes on from it. " * 40)
        run_it = ["run", at + "/work/config.toml", "--nproc", "2"]
        # A line to paste begins with the launcher.
        text = program(*run_it, "--debug.stop_at_step=1", expect=75)
        assert f"{at}/opt/titan/bin/titan-train run " in text and "libexec" not in text, text
        text = program(*run_it, start="/work/linked", env={"PYTHONPATH": site})
        assert "/step-00000001" in text and "step 2 saved" in text, text
        print("a run of two ranks, and a resume with an importable torch  work")
        if with_cuda and not os.path.exists("/dev/nvidiactl"):
            text = program(*run_it, "--training.device=cuda", expect=2)
            assert "no CUDA device" in text, text
            print("the module for GPUs  opens")

        def refused(found, **env):
            text = program("--version", expect=2, env=env)
            assert text.startswith("error: ") and "\n  expected: LibTorch 2.11" in text and "\n  hint: " in text, text
            assert found in text, text
        refused("python3 has no torch")
        refused(f"TITAN_TORCH_DIR={at}/work has no lib/libtorch_cpu.so", TITAN_TORCH_DIR=at + "/work")
        os.makedirs(root + "/work/old/lib")
        open(root + "/work/old/lib/libtorch_cpu.so", "w").close()
        refused(f"no version (TITAN_TORCH_DIR={at}/work/old)", TITAN_TORCH_DIR=at + "/work/old")
        with open(root + "/work/old/version.py", "w") as file:
            file.write("__version__ = '2.110.0+cpu'\n")
        refused(f"2.110.0+cpu (TITAN_TORCH_DIR={at}/work/old)", TITAN_TORCH_DIR=at + "/work/old")
        text = program("run", at + "/work/none.toml", expect=2)
        assert "none.toml" in text, text
        print("refusals  work")

        if with_cuda:
            gpu_kit(source, build, torch, root + "/work")
        prefix = os.path.join(folder, "prefix")
        run("cmake", "--install", build, "--component", "titan-train", "--prefix", prefix)
        for program, run_path in {"bin/titan-train": "$ORIGIN:$ORIGIN/../lib", "libexec/titan-train-engine": f"$ORIGIN:$ORIGIN/../lib:{torch}/lib"}.items():
            no_debug_information(f"{prefix}/{program}")
            assert libraries(f"{prefix}/{program}")[1] == [run_path], libraries(f"{prefix}/{program}")
        moved = os.path.join(folder, "moved")
        os.rename(prefix, moved)
        assert subprocess.run([moved + "/bin/titan-train", "--version"], env={}, cwd="/", stdout=subprocess.DEVNULL).returncode == 0
        there = subprocess.run([moved + "/bin/titan-train", "eval", "none", "--text", "none"], env={}, cwd="/", capture_output=True, text=True)
        assert there.returncode == 10 and "none" in there.stderr, there.stderr
        os.remove(moved + "/libexec/titan-train-engine")
        gone = subprocess.run([moved + "/bin/titan-train", "eval", "none", "--text", "none"], env={}, cwd="/", capture_output=True, text=True)
        assert gone.returncode == 2 and "titan-train-engine is not there" in gone.stderr, gone.stderr
        print("cmake --install  works")


if __name__ == "__main__":
    main(*sys.argv[1:])
