"""What must hold after each operation. The model takes nothing from the programs but what they announced as saved.

A step is *whole* when its bytes are those that were verified when it was first seen, and its id is the one that an
untouched run of the same recipe has at that step.
"""

import json
import subprocess

from folder import content_of, view
import programs

FULL = ("model", "optimizer", "lr_scheduler", "dataloader", "train_state")
# Damage that a look at names, sizes and JSON finds; that only a load finds; that a load need not meet.
SEEN, LOADED, UNMET = {"manifest", "missing", "size", "json"}, {"leaf"}, {"envelope", "table", "derived"}


class Violation(Exception):
    def __init__(self, tag, text):
        super().__init__(f"{tag}: {text}")
        self.tag = tag


def require(condition, tag, text):
    if not condition:
        raise Violation(tag, text)


class Model:
    def __init__(self, checkpoint, ids, lines):
        self.checkpoint, self.ids, self.lines = checkpoint, ids, lines
        self.without_lines = set()  # steps whose lines no store took
        self.kinds = {}  # content -> "full", "part", "seen", "loaded", "unmet"
        self.elsewhere = {}  # folders beside the run that nobody may touch: path -> content
        self.before = view(checkpoint)

    def verify(self, path):
        done = subprocess.run(
            [programs.harness.CKPT, "verify", path, "--json"], capture_output=True, text=True, timeout=60
        )
        require(
            done.returncode in (0, 1), "exit-code", f"verify {path}: {done.returncode}\n{done.stdout}\n{done.stderr}"
        )
        return done.returncode, json.loads(done.stdout.strip().splitlines()[-1])

    def learn(self, step, expected="full"):
        """Takes content that is seen for the first time: it has to be whole."""
        if step.content in self.kinds:
            return
        code, report = self.verify(step.path)
        require(code == 0, "not-whole", f"{step.path} was published damaged: {report['damage'][:3]}")
        manifest = json.loads(open(f"{step.path}/manifest.json").read())
        there = {component["name"] for component in manifest["components"]}
        kind = "full" if there.issuperset(FULL) else "part"
        require(
            kind == expected,
            "not-whole",
            f"{step.path} has the components {sorted(there)}, expected a {expected} checkpoint",
        )
        require(
            kind == "part" or step.id == self.ids[step.step],
            "wrong-id",
            f"{step.path} has id {step.id}, an untouched run {self.ids[step.step]}",
        )
        self.kinds[step.content] = kind

    def learn_damage(self, step):
        """Called after damage was done; verify has to name it."""
        code, report = self.verify(step.path)
        require(code == 1 and report["damage"], "damage-unseen", f"{step.path} is damaged, and verify says ok")
        units = {place["unit"] for place in report["damage"]}
        kind = "seen" if units & SEEN else "loaded" if units & LOADED else "unmet"
        self.kinds[step.content] = kind
        return units

    def kind(self, step):
        return self.kinds.get(step.content, "unknown")

    def all_before(self):
        """Steps that are there, or that the next actor has to put back."""
        return {**self.before.moved, **self.before.steps}

    def full_before(self):
        return {n: s for n, s in self.all_before().items() if self.kind(s) == "full"}

    def odd(self):
        """Whether warnings have a cause."""
        b = self.before
        return bool(
            b.temporary
            or b.aside
            or b.others
            or any(self.kind(s) != "full" or s.link or s.pinned for s in b.steps.values())
        )

    def look(self, allow_part=()):
        now = view(self.checkpoint)
        for step in list(now.steps.values()) + list(now.moved.values()):
            self.learn(step, "part" if step.step in allow_part else "full")
        return now

    def settle(self, now):
        self.before = now

    # Conditions that hold after every operation.

    def check_bystanders(self, now, may_go=()):
        """Pins, asides, foreign folders, targets of links: nobody deletes these."""
        after = {**now.moved, **now.steps}
        asides = list(now.aside.values())
        for number, step in self.all_before().items():
            if not step.pinned or number in may_go:
                continue
            kept = after.get(number)
            same = kept is not None and kept.content == step.content and kept.pinned
            saved = any(a.step == number and a.content == step.content and a.pinned for a in asides)
            require(
                same or saved,
                "pinned-gone",
                f"step {number} ({self.kind(step)}) was pinned, and is {'changed or not pinned' if kept else 'gone'}",
            )
        for name, aside in self.before.aside.items():
            require(
                name in now.aside and now.aside[name].content == aside.content or name in may_go,
                "aside-gone",
                f"{name} is gone or changed",
            )
        for name, content in self.before.others.items():
            require(now.others.get(name) == content, "foreign-gone", f"{name}, which is no step, is gone or changed")
        for path, content in self.elsewhere.items():
            require(content_of(path) == content, "foreign-gone", f"{path}, outside of the run, is gone or changed")

    def check_clean(self, now, trash=False):
        """`trash`: a stop may have ended a deletion; what is left of it is for the next start."""
        left = [name for name in now.temporary if not (trash and name.startswith(".trash-step-"))]
        require(not left, "leftovers", f"after a clean end there are {left}")

    def check_clean_of(self, now, name):
        require(name not in now.temporary, "leftovers", f"after a clean end there is {name}")

    def check_same(self, now, but=()):
        """A tool leaves every other step as it was."""
        for number, step in self.all_before().items():
            if number in but:
                continue
            kept = {**now.moved, **now.steps}.get(number)
            require(kept is not None, "lost-step", f"step {number} ({self.kind(step)}) is gone")
            require(
                kept.content == step.content and kept.link == step.link, "tool-changed", f"step {number} was changed"
            )
        extra = set(now.steps) - set(self.all_before()) - set(but)
        require(not extra, "tool-changed", f"steps {sorted(extra)} came from nowhere")

    def kept_by(self, steps, k):
        """Of the numbers of whole steps, those that keep_latest_k keeps."""
        newest = sorted(steps, reverse=True)
        return set(newest if k == 0 else newest[:k]) | ({0} & set(steps))

    # What a start of the run has to do.

    def expected_start(self):
        """("resume", numbers that are allowed) | ("fresh",) | ("refused", exit codes)"""
        steps = self.all_before()
        full = self.full_before()
        if not steps:
            return ("fresh",)
        newest = max(full, default=-1)
        # Damage that a load need not meet: the step may be taken, or passed over.
        allowed = {n for n, s in steps.items() if self.kind(s) == "unmet" and n > newest} | (
            {newest} if full else set()
        )
        if full:
            return ("resume", allowed)
        if allowed:
            return ("maybe", allowed, {12, 13})
        return ("refused", {12, 13})

    def check_train(self, outcome, k, clean, stopped=False):
        """After a start of the run. `clean`: it ended by itself, saved or complete; `stopped`: by a signal, which
        leaves the rest of retention to the next start."""
        now = self.look()
        for step, digest in outcome.saved.items():
            require(
                digest == self.ids[step],
                "wrong-id",
                f"step {step} was saved with id {digest}, an untouched run has {self.ids[step]}",
            )
        after = {**now.moved, **now.steps}
        full_before = set(self.full_before())
        there = {n for n, s in after.items() if self.kind(s) == "full"}
        promised = full_before | set(outcome.saved)
        # Retention reads no old step: damage that only reading finds may take a place, unless this start met it.
        met = outcome.resumed if outcome.resumed is not None else float("inf")
        hidden = {n for n, s in after.items() if self.kind(s) == "unmet" or self.kind(s) == "loaded" and n < met}
        for number in self.kept_by(promised | there | hidden, k) & promised:
            require(
                number in there,
                "lost-step",
                f"step {number} was {'announced as saved' if number in outcome.saved else 'whole'}, "
                f"is one of the newest {k} (0: all), and is gone or damaged",
            )
        for number, step in self.all_before().items():
            kept = after.get(number)
            if self.kind(step) == "part":
                require(
                    kept is not None and kept.content == step.content,
                    "lost-step",
                    f"step {number} is no full checkpoint, and was deleted or changed",
                )
            if kept is not None and kept.content == step.content or self.kind(step) == "full":
                continue
            expired = k > 0 and len([n for n in promised | there | hidden if n > number]) >= k and kept is None
            aside = any(a.step == number and a.content == step.content for a in now.aside.values())
            require(
                expired or aside,
                "damaged-gone",
                f"the damaged step {number} ({self.kind(step)}{', pinned' if step.pinned else ''}) is gone, "
                "and no .damaged-* holds it",
            )
        self.check_bystanders(now)
        if clean:
            self.check_clean(now, trash=stopped)
            if outcome.saved and k > 0 and not stopped:
                keep = self.kept_by(there, k)
                extra = {n for n in there - keep if not after[n].pinned}
                require(
                    not extra,
                    "retention-short",
                    f"steps {sorted(extra)} should be gone: keep_latest_k = {k}, whole are {sorted(there)}",
                )
        self.settle(now)
        return now
