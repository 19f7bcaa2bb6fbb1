"""`scripts/bench train`: titan-train beside PyTorch on the same model, in one run.

Each round runs every contestant once, in turn, on the same processors; a figure is the median of the rounds, and a
round's figure the median of its steps after the first ones. So what other work on the machine costs, it costs all.
"""
import argparse
import json
import os
import pathlib
import random
import shutil
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
EAGER = ROOT / "tests" / "interop" / "eager_train.py"
# name: layers, dim, heads, ffn, vocabulary, tokens per row, rows per micro-batch
SIZES = {"0.9M": (4, 128, 4, 352, 256, 128, 8), "7M": (6, 256, 8, 704, 4096, 256, 4), "50M": (5, 768, 12, 2048, 8192, 256, 2)}
MICRO_BATCHES, WARMUP = 2, 3
GOALS = {"AuthenticAMD": {"fp32": 1.3, "bf16": 1.05}, "GenuineIntel": {"fp32": 1.0, "bf16": 1.05}}
CONFIG = """
[model]
dim = {dim}
n_layers = {layers}
n_heads = {heads}
ffn_dim = {ffn}
vocab_size = {vocab}
[optimizer]
lr = 1e-3
[lr_scheduler]
warmup_steps = 0
[training]
dataset = "tokens"
dataset_path = "{tokens}"
local_batch_size = {rows}
seq_len = {seq}
[checkpoint]
enable = false
[metrics]
log_freq = 1000000
[debug]
seed = 1
"""


class Failed(Exception):
    pass


def processor():
    """(vendor, model name) of this machine."""
    facts = dict(line.split(":", 1) for line in pathlib.Path("/proc/cpuinfo").read_text().split("\n\n")[0].splitlines() if ":" in line)
    facts = {name.strip(): value.strip() for name, value in facts.items()}
    return facts.get("vendor_id", "unknown"), facts.get("model name", "unknown")


def run(command, cores):
    """Runs on `cores`; returns (stdout, peak resident bytes of the process or of its largest child)."""
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        child = subprocess.Popen(["taskset", "-c", ",".join(map(str, cores)), *map(str, command)], stdout=out, stderr=err)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        if child.returncode != 0:
            raise Failed(f"{command[0]} exits with {child.returncode}: {err.read().strip()[-600:]}")
        return out.read(), usage.ru_maxrss * 1024


