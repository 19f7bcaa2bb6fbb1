"""Operations that start the run: to a stop, to a kill, on a full disk, two at once."""

import os
import re
import shutil
import signal
import subprocess
import time

import programs
from folder import step_name
from model import Violation, require

LAYOUTS = [(1, 1), (1, 1), (2, 1), (1, 2), (2, 2), (3, 1)]
CODECS = ["none", "none", "zstd"]
FULL_DISK = 28  # ENOSPC


def layout_of(rng):
    dp, pp = rng.choice(LAYOUTS)
    return {
        "dp": dp,
        "pp": pp,
        "k": rng.choice([0, 1, 1, 2, 2, 3, 5]),
        "interval": rng.choice([1, 2, 3, 5]),
        "codec": rng.choice(CODECS),
        "async": rng.choice(["disabled", "async"]),
        "staging": rng.choice([0, 1 << 16, 1 << 30]),
        "files": rng.choice([0, 1, 1, 2, 4]),
    }


def train_command(world, p, dump=None):
    overrides = {
        "training.steps": world.steps,
        "training.dataset_path": world.data,
        "job.dump_folder": dump or world.run,
        "parallelism.pipeline_parallel_degree": p["pp"],
        "checkpoint.interval": p["interval"],
        "checkpoint.keep_latest_k": p["k"],
        "checkpoint.compression": p["codec"],
        "checkpoint.async_mode": p.get("async", "disabled"),  # older logs lack it and those below
        "checkpoint.staging_bytes": p.get("staging", 1 << 30),
        "checkpoint.files_per_host": p.get("files", 0),
    }
    if p.get("near"):
        near = world.work / "near"
        shutil.rmtree(near, ignore_errors=True)  # the host has started anew since: what lay there alone is lost
        overrides["checkpoint.near"] = near
    if p.get("stop"):
        overrides["debug.stop_at_step"] = p["stop"]
    return programs.train_command(overrides, p["dp"] * p["pp"])


def position(world):
    """The step that a start would resume, or 0."""
    return max(world.model.full_before(), default=0)


def judge_start(world, p, outcome):
    """What a start that nobody disturbs has to say and to answer. Returns whether it trained."""
    expected, where = world.model.expected_start(), outcome.text()
    require(outcome.code is not None, "hang", where)
    last = world.model.all_before().get(world.steps)
    looks_whole = last is not None and world.model.kind(last) in ("full", "loaded", "unmet")
    if outcome.code == 0 and "complete: " in outcome.err and looks_whole:
        return False  # that the last step is there is all that a complete run looks at
    reached = re.search(r"complete: \S*step-(\d+) is (?:at|past) debug\.stop_at_step", outcome.err)
    if outcome.code == 0 and reached:  # likewise where a budget of steps is used up
        step = world.model.all_before().get(int(reached[1]))
        require(
            step is not None and world.model.kind(step) in ("full", "loaded", "unmet"),
            "wrong-resume",
            f"complete at a step that is not whole\n{where}",
        )
        return False
    if expected[0] == "refused" or expected[0] == "maybe" and outcome.code in expected[2]:
        require(outcome.code in expected[-1], "exit-code", f"no step is whole, expected {expected[-1]}\n{where}")
        require(len(outcome.errors) == 1 and not outcome.saved, "error-line", where)
        return False
    blocked = [
        n for n, s in world.model.all_before().items() if world.model.kind(s) == "part" and n > position(world)
    ]
    if outcome.code == 13 and blocked:  # a valid step that is no full one lies in the way
        require(len(outcome.errors) == 1 and not outcome.saved, "error-line", where)
        return False
    start = outcome.resumed or 0
    if expected[0] == "fresh":
        require(
            outcome.resumed is None, "wrong-resume", f"resumed at {outcome.resumed} from an empty folder\n{where}"
        )
    else:
        require(
            outcome.resumed in expected[1],
            "wrong-resume",
            f"resumed at {outcome.resumed} (None: a fresh start), expected {sorted(expected[1])}\n{where}",
        )
    stop = p.get("stop") or 0
    codes = {0} if start == world.steps or stop == 0 or stop >= world.steps else {75}
    if p.get("signal"):
        codes = {0, 75}
    require(outcome.code in codes, "exit-code", f"expected {sorted(codes)}\n{where}")
    require(not outcome.errors and not outcome.lines("E"), "error-line", f"an error line without cause\n{where}")
    if not world.model.odd():
        expected_words = ["micro-batches do not divide evenly"]  # three ranks share four
        if p.get("signal"):
            expected_words.append("SIGTERM: ")
        warnings = [line for line in outcome.lines("W") if not any(words in line for words in expected_words)]
        require(not warnings, "error-line", f"a warning without cause\n{where}")
    if codes == {75} and start < stop:
        require(stop in outcome.saved, "exit-code", f"75 without a save of step {stop}\n{where}")
    return start < world.steps


