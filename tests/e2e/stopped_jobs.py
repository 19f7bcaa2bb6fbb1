#!/usr/bin/env python3
"""SIGSTOP and SIGCONT of a whole job, of its ranks, of one rank, of the launcher: it continues, and ends with the id of an untouched run.

A job that is stopped as a whole, or whose launcher is, may be stopped for any time; if one rank is stopped, the others wait for it up to their limit
(comm.train_timeout_seconds, 8 s here). Stopped jobs use no processor, so several run at the same time.
`--all` tries each length from 1 to 60 s with each layout; CI takes one of each kind."""

import argparse
import dataclasses
import itertools
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import harness  # noqa: E402

CONFIG = harness.ROOT / "tests" / "e2e" / "small.toml"
LIMIT = 8
STEPS = 200
LAYOUTS = {"2 ranks": (2, 1), "2 stages": (2, 2), "3 ranks": (3, 1)}
WHOLE = ("the job", "all ranks", "the launcher")
PART = ("rank 0", "the last rank", "the launcher and rank 1")


@dataclasses.dataclass
class Case:
    who: str
    seconds: float
    layout: str
    step: int  # when it is stopped

    def text(self):
        return f"{self.layout}: {self.who} for {self.seconds} s behind step {self.step}"


def chosen(who, launcher):
    ranks = harness.children(launcher)
    return {"the job": [launcher, *ranks], "all ranks": ranks, "the launcher": [launcher], "rank 0": ranks[:1],
            "the last rank": ranks[-1:], "the launcher and rank 1": [launcher, ranks[1]]}[who]


class Trials:
    def __init__(self):
        self.work = harness.scratch("stopped")
        self.wrong, self.places, self.lock = [], threading.Semaphore(4), threading.Lock()
        harness.write_text(self.work / "text.txt", 20_000)
        run = self.work / "untouched"
        harness.train(CONFIG, 1, self.keys(run, 1))
        self.id = harness.checkpoint_id(run, STEPS)

    def keys(self, run, stages):
        return {"training.dataset_path": self.work / "text.txt", "job.dump_folder": run, "training.steps": STEPS, "lr_scheduler.total_steps": STEPS,
                "comm.train_timeout_seconds": LIMIT, "checkpoint.interval": 50, "parallelism.pipeline_parallel_degree": stages}

    def attempt(self, number, case):
        """What went wrong; empty: nothing."""
        nproc, stages = LAYOUTS[case.layout]
        run = self.work / f"run-{number}"
        process = harness.start(CONFIG, nproc, self.keys(run, stages) | {"metrics.log_freq": 1}, variables=harness.paced(30))
        try:
            return self.disturb(process, case, run)
        except subprocess.TimeoutExpired:
            return "a hang"
        finally:
            for pid in [*harness.children(process.pid), process.pid] if process.poll() is None else []:
                harness.kill(pid)
            shutil.rmtree(run, ignore_errors=True)

    def disturb(self, process, case, run):
        metrics, deadline = run / "metrics.jsonl", time.time() + 120
        while not metrics.exists() or f'"step":{case.step},' not in metrics.read_text():
            if time.time() > deadline or process.poll() is not None:
                return f"step {case.step} does not come: {process.communicate()[1]}"
            time.sleep(0.01)
        targets = chosen(case.who, process.pid)
        for pid in targets:
            os.kill(pid, signal.SIGSTOP)
        if f'"step":{STEPS},' in metrics.read_text():
            return "stopped too late: the trial proves nothing"
        time.sleep(case.seconds)
        for pid in targets:
            os.kill(pid, signal.SIGCONT)
        _, log = process.communicate(timeout=240)
        if process.returncode != 0:
            return f"exit code {process.returncode}\n{log}"
        if harness.checkpoint_id(run, STEPS) != self.id:
            return f"another id\n{log}"
        return ""

    def run(self, cases):
        def one(number, case):
            with self.places:
                found = self.attempt(number, case)
            if found:
                with self.lock:
                    self.wrong.append(case)
                    print(f"WRONG {case.text()}: {found}", flush=True)

        threads = [threading.Thread(target=one, args=item) for item in enumerate(cases)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


def all_cases(rng):
    lengths = [(who, seconds) for who in WHOLE for seconds in (1, 4, 9, 20, 60)] + [(who, seconds) for who in PART for seconds in (1, 2, 4)]
    return [Case(who, seconds, layout, rng.randrange(1, 100)) for (who, seconds), layout in itertools.product(lengths, LAYOUTS)]


def some_cases(rng):
    lengths = [("the job", 11), ("all ranks", 10), ("the launcher", 10), ("rank 0", 3), ("the last rank", 2), ("the launcher and rank 1", 3)]
    layouts = rng.sample(list(LAYOUTS) * 2, len(lengths))
    return [Case(who, seconds, layout, rng.randrange(1, 60)) for (who, seconds), layout in zip(lengths, layouts)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--all", action="store_true", help="each length with each layout: 72 trials, about ten minutes")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    rng = random.Random(args.seed)
    cases = all_cases(rng) if args.all else some_cases(rng)
    trials = Trials()
    begin = time.time()
    try:
        trials.run(cases)
        print(f"{len(cases)} jobs were stopped for a while, {len(trials.wrong)} of them did not end as an untouched one; {time.time() - begin:.0f} s")
        return 1 if trials.wrong else 0
    finally:
        shutil.rmtree(trials.work, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
