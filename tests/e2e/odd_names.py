#!/usr/bin/env python3
"""Names of files and folders that a program must get right: places that nobody can make, and a folder whose name a shell takes apart.

PLACES: commands with a place to make ({}): where a file, a link to itself or a name that is too long is on the way, each ends with 2 and one error that names
the place, and leaves everything as it was. PASTED: commands in a folder named "a b'c" whose hint or last line has a path; that path is one word of a shell, and
leads to what is there.
"""
import concurrent.futures
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import harness  # noqa: E402
import hints  # noqa: E402

ODD = "a b'c"
QUOTED = re.compile(r"'a b'\\''c[^']*'")
PREPARE = hints.PREPARE + r"""
openssl genpkey -algorithm ed25519 -out key.pem
titan-ckpt patch run@1 run@2 -o p > log
: > file
ln -s loop loop
"""

PLACES = [
    "titan-ckpt convert run@2 {} --to hf", "titan-ckpt convert run@2 {} --to dcp", "titan-ckpt convert run@2 {} --to gguf", "titan-ckpt reshard run@2 {} --dp 2",
    "titan-ckpt strip run@2 {}", "titan-ckpt lr set run@2 {} --steps 9 --policy keep", "titan-ckpt merge run@1 run@2 -o {}",
    "titan-ckpt verify hurt@2 --repair --from run@2 -o {}", "titan-ckpt apply run@1 p -o {}", "titan-ckpt sign run@2 --key key.pem -o {}",
    "titan-ckpt cat run@2 norm.weight -o {}", "titan-ckpt plot run -o {}.svg", "titan-ckpt plot run -o {}.html", "titan-ckpt scrub run --status {}",
    "titan-ckpt tokenize text.txt -o {} --tokenizer tok", "titan-train plan small.toml --measure --job.dump_folder={}",
    "titan-ckpt convert hf {} --to titan", "titan-ckpt patch run@1 run@2 -o {}", "titan-train config --init -o {}.toml",
    "titan-train plan small.toml --schedule-csv {}.csv", "titan-train plan small.toml --trace {}.json",
    "titan-train replay run@1..2 --dir {}", "titan-train bisect run --dir {}", "titan-train eval run@2 --text text.txt --seq-len 16 --logits {}.npy",
]
WAYS = ["file/x", "file/deep/x", "loop/x", "n" * 300 + "/x"]

# (a command, what stands before the path in what it prints)
PASTED = [
    ("titan-ckpt strip $D/hurt@2 x --verify", "`titan-ckpt verify "),
    ("titan-ckpt reshard $D/hurt@2 x --dp 2", "`titan-ckpt verify "),
    ("titan-ckpt merge $D/run@1 $D/hurt@2 -o x", "`titan-ckpt verify "),
    ("titan-ckpt parity $D/hurt@2 --files 1", "`titan-ckpt verify "),
    ("titan-ckpt pin $D/run@2; titan-ckpt parity $D/run@2 --files 1", "`titan-ckpt unpin "),
    ("titan-ckpt reshard $D/hf x --dp 2", "`titan-ckpt convert "),
    ("titan-ckpt verify $D/hf --repair -o x", "`titan-ckpt verify "),
    ("titan-ckpt convert $D/run@2 $D/p1/p2/x --to hf", "mkdir -p "),
    ("titan-ckpt $D/run", "`titan-ckpt ls "),
    ("titan-ckpt $D/run@2", "`titan-ckpt inspect "),
    ("titan-train $D/small.toml", "`titan-train run "),
    ("titan-train $D/run@2", "`titan-train eval "),
    ("titan-ckpt du $D/run", "titan-ckpt prune "),
    ("titan-ckpt ls $D/run/checkpoint/step-00000002", "--resume "),
    ("cd $D && rm hf/config.json; cd - >/dev/null; titan-ckpt convert $D/hf x", "titan-ckpt convert "),
    ("titan-train eval $D/dcp --tokens $D/raw --seq-len 16", "titan-ckpt convert "),
    ("titan-ckpt tokenize $D/ids -o new --tokenizer $D/tok", "dataset_path="),
    ("titan-ckpt tokenize $D/ids -o new --tokenizer $D/tok", "titan-ckpt tokens "),
    ("titan-ckpt tokenize $D/text.txt -o $D/new --tokenizer $D/tok", "dataset_path="),
    ("titan-train config --init -o $D/my.toml", "`titan-train plan "),
    ("titan-train plan $D/small.toml --job.dump_folder=$D/allhurt --training.steps=4 || titan-train run $D/small.toml --job.dump_folder=$D/allhurt --training.dataset_path=$D/text.txt",
     "`titan-ckpt verify "),
    ("titan-train plan $D/small.toml --job.dump_folder=new --training.dataset_path=$D/run", "--job.dump_folder="),
    ("titan-train plan $D/small.toml --job.dump_folder=new --training.dataset_path=$D/run/checkpoint/step-00000002", "--resume "),
    ("titan-train plan $D/small.toml --job.dump_folder=new --training.dataset_path=$D/hf", "--init-from "),
    ("printf '{}\\n' > $D/r.jsonl; titan-train plan $D/small.toml --job.dump_folder=new --training.dataset=tokens --training.dataset_path=$D/r.jsonl", "titan-ckpt tokenize "),
    ("tar -cf $D/t.tar $D/text.txt; titan-train plan $D/small.toml --job.dump_folder=new --training.dataset_path=$D/t.tar", "tar -xf "),
    ("gzip -k $D/text.txt; titan-train plan $D/small.toml --job.dump_folder=new --training.dataset_path=$D/text.txt.gz", "gzip -dc < "),
    ("iconv -f UTF-8 -t UTF-16 $D/text.txt > $D/wide.txt; titan-train plan $D/small.toml --job.dump_folder=new --training.dataset_path=$D/wide.txt", "iconv -f UTF-16 -t UTF-8 "),
    ("titan-ckpt strip $D/run@2 $D/w --keep model; titan-train plan $D/small.toml --job.dump_folder=new --training.dataset_path=$D/text.txt --resume $D/w", "--init-from "),
    ("titan-train plan $D/small.toml --job.dump_folder=new --training.dataset_path=$D/text.txt --schedule-csv $D/s.csv", "schedule_csv="),
]