def check_lines(world):
    """metrics.jsonl has each step once, with the numbers of the untouched run. Steps whose lines a store never took may lack them."""
    lines = programs.harness.step_lines(world.run)
    for step, fields in lines.items():
        require(
            fields == world.model.lines[step],
            "metrics",
            f"step {step}: {fields}, an untouched run has {world.model.lines[step]}",
        )
    require(
        set(range(1, max(lines, default=0) + 1)) - set(lines) <= world.model.without_lines,
        "metrics",
        f"the steps in metrics.jsonl are {sorted(lines)}",
    )


class Train:
    """Start, go on to some step, stop there by itself or by SIGTERM."""

    name = "train"

    def draw(self, world, rng):
        p = layout_of(rng)
        at = position(world)
        p["stop"] = min(at + rng.randint(1, 6), world.steps)
        if p["stop"] == world.steps and rng.random() < 0.8:
            p["stop"] = None
        # A save at any step could meet a valid step that is no full one: the start knows of planned saves only.
        part = any(world.model.kind(step) == "part" for step in world.model.all_before().values())
        if rng.random() < 0.2 and not part:
            p["stop"], p["signal"] = None, at + rng.randint(1, 4)
        return dict(p, near=rng.random() < 0.3)

    def do(self, world, p):
        def on_line(process, line):
            if p.get("signal") and not done and (m := programs.SAVED.search(line)) and int(m.group(1)) >= p["signal"]:
                done.append(1)
                process.send_signal(signal.SIGTERM)

        done = []
        outcome = programs.run(train_command(world, p), on_line=on_line)
        trained = judge_start(world, p, outcome)
        world.context = outcome.text()
        world.model.check_train(outcome, p["k"], clean=outcome.code in (0, 75), stopped=bool(p.get("signal")))
        if trained:
            check_lines(world)


class KilledTrain:
    """A rank dies at one of its calls that change something, or the launcher at a line of the log."""

    name = "killed"

    def draw(self, world, rng):
        p = dict(layout_of(rng), stop=None, near=rng.random() < 0.3)
        if rng.random() < 0.2:
            return dict(
                p,
                launcher=rng.choice(["save writing step=", "loading ", "step ", "retention removed"]),
                nth=rng.randint(1, 3),
            )
        rank = 0 if rng.random() < 0.75 else rng.randrange(p["dp"] * p["pp"])
        plan = {
            "rank": rank,
            "call": rng.choice(["any", "any", "any", "rename", "fsync", "unlink", "mkdir", "fdatasync"]),
            "do": rng.choice(["kill", "kill-after"]),
            "no_flags": rng.random() < 0.3,
        }
        plan["k"] = rng.randint(1, 250 if plan["call"] == "any" else 40)
        return dict(p, shim=plan)

    def do(self, world, p):
        seen = []

        def on_line(process, line):
            if p.get("launcher") and p["launcher"] in line and len(seen) < p["nth"]:
                seen.append(line)
                if len(seen) == p["nth"]:
                    programs.harness.kill(process.pid)

        outcome = programs.run(
            train_command(world, p),
            under=[world.run, world.store],
            plan=p.get("shim"),
            scratch=world.work,
            on_line=on_line,
        )
        world.context = outcome.text()
        require(outcome.code is not None, "hang", outcome.text())
        killed = -signal.SIGKILL if p.get("launcher") else 3
        if outcome.code == killed and (outcome.struck or p.get("launcher")):
            expected = world.model.expected_start()
            if outcome.resumed is not None:
                require(
                    expected[0] in ("resume", "maybe") and outcome.resumed in expected[1],
                    "wrong-resume",
                    f"expected {expected}\n{outcome.text()}",
                )
            # One line of the launcher, and one of the rank that noticed first.
            require(p.get("launcher") or len(outcome.errors) in (1, 2), "error-line", outcome.text())
            world.model.check_train(outcome, p["k"], clean=False)
        else:  # it was over before
            judge_start(world, p, outcome)
            world.model.check_train(outcome, p["k"], clean=outcome.code in (0, 75))


