"""scripts/bench verbs: merge, scrub, sign, repair, du, patch and apply beside reading or copying the same bytes, each pair in turn.

    scripts/bench verbs [--size 10G] [--runs 3] [--part checkpoints|one|exports] [--bin FOLDER] [--dir FOLDER] [--json]

--size is what a verb reads in all: four checkpoints of a quarter each, two exports of a third each and what `apply` makes of the first, or (--part one) a
single checkpoint for sign and repair. Sources are
not in memory, for `cat` and `cp` as little as for the verbs. Needs 1.3 times --size of disk below --dir, and gives it back. Values of the exports are
made up: bf16, with the differences that four steps of Adam at 1e-6 leave in weights of deviation 0.02.
"""
import argparse
import json
import os
import pathlib
import shutil
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader

ROOT = pathlib.Path(__file__).resolve().parents[2]
VENV = ROOT / ".deps" / "venv" / "bin" / "python"
STEPS = (10, 20, 30, 40)
PART = 1 << 24  # numbers of a part of an export


def the_bench():
    loader = SourceFileLoader("bench", str(ROOT / "scripts" / "bench"))
    module = module_from_spec(spec_from_loader("bench", loader))
    loader.exec_module(module)
    return module


def read(folder):
    """Seconds that cat takes for all files of a folder."""
    begin = time.perf_counter()
    with open(os.devnull, "wb") as null:
        subprocess.run(["cat", *map(str, sorted(path for path in pathlib.Path(folder).rglob("*") if path.is_file()))], stdout=null, check=True)
    return time.perf_counter() - begin


