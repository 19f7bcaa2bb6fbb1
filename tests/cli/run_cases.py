#!/usr/bin/env python3
"""run_cases.py --bin FOLDER [--update] FILE.case ...: runs command-line cases.

A case file is read top to bottom, in a fresh folder with the programs and tests/cli/tools on PATH:

    # a comment
    codes N N ...         the exit codes that the verb can return: each must have a case
    ! bash line           preparation; must exit 0
    == title of a case
    $ bash line           the command
    exit N                its exit code; 0 when left out

Standard output and error are compared with tests/golden/cli/<file>/<title>.stdout and .stderr after normalising ages,
versions and the name of the folder; a golden file that is not there stands for empty output. --update rewrites the goldens (look at the difference).
"""
import argparse
import difflib
import os
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
GOLDEN = HERE.parent / "golden" / "cli"
DURATION = r"(?:\d+d\d\dh|\d+h\d\dm|\d+m\d\ds|\d+(?:\.\d)?s)"
RULES = [
    (re.compile(r"about " + DURATION + r" for (\S+ steps?): \S+ s a step"), r"about TIME for \1: SECONDS s a step"),
    (re.compile(r" +(?:" + DURATION + r"|age)(?= )"), "  AGE"),               # a column as wide as its content
    (re.compile(r"^(total +\S+ \S+) {3,}", re.M), r"\1  "),                   # what stands below it
    (re.compile(r"it says [0-9a-f]{32}, found [0-9a-f]{32}"), "it says HASH, found HASH"),  # depends on the version of HDF5
    (re.compile(r"^(titan-\w+ \d+\.\d+\.\d+ )\((?:[0-9a-f]{7,}(?:-dirty)?|unknown)\)", re.M), r"\1(HASH)"),
    (re.compile(r"\b(HDF5|zstd|xxHash|LibTorch) \d+\.\d+\.\d+[\w+.]*"), r"\1 VERSION"),
    (re.compile(r"\nwarnings\n  ! [^\n]* allowed here: [^\n]*\n\Z"), ""),        # what hangs on the cores of this machine
    (re.compile(r"^  ! .* allowed here: .*\n", re.M), ""),
    (re.compile("\x1b"), "<ESC>"),
]


class Case:
    def __init__(self, title):
        self.title, self.command, self.exit, self.setup = title, None, 0, []

    def slug(self):
        return re.sub(r"[^a-z0-9]+", "-", self.title.lower()).strip("-")


def parse(path):
    cases, pending, codes = [], [], set()
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        if line.startswith("! "):
            pending.append(line[2:])
        elif line.startswith("== "):
            cases.append(Case(line[3:].strip()))
            cases[-1].setup, pending = pending, []
        elif line.startswith("$ ") and cases and cases[-1].command is None:
            cases[-1].command = line[2:]
        elif re.fullmatch(r"exit \d+", line) and cases:
            cases[-1].exit = int(line[5:])
        elif re.fullmatch(r"codes( \d+)+", line):
            codes |= {int(code) for code in line.split()[1:]}
        else:
            sys.exit(f"{path}:{number}: cannot read: {line}")
    slugs = [case.slug() for case in cases]
    if not cases or pending or len(set(slugs)) != len(slugs) or any(case.command is None for case in cases):
        sys.exit(f"{path}: no case, a case without a command, a title twice, or preparation without a case")
    if missing := codes - {case.exit for case in cases}:
        sys.exit(f"{path}: no case for exit codes {sorted(missing)}")
    return cases


def environment(programs):
    kept = {name: os.environ[name] for name in ("HOME", "TMPDIR", "ASAN_OPTIONS", "UBSAN_OPTIONS") if name in os.environ}
    return {**kept, "PATH": f"{programs}:{HERE / 'tools'}:{os.environ['PATH']}", "LC_ALL": "C.UTF-8", "TERM": "xterm", "PYTHONDONTWRITEBYTECODE": "1"}


def bash(line, folder, env):
    return subprocess.run(["bash", "-o", "pipefail", "-c", line], cwd=folder, env=env, capture_output=True, stdin=subprocess.DEVNULL, timeout=60)


def normalised(data, folder):
    text = data.decode("utf-8", "backslashreplace").replace(os.path.realpath(folder) + "/", "FOLDER/")
    for pattern, replacement in RULES:
        text = pattern.sub(replacement, text)
    return text


def compare(golden, actual, update):
    """Returns a difference as text, empty when equal."""
    if update:
        golden.parent.mkdir(parents=True, exist_ok=True)
        golden.write_text(actual) if actual else golden.unlink(missing_ok=True)
    expected = golden.read_text() if golden.exists() else ""
    lines = difflib.unified_diff(expected.splitlines(True), actual.splitlines(True), str(golden.relative_to(GOLDEN.parent.parent)), "actual")
    return "".join(lines)


def run_file(path, programs, update):
    failures, cases, env = [], parse(path), environment(programs)
    known = set()
    with tempfile.TemporaryDirectory() as folder:
        for case in cases:
            for line in case.setup:
                done = bash(line, folder, env)
                if done.returncode != 0:
                    sys.exit(f"{path}: preparation failed ({done.returncode}): {line}\n{done.stderr.decode()}")
            done = bash(case.command, folder, env)
            complaint = ""
            if done.returncode != case.exit:
                complaint += f"exit code {done.returncode}, expected {case.exit}\n"
            for stream, data in (("stdout", done.stdout), ("stderr", done.stderr)):
                golden = GOLDEN / path.stem / f"{case.slug()}.{stream}"
                known.add(golden)
                complaint += compare(golden, normalised(data, folder), update)
            if complaint:
                failures.append(f"{path.name}: {case.title}\n  $ {case.command}\n{complaint}")
    stale = set((GOLDEN / path.stem).glob("*")) - known
    failures += [f"{golden}: belongs to no case" for golden in sorted(stale)]
    print(f"{path.name}: {len(cases)} cases, {len(failures)} failures")
    return failures


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True, type=pathlib.Path)
    parser.add_argument("--update", action="store_true")
    parser.add_argument("files", nargs="+", type=pathlib.Path)
    options = parser.parse_args()
    failures = [failure for path in options.files for failure in run_file(path.resolve(), options.bin.resolve(), options.update)]
    if failures:
        sys.exit("\n".join(failures))


if __name__ == "__main__":
    main()
