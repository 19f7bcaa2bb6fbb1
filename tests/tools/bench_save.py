"""`scripts/bench save`: saves and loads of titan-train beside dd, PyTorch's distributed checkpoint, safetensors and
torch.save, in one run.

Each round runs every contestant once, in turn; figures are medians of the rounds with their least and greatest.
Everything is durable when its clock stops. Loads are cold: files are synced and dropped from the page cache before. The
ceiling of a save is the best of 1, 2 and 4 parallel `dd oflag=direct conv=fdatasync` of the same bytes, that of a load
the best of as many `dd` that read, past the cache or through it.
"""
import argparse
import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

from bench_train import ROOT, Failed, processor, run

PEER = ROOT / "tests" / "interop" / "save_speed.py"
MODEL = {"dim": 768, "layers": 14, "ffn": 2048, "vocab": 8192}  # 1.34 GB with both moments
CONFIG = """
[job]
dump_folder = "{folder}"
threads_per_rank = {threads}
[model]
dim = {dim}
n_layers = {layers}
n_heads = 12
ffn_dim = {ffn}
vocab_size = {vocab}
[lr_scheduler]
warmup_steps = 0
total_steps = 1000
[training]
dataset = "tokens"
dataset_path = "{tokens}"
local_batch_size = 1
seq_len = 16
mixed_precision_param = "float32"
[checkpoint]
interval = 1
async_mode = "disabled"
keep_latest_k = 2
[debug]
seed = 1
"""


def files_of(folder):
    return [path for path in sorted(pathlib.Path(folder).rglob("*")) if path.is_file()]


def drop(folder):
    for path in files_of(folder):
        fd = os.open(path, os.O_RDONLY)
        os.fsync(fd)
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(fd)


def together(commands):
    """Seconds until all of them have ended."""
    begin = time.perf_counter()
    for child in [subprocess.Popen(command, stderr=subprocess.DEVNULL) for command in commands]:
        if child.wait() != 0:
            raise Failed("dd failed")
    return time.perf_counter() - begin


def seconds_of(text):
    hours, minutes, seconds = text.split(":")
    return 3600 * int(hours) + 60 * int(minutes) + float(seconds)


