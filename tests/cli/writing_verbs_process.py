#!/usr/bin/env python3
"""writing_verbs_process.py --bin FOLDER: every verb that writes, killed, interrupted and out of space; reshard also twice at once, in little memory."""
import argparse
import hashlib
import os
import pathlib
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
SEED = 20260102
POINTS = 20
VERBS = {  # arguments; whether the new checkpoint has the id of the old one; the size of a file (bytes) that is too much for it
    "reshard": (["reshard", "{run}", "{dst}", "--dp", "3", "--pp", "1"], True, 1 << 20),
    "strip": (["strip", "{run}", "{dst}"], False, 1000),
    "strip --dtype": (["strip", "{run}", "{dst}", "--dtype", "bf16"], False, 1 << 20),
    "merge": (["merge", "{run}", "{other}", "-o", "{dst}"], False, 1 << 20),
    "apply": (["apply", "{run}", "{patch}", "-o", "{dst}"], False, 1 << 20),
    "lr set": (["lr", "set", "{run}", "{dst}", "--steps", "200", "--policy", "extend"], False, 1000),
    "convert --to hf": (["convert", "{titan}", "{dst}", "--to", "hf"], False, 1 << 20),
    "convert": (["convert", "{hf}", "{dst}"], False, 1 << 20),
}


def fail(text):
    sys.exit(f"writing_verbs_process: {text}")


def digest(folder):
    """Names and contents of everything below."""
    total = hashlib.sha256()
    for path in sorted(pathlib.Path(folder).rglob("*")):
        total.update(str(path).encode() + b"\0" + (path.read_bytes() if path.is_file() else b""))
    return total.hexdigest()


def places(folder):
    """Names, sizes, inodes and times of everything below: what a write changes, at no cost. Contents are compared once per verb."""
    found = [(str(path), path.lstat()) for path in sorted(pathlib.Path(folder).rglob("*"))]
    return [(name, info.st_size, info.st_ino, info.st_mtime_ns) for name, info in found]


class Bench:
    def __init__(self, programs, folder):
        self.ckpt, self.folder = str(programs / "titan-ckpt"), folder
        made = subprocess.run([programs / "titan-make-checkpoint", folder / "in/run/checkpoint", "step=10", "dp=2", "pp=2", "dim=256", "vocab=4000", "leaf=4096"],
                              capture_output=True, text=True, check=True)
        self.source, self.id = made.stdout.split()
        self.other = self.source.replace("00000010", "00000020")
        subprocess.run([programs / "titan-make-checkpoint", folder / "in/run/checkpoint", "step=20", "seed=2", "dim=256", "vocab=4000", "leaf=4096"], capture_output=True, check=True)
        self.dst = folder / "out"
        self.inputs = folder / "in"
        subprocess.run([sys.executable, HERE / "tools/hf-folder", self.inputs / "hf", "large"], check=True)
        subprocess.run([self.ckpt, "convert", self.inputs / "hf", self.inputs / "titan"], capture_output=True, check=True)
        subprocess.run([self.ckpt, "patch", self.source, self.other, "-o", self.inputs / "patch"], capture_output=True, check=True)
        self.pristine, self.before = digest(self.inputs), places(self.inputs)

    def start(self, *flags, verb="reshard", through=(), **more):
        named = {"run": self.source, "other": self.other, "patch": self.inputs / "patch", "hf": self.inputs / "hf", "titan": self.inputs / "titan", "dst": self.dst}
        arguments = [part.format(**named) for part in VERBS[verb][0]]
        return subprocess.Popen([*through, self.ckpt, *arguments, *flags], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more)

    def start_and_stop(self, dice, longest):
        """A reshard that stands still between its first file and its end; where it was too fast the next one is stopped sooner."""
        for _ in range(50):
            process = self.start()
            while process.poll() is None and not self.has_begun():
                time.sleep(0.0002)
            time.sleep(dice.uniform(0, longest))
            process.send_signal(signal.SIGSTOP)  # does nothing where it is over
            if process.poll() is None:
                seen = os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
                if seen.si_code == os.CLD_STOPPED and self.has_begun():
                    return process
            process.send_signal(signal.SIGCONT)
            error = process.communicate()[1]
            self.check("too fast to be stopped", process.returncode, [0], error)
            self.clear()
            longest /= 2
        fail("50 reshards were over before they could be stopped")

    def has_begun(self):
        return os.path.exists(f"{self.dst}.tmp-rewrite/new")

    def check(self, what, code, wanted, error):
        if code not in wanted:
            fail(f"{what}: exit code {code}, expected one of {wanted}: {error}")
        if places(self.inputs) != self.before:
            fail(f"{what}: the source has changed")

    def expect_whole(self, what, verb="reshard"):
        done = subprocess.run([self.ckpt, "verify", str(self.dst)], capture_output=True, text=True)
        if done.returncode != 0:
            fail(f"{what}: the new checkpoint is not whole: {done.stdout}{done.stderr}")
        if VERBS[verb][1] and f'"id":"{self.id}"' not in subprocess.run([self.ckpt, "inspect", str(self.dst), "--json"], capture_output=True, text=True).stdout:
            fail(f"{what}: the new checkpoint has another id")

    def expect_nothing_left(self, what):
        names = sorted(os.listdir(self.folder))
        if names != ["in"]:
            fail(f"{what}: left {names}")

    def clear(self):
        shutil.rmtree(self.dst, ignore_errors=True)