def make_exports(folder, size):
    """Two exports of `size` bytes each, the second a few steps of 1e-6 behind the first."""
    import numpy  # of the test environment

    dice = numpy.random.default_rng(1)

    def bf16(values):
        bits = values.view(numpy.uint32)
        return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(numpy.uint16)

    masters = dice.normal(0, 0.02, PART).astype(numpy.float32)
    first = dice.choice(numpy.array([-1, 1], numpy.float32), PART)  # the sign of a gradient mostly stays
    moved = masters + numpy.float32(1e-6) * sum(numpy.where(dice.random(PART, numpy.float32) < 0.85, first, -first) for _ in range(4))
    parts = max(size // (2 * PART), 1)
    header, at = {}, 0
    for i in range(parts):
        header[f"layers.{i}.weight"] = {"dtype": "BF16", "shape": [PART], "data_offsets": [at, at + 2 * PART]}
        at += 2 * PART
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    for name, values in (("a", bf16(masters)), ("b", bf16(moved))):
        (folder / name).mkdir()
        with open(folder / name / "model.safetensors", "wb") as out:
            out.write(struct.pack("<Q", len(text)) + text)
            for i in range(parts):
                out.write(numpy.roll(values, 1000 * i).tobytes())


class Verbs:
    def __init__(self, options):
        self.bench, self.options = the_bench(), options
        self.base = self.bench.Bench(options)
        self.ckpt, self.folder = self.base.ckpt, self.base.folder

    def beside(self, name, folder, command, goal=None, reference=read, what="cat", bound=64, clean=lambda: None):
        """The verb and what it is compared with, in turn; both find nothing in memory."""
        done, others, size = [], [], self.bench.bytes_of(folder)
        for _ in range(self.options.runs):
            self.bench.drop(folder)
            others.append(reference(folder))
            clean()
            self.bench.drop(folder)
            done.append(self.bench.Measured(list(map(str, command))))
        wall, other, cpu = (statistics.median(values) for values in ([run.wall for run in done], others, [run.cpu for run in done]))
        self.base.row(f"{name}, share of the speed of {what}", other / wall, "", goal,
                      detail=f"{self.bench.size_text(size)}: {wall:.2f} s against {other:.2f} s, {size / cpu / 1e9:.2f} GB per second of processor time")
        self.base.row(f"{name}, peak memory", max(run.memory for run in done) / 2**20, "MiB", bound, False)

    def per_core(self, name, size, command, clean, sources):
        """Bytes of the target by processor time, where all sources are in memory: the rest is the disk's."""
        for source in sources:
            read(source)
        runs = []
        for _ in range(self.options.runs):
            clean()
            runs.append(self.bench.Measured(list(map(str, command))))
        self.base.per_core(f"{name}, from memory, bytes of the target per core", runs, 1, size)

    def checkpoints(self):
        run, quarter = self.folder / "run", self.options.bytes // 4
        for step in STEPS:
            self.bench.Measured([self.base.make, str(run / "checkpoint"), f"step={step}", f"seed={step}", "slots=none", "--size", str(quarter), "--dp", "4", "--pp", "2"])
        dst = self.folder / "dst"
        gone = lambda: shutil.rmtree(dst, ignore_errors=True)
        self.beside("merge of four", run / "checkpoint", [self.ckpt, "merge", f"{run}@10..40", "-o", dst], 0.7, clean=gone)
        gone()
        self.beside("scrub", run, [self.ckpt, "scrub", run], clean=lambda: [path.unlink() for path in run.glob("scrub.*")])
        self.timed("du", [self.ckpt, "du", run])
        self.signed(run / "checkpoint" / "step-00000010")
        self.repaired(run / "checkpoint" / "step-00000010", dst, gone)
        shutil.rmtree(run)

    def one(self):
        folder = self.folder / "one"
        self.bench.Measured([self.base.make, str(folder), "step=10", "slots=none", "--size", str(self.options.bytes), "--dp", "4", "--pp", "2"])
        step, dst = folder / "step-00000010", self.folder / "dst"
        self.signed(step)
        self.repaired(step, dst, lambda: shutil.rmtree(dst, ignore_errors=True))
        shutil.rmtree(folder)

    def timed(self, name, command):
        runs = [self.bench.Measured(list(map(str, command))) for _ in range(10 * self.options.runs)]
        self.base.row(name, statistics.median(run.wall for run in runs) * 1e3, "ms")

    def signed(self, step):
        key, public = self.folder / "key.pem", self.folder / "pub.pem"
        subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-out", key], check=True)
        subprocess.run(["openssl", "pkey", "-in", key, "-pubout", "-out", public], check=True)
        self.beside("sign", step, [self.ckpt, "sign", step, "--key", key, "--force"])
        self.beside("verify --key", step, [self.ckpt, "verify", step, "--key", public])
        (step / "signature.json").unlink()

    def repaired(self, step, dst, gone):
        """One byte of a shard is wrong, and another folder has it right."""
        bad = self.folder / "bad"
        subprocess.run(["cp", "-rl", step, bad], check=True)
        shard = max(bad.glob("model/shard-*.h5"), key=lambda path: path.stat().st_size)
        shutil.copyfile(shard, self.folder / "shard")
        shard.unlink()
        (self.folder / "shard").rename(shard)
        with open(shard, "r+b") as out:
            out.seek(shard.stat().st_size // 2)
            byte = out.read(1)[0]
            out.seek(-1, os.SEEK_CUR)
            out.write(bytes([byte ^ 1]))
        self.beside("repair of one leaf from a donor", bad, [self.ckpt, "verify", bad, "--repair", "--from", step, "-o", dst], clean=gone)
        gone()
        shutil.rmtree(bad)

    def exports(self):
        # In a process of its own: a child's peak of memory begins with that of the process that it was made from.
        subprocess.run([VENV if VENV.exists() else sys.executable, __file__, self.folder, str(self.options.bytes // 3)], check=True)
        a, b, patch, out = (self.folder / name for name in ("a", "b", "p", "out"))
        size = self.bench.bytes_of(b)
        both = lambda _: read(a) + read(b)
        cold = lambda: (patch.unlink(missing_ok=True), self.bench.drop(b))
        self.beside("patch", a, [self.ckpt, "patch", a, b, "-o", patch], reference=both, what="cat of both", clean=cold)
        self.per_core("patch", size, [self.ckpt, "patch", a, b, "-o", patch], lambda: patch.unlink(missing_ok=True), (a, b))
        self.base.row("patch, share of the target's bytes", patch.stat().st_size / size, "", 0.05, False)

        def copy(folder):
            begin = time.perf_counter()
            subprocess.run(["cp", "-r", folder, out], check=True)
            self.bench.fsync_tree(out)
            return time.perf_counter() - begin

        gone = lambda: shutil.rmtree(out, ignore_errors=True)
        self.beside("apply", a, [self.ckpt, "apply", a, patch, "-o", out], reference=lambda folder: (gone(), copy(folder))[1], what="cp -r + fsync", clean=gone)
        self.per_core("apply", size, [self.ckpt, "apply", a, patch, "-o", out], gone, (a,))
        if subprocess.run(["cmp", b / "model.safetensors", out / "model.safetensors"]).returncode != 0:
            raise self.bench.Failed("the target is another")


def main(words):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", default="10G", help="what a verb reads: 800M, 2G, 10G")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build" / "bin")
    parser.add_argument("--dir", type=pathlib.Path, default=pathlib.Path(tempfile.gettempdir()))
    parser.add_argument("--part", choices=["checkpoints", "one", "exports"], help="that one alone")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(words)
    options.bytes = int(float(options.size[:-1]) * {"M": 1e6, "G": 1e9}[options.size[-1]])
    verbs = Verbs(options)
    try:
        for part in [part for part in (verbs.checkpoints, verbs.one, verbs.exports) if options.part == part.__name__ or (options.part is None and part != verbs.one)]:
            try:
                part()
            except (verbs.bench.Failed, OSError, subprocess.CalledProcessError) as error:
                verbs.base.failed(part.__name__, error)
    finally:
        shutil.rmtree(verbs.folder, ignore_errors=True)
    rows = verbs.base.rows
    if options.json:
        print(json.dumps({"schema": "titan.bench/1", "size": options.size, "runs": options.runs, "cores": os.cpu_count(), "rows": rows}))
    else:
        print(f"{options.size}, medians of {options.runs} runs or more, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}\n")
        verbs.bench.print_rows(rows)
    return 1 if any(row["value"] is None for row in rows) else 0


if __name__ == "__main__":
    make_exports(pathlib.Path(sys.argv[1]), int(sys.argv[2]))