class Bench:
    def __init__(self, options):
        self.options = options
        self.train = (options.bin or ROOT / "build" / "bin") / "titan-train"
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="titan-bench-save-", dir=options.dir))
        self.python = os.environ.get("TITAN_PYTHON", sys.executable)
        self.cores = sorted(os.sched_getaffinity(0))
        (self.folder / "tokens.bin").write_bytes(bytes(1 << 16))
        self.taken = {}  # (what, contestant) -> GB/s of each round
        self.more = {}  # (contestant, figure) -> one value per round

    def note(self, what, contestant, size, seconds):
        self.taken.setdefault((what, contestant), []).append(size / seconds / 1e9)

    def titan(self, ranks):
        """Two steps with a save after each, then a resume from cold files."""
        config, folder, name = self.folder / "run.toml", self.folder / "run", f"titan {ranks}"
        shutil.rmtree(folder, ignore_errors=True)
        config.write_text(CONFIG.format(folder=folder, tokens=self.folder / "tokens.bin", threads=self.options.threads, **MODEL))

        def start(steps, *flags):
            return run([self.train, "run", config, "--nproc", ranks, f"--training.global_batch_size={ranks}", f"--training.steps={steps}", *flags, *self.options.titan], self.cores)

        start(2)
        size = sum(path.stat().st_size for path in files_of(folder / "checkpoint" / "step-00000002"))
        rows = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
        self.note("save", name, size, statistics.median(row["seconds"] for row in rows if row.get("event") == "save_commit"))

        def resume(*flags):
            """Seconds from "loading" to the banner, and the peak; the step that the run then saves goes again."""
            _, peak = start(3, "--checkpoint.interval=1000", *flags)
            shutil.rmtree(folder / "checkpoint" / "step-00000003")
            log = (folder / "logs" / "rank-0.log").read_text()
            begin, end = (seconds_of(re.findall(rf"T([0-9:.]+)Z I r0 {word}", log)[-1]) for word in ("loading", "mesh"))
            return end - begin, peak

        drop(folder / "checkpoint")
        seconds, peak = resume()
        self.note("load", name, size, seconds)
        self.more.setdefault((name, "peak"), []).append(peak)
        if ranks > 1:
            drop(folder / "checkpoint")
            self.note("load", f"{name} as PP", size, resume(f"--parallelism.pipeline_parallel_degree={ranks}")[0])
        for path in files_of(folder / "checkpoint"):
            path.read_bytes()
        self.note("load", f"{name} warm", size, resume()[0])

    def many(self):
        """Saves one after the other, and as many dd of the same bytes: the slowest by the median of each."""
        config, folder = self.folder / "many.toml", self.folder / "many"
        config.write_text(CONFIG.format(folder=folder, tokens=self.folder / "tokens.bin", threads=self.options.threads, **MODEL))
        run([self.train, "run", config, "--training.global_batch_size=1", "--training.steps=20", *self.options.titan], self.cores)
        rows = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
        ours = [row["seconds"] for row in rows if row.get("event") == "save_commit"]
        shutil.rmtree(folder)
        path = self.folder / "dd"
        theirs = [together([["dd", "if=/dev/zero", f"of={path}", "bs=4M", "count=320", "oflag=direct", "conv=fdatasync"]]) for _ in ours]
        return len(ours), max(ours) / statistics.median(ours), max(theirs) / statistics.median(theirs)

    def peer(self, way, threads):
        name = f"{way} {threads}" if way.startswith("dcp") else way
        command = [self.python, PEER, way, self.folder / "peer", "--threads", threads, "--times", 1, "--load", *(word for key, value in MODEL.items() for word in (f"--{key}", value))]
        for line in run(command, self.cores)[0].splitlines():
            answer = json.loads(line)
            if "load" in answer:
                self.note("load", name, answer["bytes"], answer["load"])
            else:
                self.note("save", name, answer["bytes"], answer["seconds"])
            if "stall" in answer:
                self.more.setdefault((name, "stall"), []).append(answer["stall"])

    def ceilings(self):
        blocks, best = 328, {"save": 0.0, "load": 0.0}  # of 4 MiB: 1.38 GB
        for streams in (1, 2, 4):
            paths = [self.folder / f"dd-{i}" for i in range(streams)]
            size = blocks // streams * streams * (4 << 20)
            count = f"count={blocks // streams}"
            wrote = together([["dd", "if=/dev/zero", f"of={path}", "bs=4M", count, "oflag=direct", "conv=fdatasync"] for path in paths])
            best["save"] = max(best["save"], size / wrote / 1e9)
            for flags in (["iflag=direct"], []):
                drop(self.folder)
                read = together([["dd", f"if={path}", "of=/dev/null", "bs=4M", *flags] for path in paths])
                best["load"] = max(best["load"], size / read / 1e9)
            for path in paths:
                path.unlink()
        for what, speed in best.items():
            self.taken.setdefault((what, "ceiling"), []).append(speed)

    def measure(self):
        try:
            for round_ in range(self.options.runs):
                self.ceilings()
                for ranks in map(int, self.options.ranks.split(",")):
                    self.titan(ranks)
                for way, threads in (("dcp", 1), ("dcp", 2), ("dcp-async", 2), ("safetensors", 2), ("torch.save", 2), ("memcpy", 2)):
                    self.peer(way, threads)
                print(f"round {round_ + 1} of {self.options.runs}", file=sys.stderr)
            self.slowest = self.many()
        finally:
            shutil.rmtree(self.folder, ignore_errors=True)

    def lines(self):
        for what in ("save", "load"):
            yield f"{what:<16} {'GB/s':>6} {'least':>6} {'most':>6}  of the ceiling, of the best DCP of its round (rounds that win)"
            dcp = [max(speeds) for speeds in zip(self.taken[what, "dcp 1"], self.taken[what, "dcp 2"])]
            for (which, name), speeds in self.taken.items():
                if which != what:
                    continue
                share = statistics.median(a / b for a, b in zip(speeds, self.taken[what, "ceiling"]))
                over = [a / b for a, b in zip(speeds, dcp)]
                yield (f"  {name:<14} {statistics.median(speeds):6.2f} {min(speeds):6.2f} {max(speeds):6.2f}  {share:14.2f}  {statistics.median(over):.2f} "
                       f"({sum(x > 1 for x in over)} of {len(over)})")
        yield "slowest of {} saves by their median: titan 1 {:.2f}, dd {:.2f}".format(*self.slowest)
        for (name, figure), values in self.more.items():
            value = statistics.median(values)
            yield f"{name}, {figure}: " + (f"{value / 2**20:.0f} MiB" if figure == "peak" else f"{value:.3f} s")


def main(words):
    parser = argparse.ArgumentParser(prog="bench save", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=9, help="rounds")
    parser.add_argument("--ranks", default="1,2,4", help="data-parallel ranks that write")
    parser.add_argument("--threads", type=int, default=2, help="compute threads of a rank")
    parser.add_argument("--titan", action="append", default=[], metavar="--KEY=VALUE", help="one more setting of titan-train")
    parser.add_argument("--bin", type=pathlib.Path, help="folder with titan-train")
    parser.add_argument("--dir", type=pathlib.Path, help="where checkpoints are made: 6 GB")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(words)
    if options.runs < 1:
        parser.error("--runs is 1 or more")
    bench = Bench(options)
    vendor, name = processor()
    bench.measure()
    print(f"{vendor}, {name}, {len(bench.cores)} cores, load {os.getloadavg()[0]:.1f}, medians of {options.runs} rounds, 1.34 GB of state")
    print("\n".join(bench.lines()))
    if options.json:
        print(json.dumps({"schema": "titan.bench/1", "vendor": vendor, "processor": name, "rows": [{"what": what, "name": who, "gb_per_s": speeds} for (what, who), speeds in bench.taken.items()]}))
    return 0
