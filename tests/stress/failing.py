"""The k-th call of a kind fails in the real programs, once or from then on. Then the outcome is judged.

A trial is (scenario, rank, call, k, effect, sticky). A run that only writes its calls down tells what there is to fail.
"""

import collections
import dataclasses
import errno
import pathlib
import re
import shutil
import signal

import programs
from folder import content_of, manifest_id, view

EFFECTS = {
    "open": ["EIO", "EMFILE", "ENOMEM", "EINTR", "EROFS"],
    "create": ["EIO", "ENOSPC", "EDQUOT", "EROFS", "EMFILE", "ENOMEM", "EINTR"],
    "read": ["EIO", "EINTR", "short"],
    "pread": ["EIO", "EINTR", "short"],
    "write": ["EIO", "ENOSPC", "EDQUOT", "EINTR", "short"],
    "pwrite": ["EIO", "ENOSPC", "EDQUOT", "EINTR", "short"],
    "fsync": ["EIO", "ENOSPC", "EDQUOT", "EINTR"],
    "fdatasync": ["EIO", "ENOSPC", "EDQUOT", "EINTR"],
    "ftruncate": ["EIO", "EINTR", "ENOSPC"],
    "close": ["EIO", "EDQUOT", "ENOSPC", "EINTR"],
    "rename": ["EIO", "ENOSPC", "EDQUOT", "EROFS"],
    "link": ["EIO", "ENOSPC", "EDQUOT", "EROFS"],
    "mkdir": ["EIO", "ENOSPC", "EDQUOT", "EROFS"],
    "unlink": ["EIO", "EROFS", "EBUSY"],
    "rmdir": ["EIO", "EROFS", "EBUSY"],
    "chmod": ["EIO", "EROFS"],
    "stat": ["EIO", "ENOMEM"],
    "fstat": ["EIO", "ENOMEM"],
    "statvfs": ["EIO", "EINTR"],
    "opendir": ["EIO", "EMFILE", "ENOMEM"],
    "readdir": ["EIO"],
    "realpath": ["EIO", "ENOMEM"],
    "flock": ["EIO", "EINTR"],
    "mmap": ["ENOMEM"],
    "thread": ["EAGAIN"],
    "malloc": ["ENOMEM"],
}
# Repeated by the program while a signal interrupts them: one EINTR changes nothing.
REPEATED = {"open", "create", "pread", "pwrite", "fsync", "fdatasync", "ftruncate", "flock", "statvfs", "close"}
# How messages call these.
WORDS = {
    "create": ("create", "open"),
    "open": ("open",),
    "read": ("read",),
    "stat": ("stat", "realpath"),
    "fsync": ("fsync",),
    "write": ("write",),
    "fstat": ("stat",),
    "thread": ("thread", "temporarily unavailable"),
    "malloc": ("memory", "libhdf5"),
    "mmap": ("mmap", "memory", "map"),
    "rename": ("rename", "exchange"),
}
DEADLINE = 300


@dataclasses.dataclass(frozen=True)
class Trial:
    scenario: str
    rank: str
    call: str
    k: int
    effect: str
    sticky: bool = False

    def text(self):
        return f"{self.scenario}:{self.rank}:{self.call}:{self.k}:{self.effect}{':sticky' if self.sticky else ''}"

    @staticmethod
    def parse(text):
        part = text.split(":")
        slow = part[4] == "slow"
        effect = ":".join(part[4:6]) if slow else part[4]
        return Trial(part[0], part[1], part[2], int(part[3]), effect, part[-1] == "sticky")

    def plan(self):
        do = self.effect if self.effect == "short" or self.effect.startswith("slow:") else getattr(errno, self.effect)
        plan = {"call": self.call, "k": self.k, "do": do, "sticky": self.sticky}
        return plan if self.rank == "-" else dict(plan, rank=self.rank)


class Wrong(Exception):
    pass


def require(condition, text):
    if not condition:
        raise Wrong(text)