class Bench:
    def __init__(self, options):
        self.options = options
        self.train = (options.bin or ROOT / "build" / "bin") / "titan-train"
        self.python = os.environ.get("TITAN_PYTHON", sys.executable)
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="titan-bench-train-", dir=options.dir))
        self.cores = sorted(os.sched_getaffinity(0))

    def tokens(self, size):
        layers, dim, heads, ffn, vocab, seq, rows = SIZES[size]
        path = self.folder / f"{vocab}.bin"
        if not path.exists():
            draw = random.Random(1)
            path.write_bytes(b"".join(draw.randrange(vocab).to_bytes(2, "little") for _ in range(1 << 20)))
        return path

    def titan(self, size, dtype, threads, ranks=1, micro_batches=MICRO_BATCHES):
        """(median seconds of a step, peak bytes, the metrics rows)"""
        layers, dim, heads, ffn, vocab, seq, rows = SIZES[size]
        config, folder = self.folder / "run.toml", self.folder / "run"
        shutil.rmtree(folder, ignore_errors=True)
        config.write_text(CONFIG.format(dim=dim, layers=layers, heads=heads, ffn=ffn, vocab=vocab, seq=seq, rows=rows, tokens=self.tokens(size)))
        command = [self.train, "run", config, f"--job.dump_folder={folder}", f"--job.threads_per_rank={threads}", f"--training.steps={self.options.steps}",
                   f"--training.global_batch_size={rows * micro_batches}", f"--training.mixed_precision_param={'float32' if dtype == 'fp32' else 'bfloat16'}",
                   "--nproc", ranks, f"--parallelism.pipeline_parallel_degree={ranks}", *self.options.titan]
        _, peak = run(command, self.cores[: threads * ranks])
        rows_of = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
        steps = [row for row in rows_of if "loss" in row][WARMUP:]
        return statistics.median(row["time_s"] for row in steps), peak, steps

    def eager(self, size, dtype, threads, compiled=False):
        layers, dim, heads, ffn, vocab, seq, rows = SIZES[size]
        names = {"dim": dim, "layers": layers, "heads": heads, "ffn": ffn, "vocab": vocab, "seq": seq, "rows": rows, "micro-batches": MICRO_BATCHES, "steps": self.options.steps, "threads": threads}
        command = [self.python, EAGER, "--tokens", self.tokens(size), "--dtype", dtype, *(word for name, value in names.items() for word in (f"--{name}", value)), *(["--compile"] if compiled else [])]
        answer = json.loads(run(command, self.cores[:threads])[0].splitlines()[-1])
        return statistics.median(answer["seconds"][WARMUP:]), answer["peak"]

    def contestants(self, size, dtype, threads):
        """name -> a function that runs it once and returns (seconds, peak, ...)"""
        forms = ["fp32"] if dtype == "fp32" else ["autocast", "copies"]
        answer = {"titan": lambda: self.titan(size, dtype, threads)}
        for form in forms:
            answer[form] = lambda form=form: self.eager(size, form, threads)
        if self.options.compile:
            answer["compiled"] = lambda: self.eager(size, forms[0], threads, compiled=True)
        return answer

    def row(self, size, dtype, threads):
        layers, dim, heads, ffn, vocab, seq, rows = SIZES[size]
        taken = {name: [] for name in self.contestants(size, dtype, threads)}
        failed = {}
        for _ in range(self.options.runs):
            for name, once in self.contestants(size, dtype, threads).items():
                if name in failed:
                    continue
                try:
                    taken[name].append(once())
                except Failed as error:
                    if name != "compiled":
                        raise
                    failed[name] = str(error)
        seconds = {name: statistics.median(run[0] for run in runs) for name, runs in taken.items() if runs}
        peaks = {name: statistics.median(run[1] for run in runs) for name, runs in taken.items() if runs}
        fastest = min((name for name in seconds if name not in ("titan", "compiled")), key=seconds.get)
        tokens = MICRO_BATCHES * rows * seq
        last = taken["titan"][-1][2]
        split = {name: statistics.median(step[name] for step in last) for name in ("forward_s", "backward_s", "pipeline_s", "exchange_s", "optimizer_s", "gather_s") if name in last[0]}
        return {"size": size, "dtype": dtype, "threads": threads, "titan_tokens_per_s": tokens / seconds["titan"], "eager_tokens_per_s": tokens / seconds[fastest], "eager_form": fastest,
                "ratio": seconds[fastest] / seconds["titan"], "ratio_compiled": seconds["compiled"] / seconds["titan"] if "compiled" in seconds else None,
                "compiled_failed": failed.get("compiled"), "titan_peak": peaks["titan"], "eager_peak": peaks[fastest], "split": split,
                "goal": GOALS.get(processor()[0], {}).get(dtype)}

    def pipeline(self, size, micro_batches=8):
        """A pipeline of two ranks on two processors, beside one rank on one: measured and simulated."""
        runs = [(self.titan(size, "fp32", 1, 1, micro_batches)[0], self.titan(size, "fp32", 1, 2, micro_batches)[0]) for _ in range(self.options.runs)]
        plan = subprocess.run([self.train, "plan", self.folder / "run.toml", f"--job.dump_folder={self.folder}/none", "--training.steps=5", "--nproc", "2", "--parallelism.pipeline_parallel_degree=2",
                               f"--training.global_batch_size={SIZES[size][-1] * micro_batches}", "--json"], capture_output=True, text=True, check=True)
        one, two = (statistics.median(column) for column in zip(*runs))
        return {"size": size, "micro_batches": micro_batches, "speedup": one / two, "simulated": 2 * (1 - json.loads(plan.stdout)["pipeline"]["bubble"])}

    def measure(self):
        try:
            rows = []
            for size in self.options.sizes.split(","):
                for dtype in self.options.dtypes.split(","):
                    for threads in map(int, self.options.threads.split(",")):
                        rows.append(self.row(size, dtype, threads))
                        print(text_of(rows[-1]), flush=True)
            pipes = [self.pipeline(size) for size in self.options.sizes.split(",")] if len(self.cores) > 1 else []
            return rows, pipes
        finally:
            shutil.rmtree(self.folder, ignore_errors=True)


