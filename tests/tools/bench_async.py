"""`scripts/bench async`: what saves beside training cost it, in one run.

For each model the same run without saves, with a save every few steps that training waits for, with as many that are written
beside it, and with one after the other ("continuous"). Each round runs every contestant once, in turn. A figure is a median
of the rounds: tokens/s from the end of the 5th step to the end of the last but one, and what the saves themselves say. The
last model has steps so short that all of its state is staged: the time for which training stands still, beside a copy
of the same bytes in memory by as many threads.
"""
import argparse
import datetime
import json
import os
import pathlib
import resource
import shutil
import statistics
import sys
import tempfile

from bench_save import CONFIG, PEER
from bench_train import ROOT, Failed, processor, run

# name: dim, layers, heads, ffn, vocabulary, tokens of a sequence, steps, steps between two saves
MODELS = {
    "1.34 GB": (768, 14, 12, 2048, 8192, 256, 36, 10),
    "7M": (256, 6, 8, 704, 4096, 64, 66, 10),
    "short steps": (512, 1, 8, 1408, 16384, 16, 42, 10),
}
FIRST = 5  # steps that are not counted
WAYS = {"no saves": None, "sync": "disabled", "async": "async", "continuous": "async"}


def moment(row):
    return datetime.datetime.fromisoformat(row["time"].replace("Z", "+00:00")).timestamp()


def core_seconds():
    """Of all children that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


class Bench:
    def __init__(self, options):
        self.options = options
        self.train = (options.bin or ROOT / "build" / "bin") / "titan-train"
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="titan-bench-async-", dir=options.dir))
        self.python = os.environ.get("TITAN_PYTHON", sys.executable)
        self.cores = sorted(os.sched_getaffinity(0))
        (self.folder / "tokens.bin").write_bytes(bytes(1 << 20))
        self.taken = {}  # (model, way, figure) -> one value per round

    def note(self, model, way, **figures):
        for figure, value in figures.items():
            self.taken.setdefault((model, way, figure), []).append(value)

    def titan(self, name, way):
        dim, layers, heads, ffn, vocab, seq, steps, every = MODELS[name]
        config, folder = self.folder / "run.toml", self.folder / "run"
        shutil.rmtree(folder, ignore_errors=True)
        config.write_text(CONFIG.format(folder=folder, tokens=self.folder / "tokens.bin", threads=self.options.threads, dim=dim, layers=layers, ffn=ffn, vocab=vocab))
        interval = {"no saves": str(10 * steps), "continuous": '"continuous"'}.get(way, str(every))
        more = [f"--checkpoint.async_mode={WAYS[way]}"] if WAYS[way] else ["--checkpoint.enable=false"]
        before = core_seconds()
        run([self.train, "run", config, f"--model.n_heads={heads}", f"--training.seq_len={seq}", "--training.global_batch_size=1", f"--training.steps={steps}",
             f"--checkpoint.interval={interval}", f"--checkpoint.staging_bytes={2 << 30}", *more, *self.options.titan], self.cores)
        self.note(name, way, cpu=core_seconds() - before)
        rows = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
        ends = {row["step"]: moment(row) for row in rows if "loss" in row}
        self.note(name, way, tokens=seq * (steps - 1 - FIRST) / (ends[steps - 1] - ends[FIRST]), step=statistics.median(row["time_s"] for row in rows if "loss" in row and row["step"] > FIRST))
        saves = [row for row in rows if row.get("event") == "save_commit" and row["step"] < steps]
        if saves:
            self.note(name, way, saves=len(saves), durable=max(row["durable_s"] for row in saves), stall=statistics.median(row["stall_s"] for row in saves[1:] or saves),
                      bytes=saves[0]["bytes"])
        shutil.rmtree(folder)

    def memcpy(self, name):
        dim, layers, _, ffn, vocab, *_ = MODELS[name]
        shape = {"dim": dim, "layers": layers, "ffn": ffn, "vocab": vocab}
        words = (word for key, value in shape.items() for word in (f"--{key}", value))
        answers = run([self.python, PEER, "memcpy", self.folder / "peer", "--threads", self.options.threads, "--times", 5, *words], self.cores)[0].splitlines()
        self.note(name, "memcpy", stall=statistics.median(json.loads(line)["seconds"] for line in answers[1:]))

    def measure(self):
        try:
            for round_ in range(self.options.runs):
                for name in self.options.models.split(","):
                    for way in WAYS:
                        self.titan(name, way)
                    self.memcpy(name)
                print(f"round {round_ + 1} of {self.options.runs}", file=sys.stderr)
        finally:
            shutil.rmtree(self.folder, ignore_errors=True)

    def lines(self):
        for name in self.options.models.split(","):
            bare = self.taken[name, "no saves", "tokens"]
            yield f"{name}: steps of {statistics.median(self.taken[name, 'no saves', 'step']):.3f} s without saves, {statistics.median(self.taken[name, 'async', 'bytes']) / 1e9:.2f} GB a save"
            for way in WAYS:
                def of(figure):
                    return self.taken.get((name, way, figure), [])
                shares = [with_ / without for with_, without in zip(of("tokens"), bare)]
                line = f"  {way:<11} {statistics.median(of('tokens')):8.1f} tokens/s, share {statistics.median(shares):.3f} ({min(shares):.3f} to {max(shares):.3f})"
                if of("saves"):
                    line += f", {statistics.median(of('saves')):.0f} saves, stall {statistics.median(of('stall')):.3f} s, longest due to durable {statistics.median(of('durable')):.2f} s"
                yield line
            written = [bytes_ * (saves + 1) / 1e9 for bytes_, saves in zip(self.taken[name, "async", "bytes"], self.taken[name, "async", "saves"])]
            spent = [(with_ - without) / size for with_, without, size in zip(self.taken[name, "async", "cpu"], self.taken[name, "no saves", "cpu"], written)]
            yield f"  core-seconds per GB of the saver: {statistics.median(spent):.2f} ({min(spent):.2f} to {max(spent):.2f})"
            copies = self.taken[name, "memcpy", "stall"]
            ratios = [stall / copy for stall, copy in zip(self.taken[name, "async", "stall"], copies)]
            yield f"  copy of the state in memory: {statistics.median(copies):.3f} s; stall of an asynchronous save by it: {statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"


def main(words):
    parser = argparse.ArgumentParser(prog="bench async", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=5, help="rounds")
    parser.add_argument("--models", default=",".join(MODELS), help=f"of {', '.join(MODELS)}")
    parser.add_argument("--threads", type=int, default=2, help="compute threads")
    parser.add_argument("--titan", action="append", default=[], metavar="--KEY=VALUE", help="one more setting of titan-train")
    parser.add_argument("--bin", type=pathlib.Path, help="folder with titan-train")
    parser.add_argument("--dir", type=pathlib.Path, help="where checkpoints are made: 6 GB")
    options = parser.parse_args(words)
    if options.runs < 1 or not set(options.models.split(",")) <= set(MODELS):
        parser.error(f"--runs is 1 or more; --models are of {', '.join(MODELS)}")
    bench = Bench(options)
    vendor, name = processor()
    bench.measure()
    print(f"{vendor}, {name}, {len(bench.cores)} cores, load {os.getloadavg()[0]:.1f}, medians of {options.runs} rounds, {options.threads} threads")
    print("\n".join(bench.lines()))
    return 0
