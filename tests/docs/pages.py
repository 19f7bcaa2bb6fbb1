#!/usr/bin/env python3
"""pages.py ROOT: README.md has at most 180 lines, HACKING.md at most 70. No cell of a table in README.md, HACKING.md and docs/ has more than 160 characters,
and no line of README.md, HACKING.md and docs/dev has more than 170, but in fenced blocks and, except in README.md, in tables.

pages.py --self-test proves that each rule can fail.
"""
import pathlib
import re
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from links import prose  # noqa: E402

LINES = {"README.md": 180, "HACKING.md": 70}
PAGES = ["README.md", "HACKING.md", "docs/**/*.md"]
CELL = 160
NARROW = ["README.md", "HACKING.md", "docs/dev/*.md"]
COLUMNS = 170


def found(root, patterns):
    return sorted({page for pattern in patterns for page in root.glob(pattern)})


def long_cells(root):
    """Yields (page, line number, text, what is wrong) of each cell that is too long, and (page, line number, text, "") of each other cell."""
    for page in found(root, PAGES):
        for number, line in prose(page.read_text()):
            if not line.lstrip().startswith("|"):
                continue
            for cell in map(str.strip, re.split(r"(?<!\\)\|", line.strip().strip("|"))):
                yield page, number, cell, f"a cell of {len(cell)} characters, at most {CELL}" if len(cell) > CELL else ""


def long_lines(root):
    for page in found(root, NARROW):
        for number, line in prose(page.read_text()):
            if len(line) > COLUMNS and not (line.lstrip().startswith("|") and page.name != "README.md"):
                yield page, number, line, f"a line of {len(line)} characters, at most {COLUMNS}"


def check(root):
    """Returns one line for each broken rule, and how many cells were measured."""
    problems = []
    for name, most in LINES.items():
        count = len((root / name).read_text().splitlines())
        if count > most:
            problems.append(f"{name}:{count}: {count} lines, at most {most} are wanted")
    cells = list(long_cells(root))
    for page, number, text, wrong in [*cells, *long_lines(root)]:
        if wrong:
            problems.append(f"{page.relative_to(root)}:{number}: {wrong}: {text[:40]}...")
    return problems, len(cells)


def self_test():
    row, block, line = f"| a | {'x' * CELL} | b \\| c |\n", f"```\n| {'x' * (CELL + 1)} |\n{'x' * (COLUMNS + 1)}\n```\n", "x" * COLUMNS + "\n"
    wide = row.replace(" x", " xx")
    good = {"README.md": row.replace("x" * 10, "x") + block + line + "\n" * (LINES["README.md"] - 6), "HACKING.md": line * LINES["HACKING.md"], "docs/a.md": row + "x" + line,
            "docs/dev/b.md": row + line}
    broken = [({}, ""), ({"README.md": good["README.md"] + "\n"}, "README.md:181: 181 lines"), ({"HACKING.md": "\n" * 71}, "HACKING.md:71: 71 lines"),
              ({"README.md": row}, "README.md:1: a line of 17"), ({"HACKING.md": wide}, "HACKING.md:1: a cell of 161"), ({"README.md": "x" + line}, "README.md:1: a line of 171"), ({"docs/a.md": "\n" + wide}, "docs/a.md:2: a cell of 161"),
              ({"docs/dev/b.md": wide}, "docs/dev/b.md:1: a cell of 161"), ({"HACKING.md": "x" + line}, "HACKING.md:1: a line of 171"),
              ({"docs/dev/b.md": line + "x" + line}, "docs/dev/b.md:2: a line of 171")]
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        (root / "docs/dev").mkdir(parents=True)
        for change, expected in broken:
            for name, text in {**good, **change}.items():
                (root / name).write_text(text)
            problems, cells = check(root)
            assert cells > 0 and len(problems) == bool(expected) and "".join(problems).startswith(expected), (problems, cells, expected)
    print(f"{len(broken) - 1} pages that are too long or too wide were noticed")
    return 0


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    problems, cells = check(pathlib.Path(sys.argv[1]).resolve())
    for problem in problems:
        print(problem)
    print(f"{cells} cells, {len(problems)} problems")
    return 1 if problems or cells == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
