"""What was done already, in a file of the output folder, so that a run that was stopped goes on."""

import hashlib
import json
import os

from ranks import harness


def programs():
    """A digest of what is tested: results of another build count for nothing."""
    digest = hashlib.sha256()
    for name in ("titan-train", "titan-thread-train"):
        digest.update((harness.BIN / name).read_bytes())
    return digest.hexdigest()[:16]


class State:
    def __init__(self, folder, resume):
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / "state.json"
        self.values = {"programs": programs()}
        if resume and self.path.exists():
            stored = json.loads(self.path.read_text())
            if stored["programs"] != self.values["programs"]:
                raise harness.Failure(f"{self.path} is of other programs; start without --resume")
            self.values = stored

    def part(self, name):
        """{what: its problem or null} of one part; put back with note()."""
        return self.values.setdefault(name, {})

    def note(self, part, what, problem):
        self.part(part)[what] = problem
        new = self.path.with_suffix(".new")
        new.write_text(json.dumps(self.values, indent=0))
        os.replace(new, self.path)
