#!/usr/bin/env python3
"""reshard_process.py --bin FOLDER: reshard as a process: killed, interrupted, twice at once, out of space, in little memory."""
import argparse
import hashlib
import os
import pathlib
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

SEED = 20260102
POINTS = 20


def fail(text):
    sys.exit(f"reshard_process: {text}")


def digest(folder):
    """Names and contents of everything below."""
    total = hashlib.sha256()
    for path in sorted(pathlib.Path(folder).rglob("*")):
        total.update(str(path).encode() + b"\0" + (path.read_bytes() if path.is_file() else b""))
    return total.hexdigest()


class Bench:
    def __init__(self, programs, folder):
        self.ckpt, self.folder = str(programs / "titan-ckpt"), folder
        made = subprocess.run([programs / "titan-make-checkpoint", folder / "run/checkpoint", "step=10", "dp=2", "pp=2", "dim=256", "vocab=6000", "leaf=4096"],
                              capture_output=True, text=True, check=True)
        self.source, self.id = made.stdout.split()
        self.dst = folder / "out"
        self.pristine = digest(folder / "run")

    def start(self, *flags, **more):
        return subprocess.Popen([self.ckpt, "reshard", self.source, str(self.dst), "--dp", "3", "--pp", "1", *flags],
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more)

    def check(self, what, code, wanted, error):
        if code not in wanted:
            fail(f"{what}: exit code {code}, expected one of {wanted}: {error}")
        if digest(self.folder / "run") != self.pristine:
            fail(f"{what}: the source has changed")

    def expect_whole(self, what):
        done = subprocess.run([self.ckpt, "verify", str(self.dst)], capture_output=True, text=True)
        shown = subprocess.run([self.ckpt, "inspect", str(self.dst), "--json"], capture_output=True, text=True).stdout
        if done.returncode != 0 or f'"id":"{self.id}"' not in shown:
            fail(f"{what}: the new checkpoint is not whole: {done.stdout}{done.stderr}")

    def expect_nothing_left(self, what):
        names = sorted(os.listdir(self.folder))
        if names != ["run"]:
            fail(f"{what}: left {names}")

    def clear(self):
        shutil.rmtree(self.dst, ignore_errors=True)


def full_run(bench):
    begin = time.monotonic()
    process = bench.start()
    error = process.communicate()[1]
    seconds = time.monotonic() - begin
    bench.check("run to the end", process.returncode, [0], error)
    bench.expect_whole("run to the end")
    bench.clear()
    bench.expect_nothing_left("run to the end")
    return seconds


def killed(bench, seconds, dice):
    early = 0
    for point in range(POINTS):
        what = f"killed at point {point}"
        process = bench.start()
        time.sleep(dice.uniform(0, 1.1) * seconds)
        process.kill()
        error = process.communicate()[1]
        bench.check(what, process.returncode, [0, -signal.SIGKILL], error)
        if bench.dst.exists():  # the rename had been made
            bench.expect_whole(what)
        else:
            early += 1
        rerun = bench.start("--force")
        error = rerun.communicate()[1]
        bench.check(what + ", rerun", rerun.returncode, [0], error)
        bench.expect_whole(what + ", rerun")
        bench.clear()
        bench.expect_nothing_left(what + ", rerun")
    if early == 0:
        fail("no kill came before the end")
    return early


def interrupted(bench, seconds, dice):
    stopped = 0
    for number in (signal.SIGINT, signal.SIGTERM) * 4:
        process = bench.start()
        time.sleep(dice.uniform(0.2, 0.8) * seconds)
        process.send_signal(number)
        error = process.communicate()[1]
        # Before the handlers are there the signal ends the process as such.
        bench.check(f"signal {number}", process.returncode, [0, 128 + number, -number], error)
        if process.returncode == 128 + number:
            stopped += 1
            bench.expect_nothing_left(f"signal {number}")
        bench.clear()
        shutil.rmtree(f"{bench.dst}.tmp-rewrite", ignore_errors=True)
    if stopped == 0:
        fail("no signal came in the middle")
    return stopped


def two_at_once(bench):
    for _ in range(50):
        first = bench.start()
        while first.poll() is None and not os.path.exists(f"{bench.dst}.tmp-rewrite/new"):
            pass
        os.kill(first.pid, signal.SIGSTOP)
        if first.poll() is None and os.path.exists(f"{bench.dst}.tmp-rewrite/new"):
            break
        os.kill(first.pid, signal.SIGCONT)  # it was too fast
        first.communicate()
        bench.clear()
    else:
        fail("two at once: the first one is always done before the second starts")
    second = bench.start()
    error = second.communicate()[1]
    bench.check("second on the same DST", second.returncode, [11], error)
    os.kill(first.pid, signal.SIGCONT)
    error = first.communicate()[1]
    bench.check("first on the same DST", first.returncode, [0], error)
    bench.expect_whole("two at once")
    bench.clear()
    bench.expect_nothing_left("two at once")


def out_of_space(bench):
    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))

    process = bench.start(preexec_fn=limit)
    error = process.communicate()[1]
    bench.check("out of space", process.returncode, [3], error)
    if "shard-" not in error or "error:" not in error:
        fail(f"out of space: no clear error: {error}")
    bench.expect_nothing_left("out of space")


def little_memory(bench, limit_mib=8, program_mib=14):
    # Linux counts what a process held before its exec as well, so a small one has to start it.
    script = "import resource, subprocess, sys; code = subprocess.call(sys.argv[1:]); print(code, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    command = [bench.ckpt, "reshard", bench.source, str(bench.dst), "--dp", "3", "--pp", "1", "--memory", f"{limit_mib}MiB", "--json"]
    done = subprocess.run([sys.executable, "-S", "-c", script, *command], capture_output=True, text=True, check=True)
    code, resident = map(int, done.stdout.splitlines()[-1].split())
    bench.check("in little memory", code, [0], done.stderr)
    size = sum(path.stat().st_size for path in bench.dst.rglob("*") if path.is_file()) / 2**20
    if resident / 1024 > limit_mib + program_mib:
        fail(f"in little memory: {resident / 1024:.1f} MiB resident for a limit of {limit_mib} MiB and a program of {program_mib}")
    bench.clear()
    return resident / 1024, size


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    programs = parser.parse_args().bin.resolve()
    dice = random.Random(SEED)
    with tempfile.TemporaryDirectory(prefix="titan-reshard-") as folder:
        bench = Bench(programs, pathlib.Path(folder))
        seconds = full_run(bench)
        early = killed(bench, seconds, dice)
        stopped = interrupted(bench, seconds, dice)
        two_at_once(bench)
        out_of_space(bench)
        resident, size = little_memory(bench)
    print(f"seed {SEED}: {POINTS} kills ({early} before the end), {stopped} clean stops, two at once, out of space; {resident:.1f} MiB resident for {size:.0f} MiB")


main()
