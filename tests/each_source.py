#!/usr/bin/env python3
"""each_source.py ROOT COMPILE_COMMANDS: clang reads each source of ckpt, api, recipe, corpus, converters and libtrain/job alone. Nothing is built.

The build compiles several sources as one unit, and would not notice that one of them lacks an include. An error too: a guarded member that is read or
written without its lock (-Wthread-safety), and any other warning of clang.

A few headers are precompiled, for half of the time. A source gets the largest one that its first include (its own header) includes anyway, so nothing is there
that this header does not bring: a header that lacks an include is still found by its own source.
each_source.py --self-test ROOT proves on small files that this can fail.
"""
import collections
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
# The largest first: chosen by the bytes that they spare, with the standard library behind them.
PRECOMPILED = ["ckpt/read/reader.h", "ckpt/base/fs.h", "ckpt/base/hash.h", "ckpt/base/result.h", "ckpt/base/status.h"]
FEWEST = 5  # sources for which a header is worth it
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.M)
CLANG = ["clang++", "-std=c++20", "-Wall", "-Wextra", "-Wno-missing-field-initializers", "-Wthread-safety", "-Werror"]


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
            flags.setdefault(os.path.realpath(source), of_entry)  # a source that several targets compile belongs to the first
    return flags


def includes_of(root):
    """A function that returns all headers of the tree behind one of them, itself among them."""
    known = {}

    def behind(name):
        if name not in known:
            known[name] = {name}
            path = root / name
            for header in INCLUDE.findall(path.read_text()) if path.exists() else []:
                known[name] = known[name] | behind(header)
        return known[name]
    return behind


def first_include(path):
    """Of the tree; nothing where the first include is another one."""
    first = re.search(r"^\s*#\s*include\s*(.*)$", path.read_text(), re.M)
    return INCLUDE.match(first[0]) if first else None


def precompiled_for(root, sources, flags):
    """{source: the header of PRECOMPILED that its first include brings}, where enough sources of the same flags agree."""
    behind, chosen = includes_of(root), {}
    for name in sources:
        first = first_include(root / name)
        brought = behind(first[1]) if first else set()
        fits = [header for header in PRECOMPILED if header in brought]
        if fits:
            chosen[name] = (fits[0], meaning(flags, root / name))
    count = collections.Counter(chosen.values())
    return {name: choice for name, choice in chosen.items() if count[choice] >= FEWEST}


def meaning(flags, path):
    """Those of its flags with which a header may read differently."""
    return tuple(flag for flag in flags.get(os.path.realpath(path), []) if flag.startswith(("-D", "-m")))


def analyse(root, sources, flags):
    """Returns the sources that clang refuses, with its words."""
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(max(1, len(os.sched_getaffinity(0)))) as pool:
        chosen = precompiled_for(root, sources, flags)

        def clang(name, *words):
            path = root / name
            done = subprocess.run(CLANG + flags.get(os.path.realpath(path), []) + ["-I", str(root), *words], capture_output=True, text=True)
            return None if done.returncode == 0 else f"{name}:\n{done.stderr}"

        def precompile(choice):
            # With the flags of a source that gets it.
            source = next(name for name in sources if chosen.get(name) == choice)
            wrapper = pathlib.Path(tempfile.mkstemp(".h", dir=folder)[1])
            wrapper.write_text(f'#include "{choice[0]}"\n')
            return clang(source, "-x", "c++-header", str(wrapper), "-o", f"{wrapper}.pch"), f"{wrapper}.pch"

        choices = sorted(set(chosen.values()))
        made = dict(zip(choices, pool.map(precompile, choices)))
        problems = [problem for problem, _ in made.values() if problem]

        def read(name):
            ready = ["-include-pch", made[chosen[name]][1]] if name in chosen else []
            return clang(name, "-fsyntax-only", *ready, str(root / name))
        return problems or [problem for problem in pool.map(read, sources) if problem]


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
    # Sources with a precompiled header: their own header lacks an include that they have, or nothing does.
    with tempfile.TemporaryDirectory() as folder:
        tree, names = pathlib.Path(folder), [f"{i}.cpp" for i in range(FEWEST)]
        (tree / PRECOMPILED[-1]).parent.mkdir(parents=True)
        (tree / PRECOMPILED[-1]).write_text("#pragma once\n#include <string>\n")
        for name in names:
            (tree / name).write_text('#include "own.h"\n#include <vector>\nstd::vector<int> row;\n')
        for include in ["", "#include <vector>\n"]:
            (tree / "own.h").write_text(f'#pragma once\n#include "{PRECOMPILED[-1]}"\n{include}inline std::vector<std::string> own;\n')
            problems = analyse(tree, names, {})
            if len(precompiled_for(tree, names, {})) != FEWEST or len(problems) != (0 if include else FEWEST):
                sys.exit(f"with a precompiled header: {problems}")
    print(f"{len(bad)} bad files refused, a good one taken; with a precompiled header, too")


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
