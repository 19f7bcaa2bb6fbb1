#!/usr/bin/env python3
"""Runs every `$ build/bin/...` line of README.md's console blocks, in order, and checks its exit code.
`# exits with N` at the end of a line names a code other than 0. The text file and the run folder are replaced by temporary ones."""

import pathlib
import re
import shlex
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import harness  # noqa: E402


def commands(readme):
    for block in re.findall(r"```console\n(.*?)```", readme, re.S):
        for line in block.splitlines():
            if line.startswith("$ "):
                words, _, note = line[2:].partition("  # exits with ")
                yield words, int(note or 0)


def main():
    work = harness.scratch("readme")
    harness.write_text(work / "text.txt", 60_000)
    text = (harness.ROOT / "README.md").read_text()
    assert not re.search(r"^README_[A-Z_]+$", text, re.M), "README.md has a placeholder where output belongs"
    found = list(commands(text))
    assert len(found) >= 7, f"README.md has {len(found)} commands"
    for line, expected in found:
        changed = line.replace("outputs/quickstart/jargon.txt", str(work / "text.txt")).replace("outputs/tour", str(work / "tour"))
        words = shlex.split(changed.replace("build/bin/", str(harness.BIN) + "/"))
        done = subprocess.run(words, cwd=harness.ROOT, capture_output=True, text=True, timeout=300)
        print(f"{done.returncode:>3}  {line}")
        if done.returncode != expected:
            print(done.stdout[-2000:], done.stderr[-4000:], f"expected exit code {expected}", sep="\n")
            return 1
    shutil.rmtree(work)
    return 0


if __name__ == "__main__":
    sys.exit(main())