def full_run(bench, verb):
    begin = time.monotonic()
    process = bench.start(verb=verb)
    error = process.communicate()[1]
    seconds = time.monotonic() - begin
    bench.check(f"{verb}: run to the end", process.returncode, [0], error)
    bench.expect_whole(f"{verb}: run to the end", verb)
    bench.clear()
    bench.expect_nothing_left(f"{verb}: run to the end")
    return seconds


def killed(bench, verb, seconds, dice):
    """Where a verb is too fast every kill may come late; how many did not is told."""
    early = 0
    for point in range(POINTS):
        what = f"{verb}: killed at point {point}"
        process = bench.start(verb=verb)
        time.sleep(dice.uniform(0, 1.1) * seconds)
        process.kill()
        error = process.communicate()[1]
        bench.check(what, process.returncode, [0, -signal.SIGKILL], error)
        flags = []
        if bench.dst.exists():  # the rename had been made
            bench.expect_whole(what, verb)
            flags = ["--force"]
        else:
            early += 1
        begin = time.monotonic()
        rerun = bench.start(*flags, verb=verb)
        error = rerun.communicate()[1]
        seconds = min(seconds, time.monotonic() - begin)
        bench.check(what + ", rerun", rerun.returncode, [0], error)
        bench.expect_whole(what + ", rerun", verb)
        bench.clear()
        bench.expect_nothing_left(what + ", rerun")
    return early


def prune_killed(bench, programs, dice):
    """Steps go oldest first, each in one rename; the newest is never touched, and a second call finishes the work."""
    template, run = bench.folder / "template", bench.folder / "pruned"
    for step in (10, 20, 30, 40):
        subprocess.run([programs / "titan-make-checkpoint", template / "checkpoint", f"step={step}", "dim=64", "vocab=4000", "leaf=4096"],
                       capture_output=True, check=True)
    newest, command = run / "checkpoint/step-00000040", [bench.ckpt, "prune", str(run), "--keep-last", "1"]
    wanted, early, seconds = None, 0, 0
    for point in range(-1, POINTS):
        shutil.copytree(template, run)
        wanted = wanted or digest(newest)
        what = f"prune: killed at point {point}"
        begin = time.monotonic()
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if point >= 0:  # the first one runs to the end
            time.sleep(dice.uniform(0, 1.1) * seconds)
            process.kill()
        error = process.communicate()[1]
        seconds = seconds or time.monotonic() - begin
        bench.check(what, process.returncode, [0, -signal.SIGKILL] if point >= 0 else [0], error)
        early += process.returncode != 0
        for path in sorted((run / "checkpoint").glob("step-*")):
            if re.fullmatch(r"step-\d{8}", path.name) and subprocess.run([bench.ckpt, "verify", str(path)], capture_output=True).returncode != 0:
                fail(f"{what}: {path.name} is there and not whole")
        rerun = subprocess.run(command, capture_output=True, text=True)
        bench.check(what + ", rerun", rerun.returncode, [0], rerun.stderr)
        names = sorted(os.listdir(run / "checkpoint"))
        if set(names) - {"latest", "run.lock"} != {"step-00000040"} or digest(newest) != wanted:
            fail(f"{what}, rerun: {names}, or the newest step has changed")
        shutil.rmtree(run)
    shutil.rmtree(template)
    return early


def interrupted_early(bench, verb):
    """A signal between the new folder and the first file in it, at that very place."""
    for name, code in (("INT", 130), ("TERM", 143)):
        process = bench.start(verb=verb, through=(HERE / "tools/interrupt", name, "--when", f"{bench.dst}.tmp-rewrite/new"))
        error = process.communicate()[1]
        bench.check(f"{verb}: SIG{name}", process.returncode, [code], error)
        bench.expect_nothing_left(f"{verb}: SIG{name}")


