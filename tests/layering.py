#!/usr/bin/env python3
"""layering.py ROOT: checks the one-way dependencies of the folders over their #include lines, who prints, that each source has its test,
that no statement is a comma operator or a ternary, and that no two headers define a type of one name (the linker would join their functions).

layering.py --self-test proves that each rule can fail. Exceptions from the rule of tests stand in layering_exceptions.txt.
"""
import collections
import fnmatch
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
    (["ckpt", "recipe", "corpus", "converters", "api"], TORCH, "no LibTorch below libtrain"),
    (["ckpt", "recipe", "corpus", "converters", "api"], r"spdlog/|CLI/", "no logging and no command line in libraries of checkpoints"),
    (["ckpt", "recipe", "corpus", "converters", "api"], r"libtrain/|cli/", "checkpoint libraries know nothing of trainer and programs"),
    (["ckpt", "recipe", "corpus", "api"], r"converters/", "ckpt, recipe and corpus know nothing of other formats"),
    (["ckpt", "recipe", "converters", "api"], r"corpus/", "texts and data sets are for the programs and the trainer"),
    (["ckpt", "api"], r"recipe/", "ckpt knows nothing of runs"),
    (["ckpt", "recipe", "corpus", "converters", "libtrain", "cli"], r"api/|titan/ckpt/", "the installed library is for programs of others"),
    (["api/include"], r"(?!titan/ckpt/).*[./]", "installed headers see the standard library and each other"),
    (["recipe"], r"thread$|mutex$|atomic$|future$|condition_variable$", "recipe is values alone: no threads"),
    (["libtrain"], r"converters/|cli/|CLI/", "libtrain knows nothing of converters and programs"),
    (["libtrain/job"], TORCH + r"|libtrain/engine/", "job has no tensors: it is built without LibTorch and knows nothing of the engine"),
    (["cli/titan_ckpt", "cli/kit", "cli/plot"], TORCH + r"|libtrain/", "titan-ckpt starts in milliseconds"),
    (["cli/titan_train"], r"ATen/|c10/|torch/(?!version\.h)|libtrain/engine/|cli/titan_engine/", "titan-train loads no LibTorch: cli/titan_engine computes"),
    (["cli/kit"], r"cli/titan|ckpt/ops/|recipe/|converters/", "the kit knows no verb and no operation"),
    (["ckpt", "recipe", "corpus", "converters", "api", "libtrain", "cli", "tests"], r"torch/torch\.h$|torch/extension\.h$", "a file with torch/torch.h takes half a minute to compile"),
    (["ckpt", "recipe", "corpus", "converters", "api", "libtrain", "cli"], r"tests/", "tests stay outside"),
]
# Third-party headers and the only places for them.
PLACES = [
    (r"CLI/", ("cli/kit/command_line.cpp",)),
    (r"toml\+\+/|toml\.hpp", ("recipe/keys/",)),
    (r"spdlog/|fmt/", ("libtrain/job/metrics/log.cpp",)),
    (r"hdf5\.h$|H5", ("ckpt/format/",)),
    (r"rapidjson/", ("ckpt/format/", "ckpt/lock/lock_owner.cpp", "cli/kit/json_out.cpp", "libtrain/job/metrics/")),
    (r"pcre2", ("recipe/text/pattern.cpp",)),
    (r"xxh", ("ckpt/base/hash.cpp", "ckpt/base/hash_kernel.inc", "ckpt/format/library_versions")),
    (r"sodium", ("ckpt/base/blake2b.cpp", "ckpt/base/ed25519.cpp")),
    (r"zstd", ("ckpt/format/leaf_codec.cpp", "ckpt/format/difference_codec.cpp", "ckpt/format/library_versions", "corpus/byte_source.cpp")),
]
NAMESPACE = re.compile(r"^namespace ([\w:]+) \{")
TYPE = re.compile(r"^(?:struct|class|enum class|union) (\w+)\b[^;]*$")
ADDRESS = re.compile(r"\bdata_ptr\b|_data_ptr\b")
ADDRESSES = "libtrain/engine/device/"
# The names of a model's parts, in any layout, and the only places for them: a family is a value.
LITERAL = re.compile(r'"(?:\\.|[^"\\\n])*"')
PART = re.compile(r"\b(?:w[qkvo123]|[qkvo]_proj|(?:gate|up|down)_proj|[qk]_norm|feed_forward|attention_norm|ffn_norm|input_layernorm|"
                  r"post_attention_layernorm|embed_tokens|(?:tok_embeddings|output|lm_head)\.weight)\b")