def environment():
    return {**os.environ, "PATH": f"{harness.BIN}:{hints.TOOLS}:{os.environ['PATH']}", "LC_ALL": "C.UTF-8", "COLUMNS": "10000", "D": ODD}


def bash(line, folder):
    return subprocess.run(["bash", "-c", line], cwd=folder, env=environment(), capture_output=True, text=True, timeout=300)


def names(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if "run.lock" not in path.name)


class OddNames(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.home = harness.scratch("odd-names")
        done = subprocess.run(["bash", "-ec", PREPARE], cwd=cls.home, env=environment(), capture_output=True, text=True)
        assert done.returncode == 0, done.stderr

    @classmethod
    def tearDownClass(cls):
        subprocess.run(["chmod", "-R", "u+w", str(cls.home)], check=True)
        shutil.rmtree(cls.home)

    def test_a_place_that_cannot_be_made_is_a_mistake_in_what_was_typed(self):
        before = names(self.home)
        rows = [(command, way) for command in PLACES for way in WAYS]
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            done = list(pool.map(lambda row: bash(row[0].format(row[1]), self.home), rows))
        for (command, way), one in zip(rows, done):
            with self.subTest(command=command, way=way[:20]):
                errors = [line for line in one.stderr.splitlines() if line.startswith("error: ")]
                self.assertEqual(one.returncode, 2, one.stderr)
                self.assertEqual(len(errors), 1, one.stderr)
                self.assertIn(way.split("/")[0], one.stderr)
        self.assertEqual(names(self.home), before)

    def paste(self, command, start):
        home = harness.scratch("odd-name")
        shutil.copytree(self.home, home / ODD, symlinks=True)
        line = command.replace("$D", '"$D"')
        done = bash(line, home)
        shown = done.stdout + done.stderr
        found = [QUOTED.match(shown, at.end()) for at in re.finditer(re.escape(start), shown)]
        words = [shlex.split(one.group()) for one in found if one]
        there = [path for path in ((home / word[0].partition("@")[0]) for word in words if len(word) == 1) if path.exists() or path.parent.parent.exists()]
        subprocess.run(["chmod", "-R", "u+w", str(home)], check=True)
        shutil.rmtree(home)
        return "" if there and all(found) else f"{line}: no path as one word behind \"{start}\":\n{shown[-1500:]}"

    def test_a_path_that_can_be_pasted_is_one_word(self):
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            for (command, _), wrong in zip(PASTED, pool.map(lambda row: self.paste(*row), PASTED)):
                with self.subTest(command=command):
                    self.assertEqual(wrong, "")


if __name__ == "__main__":
    unittest.main()
