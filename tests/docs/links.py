#!/usr/bin/env python3
"""links.py ROOT: checks that every relative link in the *.md files of the tree leads to a file, and its #anchor to a heading.

Links to other hosts are not looked at. links.py --self-test proves that each rule can fail.
"""
import pathlib
import re
import subprocess
import sys
import tempfile
import urllib.parse

FENCE = re.compile(r"^ {0,3}(```+|~~~+)")
CODE = re.compile(r"(`+)(?!`).*?(?<!`)\1(?!`)")
# [text](target "title"), ![image](<target>), and a definition "[name]: target".
INLINE = re.compile(r"\]\(\s*(<[^>]*>|[^()\s]*(?:\([^()\s]*\)[^()\s]*)*)(?:\s+[\"'(][^)]*)?\s*\)")
DEFINITION = re.compile(r"^ {0,3}\[[^\]]+\]:\s*(<[^>]*>|\S+)")
HEADING = re.compile(r"^ {0,3}#{1,6}\s+(.*?)\s*#*\s*$")
NAMED = re.compile(r"<a\s+(?:id|name)=[\"']([^\"']+)[\"']")
ELSEWHERE = re.compile(r"^[a-zA-Z][a-zA-Z0-9+.-]*:|^//")


def prose(text):
    """(line number, line) of what is not in a fenced block."""
    fence = None
    for number, line in enumerate(text.splitlines(), 1):
        mark = FENCE.match(line)
        if fence:
            if mark and mark[1][0] == fence[0] and len(mark[1]) >= len(fence) and line.strip() == mark[1]:
                fence = None
        elif mark:
            fence = mark[1]
        else:
            yield number, line


def anchors(text):
    """The anchors that a forge makes of headings: `A & B` gives #a--b, a second one #a--b-1."""
    found, seen = set(), {}
    for _, line in prose(text):
        found.update(NAMED.findall(line))
        heading = HEADING.match(line)
        if not heading:
            continue
        plain = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", heading[1]).replace("`", "").replace("*", "")
        slug = re.sub(r"[^\w\- ]", "", plain.lower()).replace(" ", "-")
        count = seen.get(slug, 0)
        seen[slug] = count + 1
        found.add(slug if count == 0 else f"{slug}-{count}")
    return found


def links(text):
    for number, line in prose(text):
        line = CODE.sub("", line)
        definition = DEFINITION.match(line)
        for target in INLINE.findall(line) + ([definition[1]] if definition else []):
            yield number, target.removeprefix("<").removesuffix(">")


def pages(root):
    """Of a repository what git knows or would add, else every *.md."""
    asked = subprocess.run(["git", "-C", root, "ls-files", "-z", "-co", "--exclude-standard", "--", "*.md"], capture_output=True)
    if asked.returncode == 0:
        found = [root / name for name in asked.stdout.decode().split("\0") if name]
    else:
        found = root.rglob("*.md")
    return sorted(page for page in found if page.is_file())


def check(root):
    """Returns one line for each link that leads nowhere, and how many links were followed."""
    root = pathlib.Path(root).resolve()
    problems, followed = [], 0
    for page in pages(root):
        text = page.read_text()
        for number, target in links(text):
            if ELSEWHERE.match(target):
                continue
            followed += 1
            path, _, anchor = target.partition("#")
            path, anchor = urllib.parse.unquote(path), urllib.parse.unquote(anchor)
            file = (page.parent / path).resolve() if path else page
            where = f"{page.relative_to(root)}:{number}: {target}"
            if path.startswith("/") or not file.is_relative_to(root):
                problems.append(f"{where}: leads out of the tree")
            elif not file.exists():
                problems.append(f"{where}: no such file")
            elif anchor and file.suffix == ".md" and anchor not in anchors(file.read_text()):
                problems.append(f"{where}: no such heading in {file.relative_to(root)}")
    return problems, followed


def self_test():
    good = "# One & two\n\n## Same\n\n## Same\n\n`[x](gone.md)` [up](docs/b.md#part-one) [here](#one--two) [second](#same-1)\n" \
           "[far](https://example.org/gone) ![drawing](docs/a.svg)\n\n[ref]: docs/b.md\n\n```\n[no](gone.md)\n# heading\n```\n"
    broken = {
        "[x](gone.md)\n": "no such file",
        "![x](docs/gone.svg)\n": "no such file",
        "[x]: gone.md\n": "no such file",
        "[x](<gone file.md>)\n": "no such file",
        "[x](docs/gone.md \"title\")\n": "no such file",
        "[x](docs/b.md#part-two)\n": "no such heading in docs/b.md",
        "[x](#heading)\n": "no such heading in README.md",
        "[x](#same-2)\n": "no such heading in README.md",
        "[x](../b.md)\n": "leads out of the tree",
        "[x](/docs/b.md)\n": "leads out of the tree",
    }
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        (root / "docs").mkdir()
        (root / "docs/a.svg").write_text("")
        (root / "docs/b.md").write_text("# Part one\n\n[back](../README.md)\n")
        (root / "README.md").write_text(good)
        problems, followed = check(root)
        assert problems == [] and followed == 6, (problems, followed)
        for text, reason in broken.items():
            (root / "README.md").write_text(good + text)
            problems, _ = check(root)
            assert len(problems) == 1 and problems[0].endswith(reason), (text, problems)
    print(f"{len(broken)} broken links were noticed")
    return 0


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    problems, followed = check(sys.argv[1])
    for problem in problems:
        print(problem)
    print(f"{followed} links, {len(problems)} lead nowhere")
    return 1 if problems or followed == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
