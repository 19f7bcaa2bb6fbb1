#!/usr/bin/env python3
"""each_source.py ROOT COMPILE_COMMANDS: clang reads each source of ckpt, api, recipe, converters and libtrain/job alone. Nothing is built.

The build compiles several sources as one unit, and would not notice that one of them lacks an include. An error too: a guarded member that is read or
written without its lock (-Wthread-safety), and any other warning of clang.
each_source.py --self-test ROOT proves on small files that this can fail.
"""
import concurrent.futures
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

FOLDERS = ["ckpt", "api", "recipe", "corpus", "converters", "libtrain/job"]
MUTEX = "ckpt/base/mutex.h"
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.M)
CLANG = ["clang++", "-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Wno-missing-field-initializers", "-Wthread-safety", "-Werror"]


def include_flags(commands):
    """-I, -isystem, -m and -D of each source, as the build has them."""
    flags = {}
    for entry in json.loads(pathlib.Path(commands).read_text()):
        words = shlex.split(entry["command"])
        of_entry = [
            flag for i, word in enumerate(words) for flag in ([word, words[i + 1]] if word == "-isystem" else [word] if word.startswith(("-I", "-m", "-D")) else [])]
        # A unit of several sources includes them (cmake/TitanUnity.cmake).
        unit = pathlib.Path(entry["file"])
        for source in INCLUDE.findall(unit.read_text()) if unit.parent.name == "Unity" else [unit]:
            flags[os.path.realpath(source)] = of_entry
    return flags


def analyse(root, sources, flags):
    """Returns the sources that clang refuses, with its words."""
    def one(name):
        path = root / name
        done = subprocess.run(CLANG + flags.get(os.path.realpath(path), []) + ["-I", str(root), str(path)], capture_output=True, text=True)
        return None if done.returncode == 0 else f"{name}:\n{done.stderr}"
    with concurrent.futures.ThreadPoolExecutor(max(1, len(os.sched_getaffinity(0)))) as pool:
        return [problem for problem in pool.map(one, sources) if problem]


GOOD = """#include "ckpt/base/mutex.h"
class Counter {
 public:
  void add() {
    titan::ckpt::LOCK lock(mutex_);
    ++count_;
  }

 private:
  titan::ckpt::Mutex mutex_;
  int count_ GUARDED_BY(mutex_) = 0;
};
void f() { Counter().add(); }
"""


def self_test(root):
    header = (root / MUTEX).read_text()
    macro, lock = re.search(r"#define\s+(\w*GUARDED_BY)\(", header)[1], re.search(r"class\s+\w*SCOPED\w*\s+(\w+)", header)[1]
    good = GOOD.replace("GUARDED_BY", macro).replace("LOCK", lock)
    bad = {"no lock": good.replace(f"titan::ckpt::{lock} lock(mutex_);", ""), "an unused value": good + "static int unused = 1;\n",
           "no include": good + "std::vector<int> row;\n"}
    with tempfile.TemporaryDirectory() as folder:
        for what, text in {"": good, **bad}.items():
            source = pathlib.Path(folder) / "a.cpp"
            source.write_text(text)
            problems = analyse(root, [source], {})
            if bool(problems) != bool(what):
                sys.exit(f"{what or 'good file'}: {problems}")
            if what == "no lock" and "-Wthread-safety" not in problems[0]:
                sys.exit(problems[0])
    print(f"{len(bad)} bad files refused, a good one taken")


def main():
    if sys.argv[1] == "--self-test":
        return self_test(pathlib.Path(sys.argv[2]).resolve())
    root = pathlib.Path(sys.argv[1]).resolve()
    sources = sorted(path.relative_to(root).as_posix() for folder in FOLDERS for path in (root / folder).rglob("*.cpp"))
    if not sources:
        sys.exit(f"no sources in {root}: this test checks nothing")
    problems = analyse(root, sources, include_flags(sys.argv[2]))
    if problems:
        sys.exit("\n".join(problems))
    print(f"{len(sources)} sources include what they use and hold their locks")


if __name__ == "__main__":
    main()