PARTS = {
    "recipe/model/family.h": "the list: what stands outside the layers",
    "recipe/model/family.cpp": "the list",
    "recipe/change/name_rules.cpp": "hints show what a rule looks like",
    "ckpt/plan/partition.cpp": "below recipe: where `reshard` cuts a model that has an embedding and a head",
}
PRINTERS = ("cli/kit/", "libtrain/job/metrics/log.cpp")
# The floors of a library: a folder includes from its own and from lower ones only.
FLOORS = [
    ["ckpt/base", "ckpt/model", "ckpt/format", "ckpt/plan", "ckpt/lock", "ckpt/store", "ckpt/read", "ckpt/run", "ckpt/save", "ckpt/ops"],
    ["recipe/keys", "recipe/model", "recipe/plan", "recipe/change"],
    ["recipe/keys", "recipe/history", "cli/plot"],
    ["libtrain/job/control", "libtrain/job/launch", "libtrain/job/host", "libtrain/job/forecast", "libtrain/job/start"],
    ["libtrain/job/reduction", "libtrain/job/schedule", "libtrain/job/replay"],
    ["libtrain/job/reduction", "libtrain/job/schedule", "libtrain/job/forecast"],
    ["libtrain/job/metrics", "libtrain/job/data", "libtrain/job/run", "libtrain/job/start"],
    ["libtrain/engine/device", "libtrain/engine/model/functions", "libtrain/engine/model", "libtrain/engine/exchange", "libtrain/engine/optim",
     "libtrain/engine/checkpoint", "libtrain/engine/train"],
    ["libtrain/engine/parallel/links", "libtrain/engine/parallel", "libtrain/engine/exchange", "libtrain/engine/pipeline", "libtrain/engine/train"],
]
# Folders must not include each other in a circle. These files stand above the folder that they lie in.
ABOVE = {
    "converters/formats.cpp": "the table that names each format's folder",
    "converters/convert.cpp": "the public verb, above the formats",
    "libtrain/engine/device/chosen_device.cpp": "chooses among the devices",
    "recipe/keys/loader.cpp": "loads a whole configuration, and asks the model whether its keys fit",
}
TEST_FOLDERS = ("ckpt", "api", "recipe", "corpus", "converters", "libtrain", "cli", "calls", "crash", "bench", "fake_device")  # tests/CMakeLists.txt builds these
ROOTS = ["ckpt", "api", "recipe", "corpus", "converters", "libtrain", "cli", "tests"]
EXCEPTIONS = "tests/layering_exceptions.txt"


def sources(root):
    for folder in ROOTS:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in (".h", ".hpp", ".cpp", ".cc", ".inc"):
                yield path.relative_to(root).as_posix(), path.read_text(encoding="utf-8")


def folder_of(name):
    return name.rpartition("/")[0]


def check_lines(name, text):
    """Third parties, layers and printing: one line of one file is enough to tell."""
    for number, line in enumerate(text.splitlines(), 1):
        where = f"{name}:{number}"
        found = INCLUDE.match(line)
        if found:
            for folders, pattern, why in INCLUDES:
                if any(name.startswith(folder + "/") for folder in folders) and re.match(pattern, found[1]):
                    yield f"{where}: includes {found[1]}: {why}"
            for pattern, places in PLACES:
                if re.match(pattern, found[1]) and not name.startswith(places + ("tests/",)):
                    yield f"{where}: includes {found[1]}: that stays in {', '.join(places)}"
            for floors in FLOORS:
                own, other = folder_of(name), folder_of(found[1])
                if name not in ABOVE and own in floors and other in floors and floors.index(own) < floors.index(other):
                    yield f"{where}: includes {found[1]}: {own} is below {other}"
        elif not name.startswith(("tests/",) + PRINTERS) and PRINTING.search(COMMENT.sub("", line)):
            yield f"{where}: prints; only {PRINTERS[0].rstrip('/')} does"
        elif name.startswith("libtrain/") and not name.startswith(ADDRESSES) and ADDRESS.search(COMMENT.sub("", line)):
            yield f"{where}: asks a tensor for its address; only {ADDRESSES.rstrip('/')} does"
        if not found and not name.startswith("tests/") and name not in PARTS:
            part = PART.search(" ".join(LITERAL.findall(COMMENT.sub("", line))))
            if part:
                yield f"{where}: names a part of a model ({part[0]}): recipe/model/family.h does"


