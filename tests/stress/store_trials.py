#!/usr/bin/env python3
"""A store that fails for a while, and a bit that goes wrong on its way to the disk: what was announced is there.

    store_trials.py fail --count 300 --seed 1       any call of any kind, for seconds: ENOSPC, EIO, EDQUOT, ESTALE, or one that is slow
    store_trials.py flip --count 300 --seed 1       one bit of any member of any save, between its digest and the disk
    store_trials.py fail --trial 17 --seed 1        one of them again, with what was said

Each trial is drawn from the seed and its number. Threads of a save take turns as they like, so the k-th call of a trial need not be the same one twice.
`--window` is how long the store fails (seconds); the run lasts longer. Exit code 1: a wrong outcome."""

import argparse
import collections
import dataclasses
import errno
import pathlib
import random
import shutil
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import programs  # noqa: E402
from programs import harness  # noqa: E402

FULL, BROKEN = ("ENOSPC", "EDQUOT"), ("EIO", "ESTALE")
TIMEOUT = 8  # comm.train_timeout_seconds
STARTED = 20  # the step that half of the trials go on from
PACE = 100  # ms that rank 0 waits at each step of a run whose store fails, so that many trials fit beside each other


class Wrong(Exception):
    pass


def require(condition, text):
    if not condition:
        raise Wrong(text)


@dataclasses.dataclass
class Trial:
    """What fails, and in which run."""

    nproc: int
    resumes: bool
    keys: dict
    plan: dict

    def text(self):
        return f"{self.nproc} ranks, {'resumed' if self.resumes else 'new'}, {self.keys}, {self.plan}"