class FullDisk:
    """A call finds no space, and so do all after it; or the disk is really full."""

    name = "full-disk"

    def draw(self, world, rng):
        p = dict(layout_of(rng), stop=None)
        if world.disk and rng.random() < 0.6:
            return dict(p, free=rng.choice([0, 4, 40, 120, 200, 300, 600, 900]))
        return dict(
            p,
            shim={
                "rank": rng.randrange(p["dp"] * p["pp"]),
                "call": rng.choice(["pwrite", "create", "mkdir", "fdatasync", "rename", "write"]),
                "k": rng.randint(1, 30),
                "do": FULL_DISK,
                "sticky": True,
            },
        )

    def do(self, world, p):
        filler = world.work / "filler"
        if "free" in p:
            with open(filler, "wb") as out:
                info = os.statvfs(world.work)
                size = info.f_bavail * info.f_frsize - p["free"] * 1024
                if size > 0:
                    os.posix_fallocate(out.fileno(), 0, size)
        try:
            outcome = programs.run(
                train_command(world, p), under=[world.run, world.store], plan=p.get("shim"), scratch=world.work
            )
        finally:
            filler.unlink(missing_ok=True)
        world.context = outcome.text()
        require(outcome.code is not None, "hang", outcome.text())
        if outcome.code == 3:
            require(len(outcome.errors) == 1, "error-line", outcome.text())
            require(
                any(words in outcome.err for words in ("disk full", "not enough space", "No space left")),
                "error-line",
                f"the disk was full, and nobody says so\n{outcome.text()}",
            )
            world.model.check_train(outcome, p["k"], clean=False)
        else:
            require(outcome.code in (0, 12, 13, 75), "exit-code", outcome.text())
            world.model.check_train(outcome, p["k"], clean=False)


class Hiccup:
    """What stands around the work fails for a while: the store at any call, the lines of metrics, a command of on_publish."""

    name = "hiccup"

    def draw(self, world, rng):
        p = dict(layout_of(rng), stop=min(position(world) + rng.randint(2, 8), world.steps))
        if p["stop"] == world.steps:
            p["stop"] = None
        what = rng.choice(["store", "store", "metrics", "hook"])
        if what == "hook":
            return dict(p, hook=rng.choice(["true", "exit 1", "sleep 0.5", "sleep 30", "kill $$"]))
        if what == "metrics":
            do = rng.choice([5, FULL_DISK, "slow:1500"])
            calls = ["write", "pwrite", "fsync", "fdatasync"]
            return dict(p, lines={"call": rng.choice(calls), "match": "metrics.jsonl", "k": rng.randint(1, 4), "do": do, "sticky": do != "slow:1500"})
        full = rng.random() < 0.5
        do = rng.choice([FULL_DISK, 122]) if full else rng.choice([5, 116])  # EDQUOT; EIO, ESTALE
        return dict(p, shim={"call": "room" if full else "any", "k": rng.randint(1, 200), "do": do, "ms": rng.choice([50, 300, 1500])})

    def do(self, world, p):
        command, plan, hook = train_command(world, p), p.get("shim") or p.get("lines"), p.get("hook")
        if hook:
            command += [f"--checkpoint.on_publish={hook}", "--checkpoint.on_publish_timeout_seconds=2"]
        if "ms" in (plan or {}):
            shared = world.work / "shared"
            shared.unlink(missing_ok=True)
            plan = dict(plan, shared=shared)
        outcome = programs.run(command, under=[world.run, world.store], plan=plan, scratch=world.work)
        world.context = outcome.text()
        require(outcome.code is not None, "hang", outcome.text())
        # A start needs the store for its first line. Later ones that are never taken go with the process; its saves do not wait for them.
        soft = hook or not p.get("shim") and not plan.get("sticky")
        if p.get("lines", {}).get("sticky"):
            world.model.without_lines |= set(range(1, (p["stop"] or world.steps) + 1)) - set(programs.harness.step_lines(world.run))
        require(outcome.code in ((0, 12, 13, 75) if soft else (0, 3, 12, 13, 75)), "exit-code", outcome.text())
        require(outcome.code != 3 or len(outcome.errors) == 1, "error-line", outcome.text())
        world.model.check_train(outcome, p["k"], clean=False)


