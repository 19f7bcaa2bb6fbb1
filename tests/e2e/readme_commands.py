#!/usr/bin/env python3
"""Runs every `$ build/bin/...` line of README.md's console blocks, in order, with README's own my.toml and a text, and checks its exit code.
`# exits with N` at the end of a line names a code other than 0. Lines that README shows as output must begin as lines that are printed do:
the words before a number or a time are compared."""

import pathlib
import re
import shlex
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import harness  # noqa: E402

TIME = re.compile(r"^\d{4}-\d\d-\d\dT[\d:.]+Z ")


def commands(readme):
    """(command, exit code, lines of output) in order; `...` stands for what is left out."""
    for block in re.findall(r"```console\n(.*?)```", readme, re.S):
        for part in re.split(r"^\$ ", block, flags=re.M)[1:]:
            first, *shown = part.splitlines()
            words, _, note = first.partition("  # exits with ")
            yield words, int(note or 0), shown


def beginning(line):
    """What does not change from run to run: the words before the first one with a digit, of a log line those behind its time and rank."""
    return re.split(r"\S*\d", TIME.sub("", line).replace(" r0 ", " "), maxsplit=1)[0].rstrip()


def is_printed(line, printed):
    begins = beginning(line.removesuffix("..."))
    return begins in printed or (line.endswith("...") and any(one.startswith(begins) for one in printed))


def main():
    work = harness.scratch("readme")
    harness.write_text(work / "novel.txt", 60_000)
    text = (harness.ROOT / "README.md").read_text()
    assert not re.search(r"^README_[A-Z_]+$", text, re.M), "README.md has a placeholder where output belongs"
    (work / "my.toml").write_text(re.search(r"```toml\n(.*?)```", text, re.S)[1])
    found = list(commands(text))
    assert len(found) >= 6, f"README.md has {len(found)} commands"
    for line, expected, shown in found:
        programs = str(harness.BIN.resolve()) + "/"
        words = shlex.split(line.replace("build/bin/", programs))
        done = subprocess.run(words, cwd=work, capture_output=True, text=True, timeout=300)
        print(f"{done.returncode:>3}  {line}")
        printed = {beginning(one.replace(programs, "build/bin/")) for one in (done.stdout + done.stderr).splitlines()}
        missing = [one for one in shown if one.strip() not in ("", "...") and not is_printed(one, printed)]
        if done.returncode != expected or missing:
            print(done.stdout[-2000:], done.stderr[-4000:], f"expected exit code {expected}", *missing, sep="\n")
            return 1
    shutil.rmtree(work)
    return 0


if __name__ == "__main__":
    sys.exit(main())