class Bench:
    """Runs in folders of their own, and the ids of runs that nobody disturbed."""

    def __init__(self, steps, interval, pace):
        self.pace = pace
        self.work = harness.scratch("store-trials")
        self.data = self.work / "text.txt"
        harness.write_text(self.data, 20_000)
        self.keys = {"training.dataset_path": self.data, "training.steps": steps, "checkpoint.interval": interval}
        self.keys |= {"lr_scheduler.total_steps": 10 * steps, "comm.train_timeout_seconds": TIMEOUT, "metrics.log_freq": 1}
        self.steps = steps
        begun = self.work / "begun"
        harness.train(programs.CONFIG, 2, self.of(begun) | {"training.steps": STARTED, "checkpoint.interval": STARTED // 2})
        self.calls = {}  # of an undisturbed run, by what is asked for
        self.seconds = 0.0
        run = self.fresh(True)
        begin = time.time()
        outcome = self.run(run, 2, {}, {})
        self.seconds = time.time() - begin
        require(outcome.code == 0, outcome.text())
        self.id = outcome.saved[steps]

    def of(self, run):
        return self.keys | {"job.dump_folder": run}

    def fresh(self, resumes):
        run = self.work / "run"
        shutil.rmtree(run, ignore_errors=True)
        if resumes:
            shutil.copytree(self.work / "begun", run)
        return run

    def run(self, run, nproc, keys, plan):
        shared = self.work / "shared"
        shared.unlink(missing_ok=True)
        plan = plan | {"shared": shared, "ms": plan.get("ms", 0)} if plan else None
        command = programs.train_command(self.of(run) | keys, nproc)
        return programs.run(command, under=[run], plan=plan, scratch=self.work, timeout=240)

    def count(self, trial):
        """The calls of this kind that a run makes where nothing fails, of which each trial takes one."""
        key = (trial.plan["call"], trial.plan.get("match"), trial.nproc, trial.resumes, tuple(trial.keys.items()))
        if key not in self.calls:
            plan = {name: trial.plan[name] for name in ("call", "match") if name in trial.plan}
            outcome = self.run(self.fresh(trial.resumes), trial.nproc, trial.keys, plan | {"k": 0})
            require(outcome.code == 0, outcome.text())
            self.calls[key] = len((self.work / "shim.log").read_text(errors="replace").splitlines())
        return self.calls[key]

    def attempt(self, trial):
        run = self.fresh(trial.resumes)
        outcome = self.run(run, trial.nproc, trial.keys, trial.plan | {"pace": self.pace})
        self.judge(trial, run, outcome)
        return outcome

    def judge(self, trial, run, outcome):
        require(outcome.code is not None, f"a hang\n{outcome.text()}")
        require(outcome.code in (0, 3), f"exit code {outcome.code}\n{outcome.text()}")
        announced = max([*outcome.saved, STARTED if trial.resumes else 0])
        if outcome.code == 0:
            require(outcome.saved.get(self.steps) == self.id, f"0, and step {self.steps} is not that of an untouched run\n{outcome.text()}")
        else:
            require(len(outcome.errors) == 1, f"{len(outcome.errors)} error lines, expected one cause\n{outcome.text()}")
        flips = str(trial.plan["do"]).startswith("flip")
        more = {"training.steps": self.steps + 2}
        again = self.run(run, 1, {name: value for name, value in (trial.keys | more).items()}, {})
        told = f"\n{outcome.text()}\n--- the next start\n{again.text()}"
        require(again.code == 0, f"the next start ends with {again.code}{told}")
        begun = again.resumed or 0
        # Where one bit was wrong and not every byte was read, the step before may be the one that resumes.
        sampled = flips and trial.keys["checkpoint.verify_after_write"] == "sampled"
        require(begun > 0 if sampled and announced else begun >= announced, f"step {announced} was announced, and the next start begins at {begun}{told}")
        require(again.saved[self.steps + 2] == self.after(), f"the next start ends with another id{told}")

    def after(self):
        if not hasattr(self, "id_after"):
            run = self.fresh(True) if not (self.work / "untouched").exists() else self.work / "untouched"
            self.id_after = self.run(run, 2, {"training.steps": self.steps + 2}, {}).saved[self.steps + 2]
        return self.id_after


def failing(rng, window, only):
    effect = only or rng.choice((*FULL, *BROKEN, "slow"))
    call = "room" if effect in FULL else rng.choice(("any", "store"))
    do = f"slow:{int(1000 * max(TIMEOUT + 2, window))}" if effect == "slow" else getattr(errno, effect)
    keys = {"checkpoint.keep_latest_k": rng.choice((1, 2)), "checkpoint.async_mode": rng.choice(("disabled", "async"))}
    plan = {"call": call, "do": do, "ms": 0 if effect == "slow" else int(1000 * window)}
    return Trial(rng.choice((1, 2)), rng.random() < 0.5, keys, plan)


def flipping(rng, window, only):
    keys = {"checkpoint.keep_latest_k": rng.choice((1, 2)), "checkpoint.async_mode": rng.choice(("disabled", "async"))}
    keys["checkpoint.verify_after_write"] = rng.choice(("sampled", "all"))
    plan = {"call": "data", "match": ".tmp-", "do": f"flip:{rng.randrange(1 << 40)}"}
    return Trial(rng.choice((1, 2)), rng.random() < 0.5, keys, plan)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=("fail", "flip"))
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--trial", type=int, help="this one alone")
    parser.add_argument("--effect", choices=(*FULL, *BROKEN, "slow"), help="of a failing store: this one alone")
    parser.add_argument("--window", type=float, default=10, help="seconds")
    parser.add_argument("--steps", type=int, help="of a run; left out: as many as take longer than the store fails")
    args = parser.parse_args()
    pace = 0 if args.kind == "flip" else PACE
    steps = args.steps or (120 if args.kind == "flip" else int(STARTED + 1.5 * args.window * 1000 / PACE))
    bench = Bench(steps, 40 if args.kind == "flip" else max(20, steps // 10), pace)
    codes, wrong, met, begin = collections.Counter(), [], 0, time.time()
    try:
        print(f"an undisturbed run takes {bench.seconds:.1f} s", flush=True)
        for number in range(args.count) if args.trial is None else [args.trial]:
            rng = random.Random(f"{args.seed}/{number}")
            trial = (failing if args.kind == "fail" else flipping)(rng, args.window, args.effect)
            trial.plan["k"] = 1 + rng.randrange(bench.count(trial))
            try:
                outcome = bench.attempt(trial)
                codes[outcome.code] += 1
                met += bool(outcome.struck)
                if outcome.code != 0:
                    print(f"{number}: {outcome.errors[0][:300]} ({trial.text()})", flush=True)
                if args.trial is not None:
                    print(f"{trial.text()}\n{outcome.text()}")
            except Wrong as found:
                wrong.append(number)
                print(f"WRONG {args.kind} --seed {args.seed} --trial {number} ({trial.text()}): {found}", flush=True)
            if number % 20 == 19:
                print(f"{number + 1} trials, {met} met, {len(wrong)} wrong, {dict(codes)}, {time.time() - begin:.0f} s", flush=True)
        print(f"{args.count if args.trial is None else 1} trials, {met} met what they were about, {len(wrong)} wrong outcomes {wrong}; exit codes {dict(codes)}; {time.time() - begin:.0f} s")
        return 1 if wrong else 0
    finally:
        shutil.rmtree(bench.work, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
