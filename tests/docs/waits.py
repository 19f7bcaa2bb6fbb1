#!/usr/bin/env python3
"""waits.py ROOT: the table of waits in docs/dev/layers.md has every limit of the trainer's code with its seconds, and no other.

Limits are the keys *_timeout_seconds, which have no fixed seconds, the launcher's *_grace and *_wait, and constants of a second and more. waits.py --self-test
proves that each rule can fail.
"""
import pathlib
import re
import sys
import tempfile

PAGE = "docs/dev/layers.md"
HEADING = "## Waits"
SOURCES = ["libtrain/job/launch", "libtrain/engine/parallel", "libtrain/engine/train", "libtrain/job/run", "libtrain/job/control"]
KEY = re.compile(r"\b(\w+_timeout_seconds)\b")
GRACE = re.compile(r"\b(\w+_(?:grace|wait))\{([\d']+)\}")
CONSTANT = re.compile(r"\b(k[A-Z]\w*)(?:\{| = )([\d']+)(ms|s|min|\})")
NAME = re.compile(r"`(?:\w+\.)?(k[A-Z]\w*|\w+_timeout_seconds|\w+_(?:grace|wait))`(?: \(([\d.]+) s\))?")
UNIT = {"ms": 0.001, "s": 1, "min": 60, "}": None}


def limits(root):
    """{name: (seconds or None, where)} of what the code waits for at most."""
    found = {}
    for folder in SOURCES:
        for path in sorted((root / folder).glob("*.*")):
            for line in path.read_text().splitlines():
                if "constexpr" in line:
                    for name, number, unit in CONSTANT.findall(line):
                        seconds = float(number.replace("'", "")) * (UNIT[unit] or (0.001 if "milliseconds" in line else 1 if "seconds" in line else 0))
                        if seconds >= 1:
                            found[name] = (seconds, path.relative_to(root))
                for name, number in GRACE.findall(line):
                    found[name] = (float(number.replace("'", "")) / 1000, path.relative_to(root))
    config = root / "recipe/keys/config.h"
    found.update({name: (None, config.relative_to(root)) for name in KEY.findall(config.read_text())})
    return found


def table(root):
    """(name, seconds or None) of each limit that the table names."""
    text = (root / PAGE).read_text()
    if HEADING not in text:
        return set()
    section = text.split(HEADING, 1)[1].split("\n## ", 1)[0]
    return {(name, float(seconds) if seconds else None) for line in section.splitlines() if line.startswith("|") for name, seconds in NAME.findall(line)}


def check(root):
    code, told = limits(root), table(root)
    names = {name for name, _ in told}
    problems = [f"{where}: {name} is no row of the table of waits in {PAGE}" for name, (_, where) in sorted(code.items()) if name not in names]
    for name, seconds in sorted(told, key=str):
        if name not in code:
            problems.append(f"{PAGE}: {name} of the table of waits is nowhere in the code")
        elif seconds != code[name][0]:
            problems.append(f"{PAGE}: {name} is {seconds} s in the table of waits, and {code[name][0]} s in {code[name][1]}")
    return problems, len(code)


def self_test():
    code = {"libtrain/job/launch/a.h": "  milliseconds failure_grace{5'000};\n", "libtrain/engine/parallel/b.cpp": "constexpr milliseconds kLook{100}, kGone{20'000};\n",
            "libtrain/engine/train/c.cpp": "constexpr auto kStop = 1s;\n", "recipe/keys/config.h": "double io_timeout_seconds = 1800;\n"}
    names = ["`kGone` (20 s)", "`kStop` (1 s)", "`failure_grace` (5 s)", "`io_timeout_seconds`"]
    for told, wrong in [(names, None), (names[1:], "kGone"), (names[:-1], "io_timeout_seconds"), ([*names, "`kOld`"], "kOld"), (names[:2] + names[3:], "failure_grace"),
                        (["`kGone` (19 s)", *names[1:]], "kGone"), (["`kGone`", *names[1:]], "kGone"), ([*names[:3], "`io_timeout_seconds` (9 s)"], "io_timeout")]:
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for path, text in code.items():
                (root / path).parent.mkdir(parents=True, exist_ok=True)
                (root / path).write_text(text)
            (root / PAGE).parent.mkdir(parents=True, exist_ok=True)
            (root / PAGE).write_text(HEADING + "\n\n" + "".join(f"| who | {limit} |\n" for limit in told) + "\n## Next\n| `kNot` |\n")
            problems, count = check(root)
            assert count == 4 and len(problems) == (wrong is not None) and (not wrong or wrong in problems[0]), (problems, count)
    print("limits without a row, rows without a limit and other seconds were noticed")
    return 0


if __name__ == "__main__":
    if sys.argv[1:] == ["--self-test"]:
        sys.exit(self_test())
    found, number = check(pathlib.Path(sys.argv[1]))
    print("\n".join(found) or f"{number} limits")
    sys.exit(1 if found or number == 0 else 0)