def check_circles(files):
    """One complaint for each pair of folders that reach each other over the includes of product files."""
    edges = collections.defaultdict(dict)
    for name, text in files.items():
        if name.startswith("tests/") or name in ABOVE:
            continue
        for number, line in enumerate(text.splitlines(), 1):
            found = INCLUDE.match(line)
            if found and found[1] in files and folder_of(found[1]) != folder_of(name):
                edges[folder_of(name)].setdefault(folder_of(found[1]), f"{name}:{number}: includes {found[1]}")
    reached = {}
    for start in edges:
        reached[start], todo = set(), [start]
        while todo:
            for other in edges.get(todo.pop(), {}):
                if other not in reached[start]:
                    reached[start].add(other)
                    todo.append(other)
    for folder in sorted(edges):
        for other in sorted(edges[folder]):
            if folder in reached.get(other, ()):
                yield f"{edges[folder][other]}: {folder} and {other} need each other"


def check_tests(root, files):
    """x/y/z.cpp has its test at tests/x/y/z_test.cpp, or a line `pattern ...: reason` in the list of exceptions."""
    listed = root / EXCEPTIONS
    lines = listed.read_text(encoding="utf-8").splitlines() if listed.exists() else []
    # (number of the line, its patterns, the tests that it names)
    exceptions = [(number, line.partition(":")[0].split(), re.findall(r"tests/[^\s,;]*[^\s,;.]", line.partition(":")[2]))
                  for number, line in enumerate(lines, 1) if line.strip() and not line.startswith("#")]
    untested = []
    for name in files:
        if name.endswith("_test.cpp") and name.startswith("tests/") and name.split("/")[1] not in TEST_FOLDERS:
            yield f"{name}:1: no test program takes this folder"
        if name.startswith("tests/") or not name.endswith(".cpp") or name.endswith("/main.cpp") or f"tests/{name[:-4]}_test.cpp" in files:
            continue
        untested.append(name)
        if not any(fnmatch.fnmatchcase(name, pattern) for _, patterns, _ in exceptions for pattern in patterns):
            yield f"{name}:1: has no tests/{name[:-4]}_test.cpp and no line in {EXCEPTIONS}"
    for number, patterns, tests in exceptions:
        where = f"{EXCEPTIONS}:{number}"
        for pattern in patterns:
            if not any(fnmatch.fnmatchcase(name, pattern) for name in untested):
                there = any(fnmatch.fnmatchcase(name, pattern) for name in files)
                yield f"{where}: {pattern} {'has its test at the mirrored path' if there else 'fits no source'}"
        if not tests:
            yield f"{where}: names no test"
        for test in tests:
            if not any(root.glob(test)):
                yield f"{where}: {test} is not there"


# What is no code, and where a statement may begin.
NO_CODE = re.compile(r"""R"(\w*)\((?:.|\n)*?\)\1"|"(?:\\.|[^"\\\n])*"|(?<!\w)'(?:\\.|[^'\\\n])+'|//[^\n]*|/\*(?:.|\n)*?\*/|^[ \t]*\#(?:\\\n|.)*""", re.M)
BEGIN = re.compile(r"(?<=[;{})])\s+|\belse\s+|\breturn\s+")
ACT = re.compile(r"(?!(?:if|while|for|switch|catch|return|throw|sizeof|static_assert)\b)(?:\+\+|--)?(?:[\w:.\[\]]|->)+\s?(?:\(|\+\+|--|[-+*/%|&^]?=(?!=)|,|\?)")


def loose_statements(text):
    """(line, what) of `f(), g();`, `return f(), 1;`, `i = 1, j = 2;` and `a ? f() : g();`. A rough look, without types."""
    text = NO_CODE.sub(lambda found: re.sub(r"[^\n]", "_", found[0]) if found[0][0] in "\"'R" else re.sub(r"[^\n]", " ", found[0]), text)
    for begin in BEGIN.finditer(text):
        start, depth, question, comma, assigned = begin.end(), 0, False, False, False
        returns = begin[0].startswith("return")
        if not (ACT.match(text, start) or returns):
            continue
        for at in range(start, len(text)):
            letter = text[at]
            if letter in "([{":
                depth += 1
            elif letter in ")]}":
                depth -= 1
                if depth < 0:
                    break
            elif depth == 0 and letter == ";":
                number = text.count("\n", 0, start) + 1
                if comma:
                    yield number, "comma operator"
                elif question and not assigned and not returns:
                    yield number, "ternary as a statement"
                break
            elif depth == 0 and (letter == "<" and returns or letter == ":" and not question and ":" not in text[at - 1] + text[at + 1]):
                break  # a template's arguments; a constructor's members, or a label
            elif depth == 0:
                comma = comma or letter == ","
                question = question or letter == "?"
                assigned = assigned or (letter == "=" and not question)