class Scenario:
    """A prepared folder, a command on a copy of it, and what must hold after it."""

    plan = {}

    def __init__(self, bench):
        self.bench = bench

    def prepare(self, folder):
        shutil.copytree(self.bench.template, folder, symlinks=True)

    def record(self):
        """The calls of a run in which nothing fails: {(rank, call): how many}."""
        folder = self.bench.fresh()
        self.prepare(folder)
        counts = collections.Counter()
        for plan in ({}, {"call": "malloc"}, {"call": "thread"}):
            outcome = programs.run(
                self.command(folder), under=[folder], plan=dict(self.plan, **plan), scratch=self.bench.work
            )
            if outcome.code not in self.good:
                raise programs.harness.Failure(outcome.text())
            log = self.bench.work / "shim.log"
            for line in (
                log.read_text(errors="replace").splitlines() if log.exists() else []
            ):  # some verbs start no thread
                rank, call, _ = line.split(" ", 2)
                counts[rank if self.ranks else "-", call] += 1
            shutil.rmtree(folder)
            self.prepare(folder)
        shutil.rmtree(folder)
        return counts

    ranks = False
    good = (0,)

    def attempt(self, trial):
        """Raises Wrong, or returns whether the call was met and what the program answered."""
        folder = self.bench.fresh()
        self.prepare(folder)
        try:
            outcome = programs.run(
                self.command(folder, trial),
                under=[folder],
                plan=dict(self.plan, **trial.plan()),
                scratch=self.bench.work,
                timeout=DEADLINE,
            )
            self.judge(trial, folder, outcome)
            return bool(outcome.struck), outcome.code
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def judge(self, trial, folder, outcome):
        require(outcome.code is not None, f"a hang\n{outcome.text()}")
        # libhdf5 itself dies when it is initialised without any memory (H5E__get_stack); what lies in the folder still counts.
        codes = (*self.good, 3, -signal.SIGSEGV) if trial.call == "malloc" and trial.sticky else (*self.good, 3)
        require(outcome.code in codes, f"exit code {outcome.code}\n{outcome.text()}")
        if (
            not outcome.struck
            or trial.effect == "short"
            or trial.effect == "EINTR"
            and trial.call in REPEATED
            and not trial.sticky
        ):
            require(outcome.code in self.good, f"nothing stands in the way, and it failed\n{outcome.text()}")
        if trial.effect.startswith("slow:"):
            require(outcome.code in self.good, f"a slow call ended the job\n{outcome.text()}")
        if outcome.code == 3:
            self.judge_message(trial, outcome)
        self.judge_folder(trial, folder, outcome)

    def judge_message(self, trial, outcome):
        require(len(outcome.errors) == 1, f"{len(outcome.errors)} error lines, expected 1\n{outcome.text()}")
        # verify lists the places in its report, and the error counts them.
        said = (outcome.out + outcome.err[outcome.err.index("error:") :]).lower()
        words = WORDS.get(trial.call, (trial.call,))
        require(
            any(word in said for word in words),
            f"the error does not name the call ({', '.join(words)})\n{outcome.text()}",
        )
        if outcome.struck.split(" ", 1)[1] != "-" and not trial.sticky:  # another thread may meet the next one first
            path = outcome.struck.split(" ", 1)[1].removesuffix(" (deleted)")
            names = [pathlib.Path(path).name, pathlib.Path(path).parent.name]
            require(
                any(name.lower().removesuffix(".tmp") in said for name in names if name),
                f"the error does not name the path {path}\n{outcome.text()}",
            )


class Train(Scenario):
    """Two ranks go on from step 4, save 6 and 8, and delete 2 and 4; the rest of a dead save lies there."""

    ranks = True

    def command(self, folder, trial=None):
        overrides = {
            "training.steps": 8,
            "training.dataset_path": self.bench.data,
            "job.dump_folder": folder / "run",
            "checkpoint.interval": 2,
            "checkpoint.keep_latest_k": 2,
        }
        if trial and trial.effect.startswith("slow:"):
            overrides["comm.train_timeout_seconds"] = 5
        return programs.train_command(overrides, 2)

    def judge_message(self, trial, outcome):
        if trial.call in ("malloc", "thread"):  # a library may end its process: then the launcher says which
            require(1 <= len(outcome.errors) <= 2, f"{len(outcome.errors)} error lines\n{outcome.text()}")
            return
        if (
            trial.call in ("write", "short") and len(outcome.errors) == 2
        ):  # between two steps nobody waits for rank 0: the others see only that it went
            outcome = dataclasses.replace(
                outcome, err=re.sub(r"error: rank 0 (is gone|met an error)[^\n]*\n", "", outcome.err)
            )
        super().judge_message(trial, outcome)

    def judge_folder(self, trial, folder, outcome):
        checkpoint, ids = folder / "run" / "checkpoint", self.bench.ids
        for step, digest in outcome.saved.items():
            require(
                digest == ids[step], f"step {step} was saved with id {digest}, expected {ids[step]}\n{outcome.text()}"
            )
        given_up = {6} if "step 6 could not be saved" in outcome.err else set()  # the run goes on, and says so
        require(
            outcome.code != 0 or set(outcome.saved) | given_up == {6, 8},
            f"exit code 0, and what was saved are steps {sorted(outcome.saved)}\n{outcome.text()}",
        )
        for step in sorted({2, 4, *outcome.saved})[-2:]:
            path = checkpoint / f"step-{step:08d}"
            require(
                path.is_dir() and self.bench.whole(path),
                f"step {step} was there or saved, and is gone or damaged\n{outcome.text()}",
            )
        again = programs.run(self.command(folder))
        require(again.code == 0, f"the rerun ends with {again.code}\n{outcome.text()}\n{again.text()}")
        seen = view(checkpoint)
        require(
            8 in seen.steps and seen.steps[8].id == ids[8],
            f"the rerun reaches another id\n{outcome.text()}\n{again.text()}",
        )
        require(not seen.temporary, f"the rerun leaves {seen.temporary}\n{outcome.text()}\n{again.text()}")


