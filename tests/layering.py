#!/usr/bin/env python3
"""layering.py ROOT: checks the one-way dependencies of the folders over their #include lines, and who prints.

layering.py --self-test proves that each rule can fail.
"""
import pathlib
import re
import sys
import tempfile

INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]')
PRINTING = re.compile(r"\bstd::(?:cout|cerr|clog)\b|\b(?:std::)?(?:printf|puts|fputs|putchar|fprintf|perror)\s*\(")
COMMENT = re.compile(r"//.*$")

TORCH = r"(?:torch|ATen|c10)/"
# (folders, pattern of include paths that they must not have, why)
INCLUDES = [
    (["ckpt", "recipe", "converters"], TORCH, "no LibTorch below libtrain"),
    (["ckpt", "recipe", "converters"], r"spdlog/|CLI/", "no logging and no command line in libraries of checkpoints"),
    (["ckpt", "recipe", "converters"], r"libtrain/|cli/", "checkpoint libraries know nothing of trainer and programs"),
    (["ckpt", "recipe"], r"converters/", "ckpt and recipe know nothing of other formats"),
    (["ckpt"], r"recipe/", "ckpt knows nothing of runs"),
    (["recipe"], r"thread$|mutex$|atomic$|future$|condition_variable$", "recipe is values alone: no threads"),
    (["libtrain"], r"converters/|cli/|CLI/", "libtrain knows nothing of converters and programs"),
    (["libtrain/data", "libtrain/metrics", "libtrain/launch", "libtrain/start", "libtrain/forecast"], TORCH, "this part of libtrain is built without LibTorch"),
    (["cli/titan_ckpt", "cli/kit"], TORCH + r"|libtrain/", "titan-ckpt starts in milliseconds"),
    (["cli/kit"], r"cli/titan|ckpt/ops/|recipe/|converters/", "the kit knows no verb and no operation"),
    (["ckpt", "recipe", "converters", "libtrain", "cli", "tests"], r"torch/torch\.h$|torch/extension\.h$", "a file with torch/torch.h takes half a minute to compile"),
    (["ckpt", "recipe", "converters", "libtrain", "cli"], r"tests/", "tests stay outside"),
]
# Third-party headers and the only places for them.
PLACES = [
    (r"CLI/", ("cli/kit/command_line.cpp",)),
    (r"toml\+\+/|toml\.hpp", ("recipe/keys/",)),
    (r"spdlog/|fmt/", ("libtrain/metrics/log.cpp",)),
    (r"hdf5\.h$|H5", ("ckpt/format/",)),
    (r"rapidjson/", ("ckpt/format/", "ckpt/io/lock_note.cpp", "cli/kit/json_out.cpp", "libtrain/metrics/")),
    (r"xxh", ("ckpt/base/hash.cpp", "ckpt/base/hash_kernel.inc")),
    (r"zstd", ("ckpt/format/leaf_codec.cpp",)),
]
PRINTERS = ("cli/kit/", "libtrain/metrics/log.cpp")
ROOTS = ["ckpt", "recipe", "converters", "libtrain", "cli", "tests"]


def sources(root):
    for folder in ROOTS:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in (".h", ".hpp", ".cpp", ".cc", ".inc"):
                yield path.relative_to(root).as_posix(), path.read_text(encoding="utf-8").splitlines()


def check(root):
    """Returns (number of files read, complaints)."""
    complaints, files = [], 0
    for name, lines in sources(root):
        files += 1
        for number, line in enumerate(lines, 1):
            where = f"{name}:{number}"
            found = INCLUDE.match(line)
            if found:
                for folders, pattern, why in INCLUDES:
                    if any(name.startswith(folder + "/") for folder in folders) and re.match(pattern, found[1]):
                        complaints.append(f"{where}: includes {found[1]}: {why}")
                for pattern, places in PLACES:
                    if re.match(pattern, found[1]) and not name.startswith(places + ("tests/",)):
                        complaints.append(f"{where}: includes {found[1]}: that stays in {', '.join(places)}")
            elif not name.startswith(("tests/",) + PRINTERS) and PRINTING.search(COMMENT.sub("", line)):
                complaints.append(f"{where}: prints; only cli/kit does")
    return files, complaints


BAD = {
    "ckpt/a.cpp": '#include <ATen/ATen.h>',
    "ckpt/b.cpp": '#include <spdlog/spdlog.h>',
    "ckpt/c.h": '#include "recipe/keys/config.h"',
    "ckpt/d.cpp": '#include <CLI/CLI.hpp>',
    "ckpt/e.cpp": 'void f() { std::cout << 1; }',
    "ckpt/f.cpp": '#include <c10/util/Half.h>',
    "ckpt/io/g.h": '#include <hdf5.h>',
    "cli/kit/b.cpp": '#include <rapidjson/writer.h>',
    "ckpt/io/h.cpp": '#include <zstd.h>',
    "libtrain/launch/a.cpp": '#include <toml++/toml.h>',
    "converters/a.cpp": '#include "libtrain/model/stage.h"',
    "libtrain/model/a.cpp": '#include "converters/hf.h"',
    "libtrain/model/b.cpp": '#include <torch/torch.h>',
    "libtrain/model/c.cpp": 'void g() { printf("x"); }',
    "libtrain/data/a.cpp": '#include <torch/csrc/autograd/variable.h>',
    "cli/titan_ckpt/a.cpp": 'void h() { std::cerr << 1; }',
    "cli/kit/a.cpp": '#include <ATen/core/Tensor.h>',
    "cli/kit/c.h": '#include "ckpt/ops/cat.h"',
    "ckpt/i.cpp": '#include "recipe/model/dims.h"',
    "recipe/a.cpp": '#include <thread>',
    "recipe/b.cpp": '#include "converters/convert.h"',
    "recipe/c.cpp": '#include <ATen/ATen.h>',
    "tests/torch/a_test.cpp": '#include <torch/torch.h>',
}
GOOD = {
    "cli/kit/printer.cpp": 'void f() { std::printf("x"); }',
    "libtrain/metrics/log.cpp": 'void f() { std::cerr << 1; }\n#include <spdlog/spdlog.h>',
    "ckpt/h.cpp": 'void f() { std::snprintf(b, 3, "x"); }  // not std::cout\n#include "ckpt/base/fs.h"',
    "ckpt/format/i.cpp": '#include <hdf5.h>\n#include <rapidjson/reader.h>',
    "libtrain/model/d.cpp": '#include <ATen/ATen.h>\n#include "ckpt/io/reader.h"',
}


def self_test():
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for name, text in {**BAD, **GOOD}.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text + "\n")
        _, complaints = check(root)
        for name in BAD:
            if not any(complaint.startswith(name) for complaint in complaints):
                sys.exit(f"no complaint about {name}: {BAD[name]}")
        for name in GOOD:
            for complaint in complaints:
                if complaint.startswith(name + ":"):
                    sys.exit(f"wrong complaint: {complaint}")
        print(f"{len(BAD)} violations found, {len(GOOD)} good files left alone")


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    files, complaints = check(pathlib.Path(sys.argv[1]))
    if files < 20:
        sys.exit(f"only {files} source files below {sys.argv[1]}: this test checks nothing")
    if complaints:
        sys.exit("\n".join(complaints))
    print(f"{files} files follow the rules")


if __name__ == "__main__":
    main()