def text_of(row):
    compiled = f"{row['ratio_compiled']:8.2f}" if row["ratio_compiled"] else " not run"
    goal = "" if row["goal"] is None else f"  {'met' if row['ratio'] >= row['goal'] else 'MISSED'} {row['goal']}"
    split = "  ".join(f"{name[:-2]} {1000 * value:.1f}" for name, value in row["split"].items())
    return (f"{row['size']:>5} {row['dtype']} {row['threads']:>7} {row['titan_tokens_per_s']:>9,.0f} {row['eager_tokens_per_s']:>9,.0f} {row['eager_form']:>8} {row['ratio']:6.2f} {compiled} "
            f"{row['titan_peak'] / 2**20:>6.0f} {row['eager_peak'] / 2**20:>6.0f}{goal}" + (f"\n      ms a step: {split}" if split else ""))


def parsed(words):
    parser = argparse.ArgumentParser(prog="bench train", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default=",".join(SIZES), help="models, of " + ", ".join(SIZES))
    parser.add_argument("--dtypes", default="fp32,bf16", help="compute dtypes")
    parser.add_argument("--threads", default="1,2", help="threads of a run")
    parser.add_argument("--runs", type=int, default=5, help="rounds")
    parser.add_argument("--steps", type=int, default=13, help=f"steps of a run; the first {WARMUP} are not counted")
    parser.add_argument("--compile", action="store_true", help="torch.compile as well")
    parser.add_argument("--titan", action="append", default=[], metavar="--KEY=VALUE", help="one more setting of titan-train")
    parser.add_argument("--bin", type=pathlib.Path, help="folder with titan-train")
    parser.add_argument("--dir", type=pathlib.Path, help="where runs are made")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(words)
    if options.runs < 1 or options.steps <= WARMUP:
        parser.error(f"--runs is 1 or more; --steps is more than {WARMUP}")
    if max(map(int, options.threads.split(","))) > len(os.sched_getaffinity(0)):
        parser.error(f"--threads {options.threads}: this process may use {len(os.sched_getaffinity(0))} processors")
    return options


def main(words):
    options = parsed(words)
    vendor, name = processor()
    print(f"{vendor}, {name}, medians of {options.runs} rounds of {options.steps} steps, load {os.getloadavg()[0]:.1f}; the other vendor: not run\n")
    print("                    titan   PyTorch                      ratio to   peak MiB\n size dtype threads   tok/s   tok/s     form  ratio compiled  titan  PyTorch")
    rows, pipes = Bench(options).measure()
    for pipe in pipes:
        print(f"{pipe['size']:>5} pipeline of 2 on 2 processors, {pipe['micro_batches']} micro-batches: {pipe['speedup']:.2f} times one rank on one; simulated {pipe['simulated']:.2f}")
    for reason in {row["compiled_failed"] for row in rows} - {None}:
        print(f"torch.compile was not run: {reason}")
    if options.json:
        print(json.dumps({"schema": "titan.bench/1", "vendor": vendor, "processor": name, "rows": rows, "pipelines": pipes}))
    return 1 if any(row["goal"] is not None and row["ratio"] < row["goal"] for row in rows) else 0