def interrupted(bench, dice):
    """Signals at any point to one that has something to leave behind."""
    stopped, longest = 0, 0.02
    for number in (signal.SIGINT, signal.SIGTERM) * 10:
        if stopped == 6:
            break
        process = bench.start_and_stop(dice, longest)
        process.send_signal(number)
        process.send_signal(signal.SIGCONT)
        error = process.communicate()[1]
        bench.check(f"signal {number}", process.returncode, [0, 128 + number], error)  # 0: it had done all but to end
        if process.returncode == 128 + number:
            stopped += 1
            bench.expect_nothing_left(f"signal {number}")
        else:  # it was nearly over: the next signal comes sooner
            longest /= 2
        bench.clear()
    if stopped < 6:
        fail(f"{stopped} of 20 signals were heeded, expected 6")
    return stopped


def killed_in_the_middle(bench, dice):
    process = bench.start_and_stop(dice, 0)
    process.kill()
    error = process.communicate()[1]
    bench.check("killed in the middle", process.returncode, [-signal.SIGKILL], error)
    if bench.dst.exists() or not bench.has_begun():
        fail("killed in the middle: DST is there, or no temporary is")
    rerun = bench.start()
    error = rerun.communicate()[1]
    bench.check("killed in the middle, rerun", rerun.returncode, [0], error)
    bench.expect_whole("killed in the middle, rerun")
    bench.clear()
    bench.expect_nothing_left("killed in the middle, rerun")


def two_at_once(bench, dice):
    first = bench.start_and_stop(dice, 0)
    second = bench.start()
    error = second.communicate()[1]
    bench.check("second on the same DST", second.returncode, [11], error)
    first.send_signal(signal.SIGCONT)
    error = first.communicate()[1]
    bench.check("first on the same DST", first.returncode, [0], error)
    bench.expect_whole("two at once")
    bench.clear()
    bench.expect_nothing_left("two at once")


def out_of_space(bench, verb):
    size = VERBS[verb][2]

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    process = bench.start(verb=verb, preexec_fn=limit)
    error = process.communicate()[1]
    bench.check(f"{verb}: out of space", process.returncode, [3], error)
    if str(bench.dst) not in error or "error:" not in error:
        fail(f"{verb}: out of space: no clear error: {error}")
    bench.expect_nothing_left(f"{verb}: out of space")


def resident_mib(*command):
    """Exit code, peak of resident memory, standard error. Linux counts what a process held before its exec as well, so a small one has to start it."""
    script = "import resource, subprocess, sys; code = subprocess.call(sys.argv[1:]); print(code, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    done = subprocess.run([sys.executable, "-S", "-c", script, *map(str, command)], capture_output=True, text=True, check=True)
    code, resident = map(int, done.stdout.splitlines()[-1].split())
    return code, resident / 1024, done.stderr


def little_memory(bench, limit_mib=8, work_mib=4):
    """`work_mib`: for the parts of program and heap that starting it does not touch."""
    program_mib = resident_mib(bench.ckpt, "--version")[1]
    code, resident, error = resident_mib(bench.ckpt, "reshard", bench.source, bench.dst, "--dp", "3", "--pp", "1", "--memory", f"{limit_mib}MiB", "--json")
    bench.check("in little memory", code, [0], error)
    size = sum(path.stat().st_size for path in bench.dst.rglob("*") if path.is_file()) / 2**20
    if resident > limit_mib + program_mib + work_mib:
        fail(f"in little memory: {resident:.1f} MiB resident for a limit of {limit_mib} MiB and a program of {program_mib:.1f} + {work_mib}")
    bench.clear()
    return resident, size


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    programs = parser.parse_args().bin.resolve()
    dice = random.Random(SEED)
    early = {}
    with tempfile.TemporaryDirectory(prefix="titan-verbs-") as folder:
        bench = Bench(programs, pathlib.Path(folder))
        for verb in VERBS:
            seconds = full_run(bench, verb)
            early[verb] = killed(bench, verb, seconds, dice)
            interrupted_early(bench, verb)
            out_of_space(bench, verb)
            if digest(bench.inputs) != bench.pristine:
                fail(f"{verb}: the source has changed")
            if verb == "reshard":
                stopped = interrupted(bench, dice)
        killed_in_the_middle(bench, dice)
        two_at_once(bench, dice)
        resident, size = little_memory(bench)
        early["prune"] = prune_killed(bench, programs, dice)
    kills = ", ".join(f"{verb} {count}" for verb, count in early.items())
    print(f"seed {SEED}: of {POINTS} kills came before the end: {kills}; {stopped + 2 * len(VERBS)} clean stops, two at once, out of space; {resident:.1f} MiB resident for {size:.0f} MiB")


main()