class TwoAtOnce:
    """While a run saves, a second run and tools that write are refused, by whatever path; readers are not."""

    name = "two-at-once"

    def draw(self, world, rng):
        if position(world) >= world.steps - 6:
            return None
        p = layout_of(rng)
        return dict(
            p,
            stop=position(world) + p["interval"] * 2,
            second=rng.choice(["train", "prune", "prune-real", "reshard", "reshard-real", "read"]),
            k2=rng.choice([1, 2]),
        )

    def do(self, world, p):
        full = sorted(world.model.full_before())
        log, gate = world.work / "second.log", world.work / "gate"
        for path in (log, gate):
            path.unlink(missing_ok=True)
        plan = {"rank": 0, "call": "fdatasync", "k": 2, "do": f"wait:{gate}", "match": ".tmp-"}
        command = list(map(str, train_command(world, p)))
        first = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            env=programs.shim_environment([world.run, world.store], log, plan),
        )
        try:
            deadline = time.time() + 60
            while not programs.struck(log) and first.poll() is None and time.time() < deadline:
                time.sleep(0.02)
            if first.poll() is None:
                self.second(world, p, full)
            gate.touch()
            out, err = first.communicate(timeout=programs.HANG)
        except subprocess.TimeoutExpired:
            programs.end_session(first.pid)
            raise Violation("hang", f"the first of two runs\n{' '.join(command)}")
        except Violation:
            programs.end_session(first.pid)
            first.communicate()
            raise
        outcome = programs.Outcome("first of two: " + " ".join(command), first.returncode, out, err)
        world.context = outcome.text()
        judge_start(world, p, outcome)
        world.model.check_train(outcome, p["k"], clean=outcome.code in (0, 75))

    def second(self, world, p, full):
        real = os.path.realpath(world.checkpoint)
        kind = p["second"]
        if kind == "train":
            command = train_command(world, dict(p, stop=None, k=p["k2"]))
        elif kind.startswith("prune"):
            command = programs.tool_command(
                "prune", real if kind.endswith("real") else world.run, "--keep-last", p["k2"]
            )
        elif kind.startswith("reshard") and full:
            folder = real if kind.endswith("real") else world.checkpoint
            command = programs.tool_command(
                "reshard", f"{world.run}@{full[-1]}", f"{folder}/{step_name(full[-1])}-other", "--dp", 2, "--pp", 1
            )
        else:
            command = programs.tool_command("ls", world.run)
        outcome = programs.run(command)
        wanted = {0} if command[1] == "ls" else {11}
        if kind == "prune-real" and not any(name.startswith("step-") and "." not in name for name in os.listdir(real)):
            wanted = {10}  # before the run's first save nothing says that this is a folder of steps
        require(outcome.code in wanted, "exit-code", f"beside a live run, expected {wanted}\n{outcome.text()}")
