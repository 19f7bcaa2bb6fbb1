#!/usr/bin/env python3
"""touched.py [HEADER...]: how many sources are compiled again when a header changes, by the #include lines; in brackets those that include
LibTorch, which take over three times as long. Without names: of the headers in docs/dev/build.md.

touched.py --via HEADER prints beside each header that includes it how many sources would be spared if that one did not.
"""
import argparse
import collections
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import layering  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
HEADERS = ["ckpt/base/status.h", "ckpt/base/fs.h", "recipe/keys/config.h", "recipe/plan/run_plan.h", "libtrain/engine/device/device.h",
           "libtrain/engine/parallel/links/fabric.h"]


def includes_of(root):
    """Of each file of the tree: the files of the tree that it includes itself. And those that include LibTorch themselves."""
    files = dict(layering.sources(root))
    direct, torch = {}, set()
    for name, text in files.items():
        found = [match[1] for match in map(layering.INCLUDE.match, text.splitlines()) if match]
        beside = layering.folder_of(name)
        direct[name] = {path for one in found for path in (one, f"{beside}/{one}") if path in files}
        if any(re.match(layering.TORCH, one) for one in found):
            torch.add(name)
    return direct, torch


def reaching(direct, targets):
    """The files that include one of the targets, however many headers lie between, and the targets."""
    includers = collections.defaultdict(set)
    for name, others in direct.items():
        for other in others:
            includers[other].add(name)
    reached, todo = set(targets), list(targets)
    while todo:
        new = includers[todo.pop()] - reached
        reached |= new
        todo += new
    return reached


def touched(direct, header):
    return {name for name in reaching(direct, [header]) if name.endswith((".cpp", ".cc"))}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("headers", nargs="*", metavar="HEADER")
    parser.add_argument("--via", action="store_true")
    args = parser.parse_args()
    direct, torch = includes_of(ROOT)
    with_torch = reaching(direct, torch)
    for header in args.headers or HEADERS:
        if header not in direct:
            sys.exit(f"no file {header}")
        names = touched(direct, header)
        print(f"{header:32} {len(names):4} ({len(names & with_torch)})")
        if not args.via:
            continue
        for includer in sorted(name for name, others in direct.items() if header in others and name.endswith(".h")):
            spared = names - touched({**direct, includer: direct[includer] - {header}}, header)
            print(f"  {includer:50} {len(spared):4} ({len(spared & with_torch)}) of {len(touched(direct, includer))}")


if __name__ == "__main__":
    main()