class NearTrain(Train):
    """The same with saves in two tiers: the calls on both count."""

    def command(self, folder, trial=None):
        return [*super().command(folder, trial), f"--checkpoint.near={folder / 'near'}"]


# Verbs whose DST is the step that they are given.
IN_PLACE = ("prune",)


class Tool(Scenario):
    """A verb of titan-ckpt. `{run}`, `{src}`, `{dst}` in its arguments."""

    def __init__(self, bench, arguments, makes=None, plan=None, good=(0,)):
        super().__init__(bench)
        self.arguments, self.makes, self.plan, self.good = arguments, makes, plan or {}, good
        self.ids = None

    def command(self, folder, trial=None):
        named = {
            "run": folder / "run",
            "src": folder / "run" / "checkpoint" / "step-00000004",
            "dst": folder / "out",
            "step": folder / "run" / "checkpoint" / "step-00000002",
            "copy": folder / "copy",
            "hurt": folder / "hurt",
        }
        return programs.tool_command(*(part.format(**named) for part in self.arguments))

    def made(self, folder):
        return None if self.makes is None else folder / self.makes

    def judge_folder(self, trial, folder, outcome):
        self.judge_sources(folder, outcome)
        target = self.made(folder)
        if target is not None and (outcome.code == 0 or target.exists()):
            require(target.exists() and self.bench.whole(target), f"{target} is not whole\n{outcome.text()}")
        if outcome.code == 3 and not trial.sticky and trial.call not in ("unlink", "rmdir", "close", "fsync"):
            left = [
                path.name
                for place in (folder, folder / "run" / "checkpoint")
                for path in place.iterdir()
                if ".tmp" in path.name and "dead" not in path.name
            ]
            require(not left, f"a failed tool leaves {left}\n{outcome.text()}")
        self.rerun(trial, folder, outcome)

    def judge_sources(self, folder, outcome):
        for step, content in self.bench.contents.items():
            path = folder / "run" / "checkpoint" / f"step-{step:08d}"
            if path == self.made(folder) or self.arguments[0] in IN_PLACE and step == 2:
                continue
            require(content_of(path) == content, f"the source {path} is changed or gone\n{outcome.text()}")

    def rerun(self, trial, folder, outcome):
        target = self.made(folder)
        command = self.command(folder)
        if target is not None and target.exists() and "--force" not in command and command[1] not in IN_PLACE:
            command.append("--force")
        again = programs.run(command, under=[folder], plan=self.plan, scratch=self.bench.work)
        require(again.code in self.good, f"the rerun ends with {again.code}\n{outcome.text()}\n{again.text()}")
        if target is not None:
            require(
                self.bench.whole(target), f"{target} is not whole after the rerun\n{outcome.text()}\n{again.text()}"
            )
            self.ids = self.ids or manifest_id(target)
            require(
                manifest_id(target) == self.ids, f"the rerun reaches another id\n{outcome.text()}\n{again.text()}"
            )
        left = [
            path.name
            for place in (folder, folder / "run" / "checkpoint")
            for path in place.iterdir()
            if ".tmp" in path.name and "dead" not in path.name
        ]
        require(not left, f"the rerun leaves {left}\n{outcome.text()}\n{again.text()}")