def check_types(files):
    """A type at the level of its namespace stands in one header: two of one name are one to the linker, whatever is in them."""
    seen = {}
    for name, text in files.items():
        namespace = ""
        for number, line in enumerate(text.splitlines(), 1) if name.endswith(".h") and not name.startswith("tests/") else ():
            opened, found = NAMESPACE.match(line), TYPE.match(COMMENT.sub("", line).rstrip())
            namespace = opened[1] if opened else namespace
            if found and seen.setdefault((namespace, found[1]), name) != name:
                yield f"{name}:{number}: {namespace}::{found[1]} is another type in {seen[namespace, found[1]]}"


def check(root):
    """Returns (number of files read, complaints)."""
    files = dict(sources(root))
    complaints = [complaint for name, text in files.items() for complaint in check_lines(name, text)]
    complaints += check_circles(files)
    complaints += check_types(files)
    complaints += check_tests(root, files)
    complaints += [f"{name}:{number}: {what}" for name, text in files.items() if not name.startswith("tests/")
                   for number, what in loose_statements(text)]
    return len(files), complaints


BAD = {
    "ckpt/a.cpp": '#include <ATen/ATen.h>',
    "ckpt/b.cpp": '#include <spdlog/spdlog.h>',
    "ckpt/c.h": '#include "recipe/keys/config.h"',
    "ckpt/d.cpp": '#include <CLI/CLI.hpp>',
    "api/a.cpp": '#include "recipe/keys/config.h"',
    "api/include/titan/ckpt/a.h": '#include "ckpt/base/status.h"',
    "cli/kit/d.h": '#include "titan/ckpt/status.h"',
    "ckpt/e.cpp": 'void f() { std::cout << 1; }',
    "ckpt/f.cpp": '#include <c10/util/Half.h>',
    "ckpt/read/g.h": '#include <hdf5.h>',
    "cli/kit/b.cpp": '#include <rapidjson/writer.h>',
    "ckpt/save/h.cpp": '#include <zstd.h>',
    "recipe/text/a.cpp": '#include <pcre2.h>',
    "libtrain/job/launch/a.cpp": '#include <toml++/toml.h>',
    "converters/a.cpp": '#include "libtrain/engine/model/stage.h"',
    "libtrain/engine/model/a.cpp": '#include "converters/hf.h"',
    "libtrain/engine/model/b.cpp": '#include <torch/torch.h>',
    "libtrain/engine/model/c.cpp": 'void g() { printf("x"); }',
    "libtrain/engine/model/e.cpp": 'void g() { h(t.const_data_ptr<float>()); }',
    "libtrain/engine/model/f.h": 'auto g() { return place("layers.0.attention.wq.weight"); }',
    "converters/names.h": 'auto g() { return "model.layers.#.mlp.up_proj.weight"; }',
    "libtrain/job/data/a.cpp": '#include <torch/csrc/autograd/variable.h>',
    "libtrain/job/data/b.cpp": '#include "libtrain/engine/model/stage.h"',
    "cli/titan_ckpt/a.cpp": 'void h() { std::cerr << 1; }',
    "cli/kit/c.h": '#include "ckpt/ops/cat.h"',
    "cli/kit/a.cpp": '#include <ATen/core/Tensor.h>',
    "ckpt/i.cpp": '#include "recipe/model/dims.h"',
    "recipe/a.cpp": '#include <thread>',
    "recipe/d.cpp": '#include "corpus/tokenize.h"',
    "corpus/a.cpp": '#include "converters/convert.h"',
    "corpus/b.cpp": '#include "libtrain/job/data/dataset.h"',
    "recipe/b.cpp": '#include "converters/convert.h"',
    "recipe/c.cpp": '#include <ATen/ATen.h>',
    "tests/libtrain/a_test.cpp": '#include <torch/torch.h>',
    "ckpt/base/a.h": '#include "ckpt/model/leaf.h"',
    "ckpt/plan/a.h": '#include "ckpt/read/reader.h"',
    "recipe/keys/a.h": '#include "recipe/change/drift.h"',
    "libtrain/one/a.h": '#include "libtrain/two/a.h"',
    "libtrain/two/b.h": '#include "libtrain/three/a.h"',
    "libtrain/three/a.h": '#include "libtrain/one/b.h"',
    "libtrain/two/d.h": 'namespace titan::train {\nclass Twice : public Base {\n};',
    "ckpt/untested.cpp": '',
    "tests/nowhere/a_test.cpp": '',
    "tests/layering_exceptions.txt:2: ckpt/gone.cpp fits no source": None,
    "tests/layering_exceptions.txt:3: ckpt/gone/*.cpp fits no source": None,
    "tests/layering_exceptions.txt:4: ckpt/base/status.cpp has its test at the mirrored path": None,
    "tests/layering_exceptions.txt:5: ckpt/base/s*.cpp has its test at the mirrored path": None,
    "tests/layering_exceptions.txt:6: tests/gone_test.cpp is not there": None,
    "tests/layering_exceptions.txt:6: tests/gone/*_test.cpp is not there": None,
    "tests/layering_exceptions.txt:7: names no test": None,
    "ckpt/k.h": 'void f() { g(1), h(); }',
    "ckpt/l.h": 'int f() {\n  return fail("x, y"), 1;\n}',
    "ckpt/m.h": 'void f() {\n  ++i, ++j;\n}',
    "ckpt/n.h": 'void f() {\n  if (a) i = 1, j = 2;\n}',
    "ckpt/o.h": 'void f() {\n  value ? g() : h(1);\n}',
}
GOOD = {
    "cli/kit/printer.cpp": 'void f() { std::printf("x"); }',
    "libtrain/job/metrics/log.cpp": 'void f() { std::cerr << 1; }\n#include <spdlog/spdlog.h>',
    "libtrain/one/b.h": 'namespace titan::train {\nstruct Twice {\n};\nstruct Elsewhere;',
    "libtrain/two/e.h": 'namespace titan::train {\nstruct Elsewhere {  // struct Twice {\n};\nnamespace other {\nstruct Twice {\n};',
    "recipe/model/family.cpp": 'auto g() { return "layers.#.ffn_norm.weight"; }',
    "tests/recipe/model/family_test.cpp": '',
    "libtrain/two/c.h": 'auto q_norm = f("text");  // "wq" is the query',
    "libtrain/two/a.h": '',
    "converters/formats.cpp": '#include "converters/hf/hf_format.h"',
    "converters/hf/hf_format.h": '#include "converters/format.h"',
    "converters/format.h": '',
    "ckpt/base/status.cpp": '#include "ckpt/base/status.h"',
    "tests/ckpt/base/status_test.cpp": '',
    "ckpt/j.cpp": '',
    "api/include/titan/ckpt/b.h": '#include <span>\n#include "titan/ckpt/a.h"',
    "ckpt/p.h": 'struct A {\n  A(int x, int y) : x(x), y(y) {}\n  int x, y;\n};\nint f() {\n  int a = 1, b = 2;\n  for (a = 0, b = 1; a < b; ++a, --b) g(a, b);\n'
                '  auto [c, d] = h();\n  const char* t = "g(1), h();";\n  x = a ? b : c;\n  return a ? g(a, b) : std::pair<int, int>(a, b).first;\n}',
    "ckpt/h.cpp": 'void f() { std::snprintf(b, 3, "x"); }  // not std::cout\n#include "ckpt/base/fs.h"',
    "ckpt/format/i.cpp": '#include <hdf5.h>\n#include <rapidjson/reader.h>',
    "libtrain/engine/device/a.h": 'void g() { h(t.data_ptr()); }',
    "libtrain/engine/model/d.cpp": '#include <ATen/ATen.h>\n#include "ckpt/read/reader.h"',
}

# What stands in a line beside the names that are complained of is right.
LISTED = """# sources
ckpt/j.cpp ckpt/gone.cpp: tests/ckpt/base/status_test.cpp
ckpt/gone/*.cpp ckpt/?.cpp: tests/ckpt/base/status_test.cpp
ckpt/base/status.cpp ckpt/j.cpp: tests/ckpt/base/status_test.cpp
ckpt/base/s*.cpp ckpt/j.cpp: tests/ckpt/base/status_test.cpp
ckpt/j.cpp: tests/ckpt/base/status_test.cpp, tests/gone_test.cpp and tests/gone/*_test.cpp.
ckpt/j.cpp: by reading
*/?.cpp converters/* cli/* */log.cpp: tests/ckpt/*/status_test.cpp
"""
# How many complaints there are about these lines: none about what is right in them.
LISTED_COMPLAINTS = 7


def self_test():
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for name, text in {**BAD, **GOOD, EXCEPTIONS: LISTED}.items():
            if text is None:
                continue
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
        about_list = [complaint for complaint in complaints if complaint.startswith(EXCEPTIONS)]
        if len(about_list) != LISTED_COMPLAINTS:
            sys.exit("\n".join(["wrong complaints among:", *about_list]))
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
