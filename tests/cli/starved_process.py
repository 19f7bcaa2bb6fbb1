#!/usr/bin/env python3
"""starved_process.py --bin FOLDER: verbs that may start no thread, or have too little memory, work or say so; they never die, and leave nothing."""
import argparse
import os
import pathlib
import resource
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
NOBODY = 65534
VERBS = [["reshard", "{run}", "{out}", "--dp", "3", "--pp", "1"], ["reshard", "{run}", "{out}", "--dp", "1", "--compression", "zstd"], ["convert", "{titan}", "{out}", "--to", "hf"],
         ["convert", "{titan}", "{out}", "--to", "dcp"], ["convert", "{hf}", "{out}"], ["strip", "{run}", "{out}", "--dtype", "bf16"],
         ["verify", "{run}"], ["diff", "{run}", "{run}"], ["inspect", "{run}", "--stats"],
         ["lr", "set", "{run}", "{out}-longer", "--steps", "200000", "--policy", "rewarm", "--dry-run", "--json"]]
MORE_MIB = (0, 0.5, 1, 1.5, 2, 3, 4, 6, 8, 12, 16, 24, 48)  # than the program needs to start


def fail(text):
    sys.exit(f"starved_process: {text}")


def no_threads():
    """The limit counts every process of a user and does not bind root."""
    if os.geteuid() == 0:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
    resource.setrlimit(resource.RLIMIT_NPROC, (1, 1))


def at_most(mib):
    return lambda: resource.setrlimit(resource.RLIMIT_AS, (int(mib * 2**20),) * 2)


def least_mib(program):
    for mib in range(1, 1000):
        if subprocess.run([program, "--version"], capture_output=True, preexec_fn=at_most(mib)).returncode == 0:
            return mib
    fail("the program does not start")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    programs = parser.parse_args().bin.resolve()
    with tempfile.TemporaryDirectory(prefix="titan-starved-") as root:
        root = pathlib.Path(root)
        work = root / "work"
        work.mkdir()
        root.chmod(0o755)
        work.chmod(0o777)
        program = root / "titan-ckpt"  # where anybody may run it
        shutil.copy(programs / "titan-ckpt", program)
        made = subprocess.run([programs / "titan-make-checkpoint", root / "run/checkpoint", "step=10", "dp=2", "pp=2", "dim=128", "vocab=4000", "leaf=4096"],
                              capture_output=True, text=True, check=True)
        run = made.stdout.split()[0]
        subprocess.run([sys.executable, HERE / "tools/hf-folder", root / "hf", "large", "square"], check=True)
        subprocess.run([program, "convert", root / "hf", root / "titan"], capture_output=True, check=True)
        for path in [path for name in ("run", "hf", "titan") for path in (root / name, *(root / name).rglob("*"))]:
            path.chmod(0o755 if path.is_dir() else 0o644)

        def call(verb, limit):
            command = [program, *(part.format(run=run, hf=root / "hf", titan=root / "titan", out=work / "out") for part in verb)]
            done = subprocess.run(command, capture_output=True, text=True, preexec_fn=limit, timeout=120)
            left = sorted(os.listdir(work))
            if left != (["out"] if done.returncode == 0 and "{out}" in verb else []):
                fail(f"{verb}: exit code {done.returncode} and left {left}: {done.stderr}")
            shutil.rmtree(work / "out", ignore_errors=True)
            return done

        short, least = 0, least_mib(program)
        for verb in VERBS:
            done = call(verb, no_threads)
            if done.returncode != 0:
                fail(f"{verb} without threads: exit code {done.returncode}: {done.stderr}")
            for more in MORE_MIB:
                done = call(verb, at_most(least + more))
                if done.returncode not in (0, 3) or done.returncode == 3 and not done.stderr.startswith(("error: ", '{"type":"error"')):
                    fail(f"{verb} in {least + more} MiB of address space: exit code {done.returncode}: {done.stderr}")
                short += "out of memory" in done.stderr
        if short == 0:
            fail("no verb ran out of memory")
    print(f"{len(VERBS)} verbs without threads; {short} of {len(VERBS) * len(MORE_MIB)} calls ran out of memory and said so")


main()
