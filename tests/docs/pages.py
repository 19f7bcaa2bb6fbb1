#!/usr/bin/env python3
"""pages.py ROOT: README.md has at most 180 lines, and no cell of a table in README.md, HACKING.md and docs/ has more than 160 characters.

pages.py --self-test proves that each rule can fail.
"""
import pathlib
import re
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from links import prose  # noqa: E402

README_LINES = 180
CELL = 160


def check(root):
    """Returns one line for each broken rule, and how many cells were measured."""
    problems, cells = [], 0
    readme = root / "README.md"
    count = len(readme.read_text().splitlines())
    if count > README_LINES:
        problems.append(f"README.md:{count}: {count} lines, at most {README_LINES} are wanted")
    for page in [readme, *sorted(root.glob("HACKING.md")), *sorted((root / "docs").glob("*.md"))]:
        for number, line in prose(page.read_text()):
            if not line.lstrip().startswith("|"):
                continue
            for cell in re.split(r"(?<!\\)\|", line.strip().strip("|")):
                cells += 1
                if len(cell.strip()) > CELL:
                    problems.append(f"{page.relative_to(root)}:{number}: a cell of {len(cell.strip())} characters, at most {CELL}: {cell.strip()[:40]}...")
    return problems, cells


def self_test():
    row, block = f"| a | {'x' * CELL} | b \\| c |\n", f"```\n| {'x' * (CELL + 1)} |\n```\n"
    fitting = row + block + "\n" * (README_LINES - 4)
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        (root / "docs").mkdir()
        for readme, page, expected in [(fitting, row, ""), (fitting + "\n", row, "README.md:181: "), (row.replace(" x", " xx"), row, "README.md:1: a cell of 161"),
                                       (fitting, "\n" + row.replace(" x", " xx"), "docs/a.md:2: a cell of 161")]:
            (root / "README.md").write_text(readme)
            (root / "docs/a.md").write_text(page)
            problems, cells = check(root)
            assert cells == 6 and len(problems) == bool(expected) and "".join(problems).startswith(expected), (problems, cells, expected)
    print("a long README and two long cells were noticed")
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
