"""`scripts/bench pipeline`: a measured step on two pipeline ranks beside the simulator's, for each schedule that two ranks allow.

The simulator gets what each stage's F, B, I and W take on average in the traces of the same run, without what they wait. So what it
leaves out shows: transfers and uneven times. Each rank computes with one thread and is held to a processor of its own: where two ranks
may use both, one rank's network thread waits behind the other rank's layers while a processor is free (8 % of a LoopedBFS step).
"""
import argparse
import collections
import json
import os
import pathlib
import random
import re
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCHEDULES = {"GPipe": 1, "1F1B": 1, "ZB-H1": 1, "Interleaved1F1B": 2, "LoopedBFS": 2, "InterleavedZeroBubble": 2, "ZBVZeroBubble": 2, "DualPipeV": 2}
GOAL, WARMUP, RANKS = 0.10, 2, 2
CONFIG = """
[job]
threads_per_rank = 1
[model]
dim = 384
n_layers = 8
n_heads = 6
ffn_dim = 1024
vocab_size = 1024
[training]
dataset = "tokens"
dataset_path = "{tokens}"
local_batch_size = 1
global_batch_size = {micro_batches}
seq_len = 256
[parallelism]
pipeline_parallel_degree = 2
[checkpoint]
enable = false
[profiling]
enable_profiling = true
profile_freq = 1
[debug]
seed = 1
"""


class Failed(Exception):
    pass


def call(command, **more):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, **more)
    if done.returncode != 0:
        raise Failed(f"{' '.join(map(str, command))} exits with {done.returncode}: {done.stderr.strip()[-600:]}")
    return done.stdout


class Step:
    """What the trace of one step says, in microseconds."""

    def __init__(self, path):
        spans = [event for event in json.loads(path.read_text())["traceEvents"] if event["ph"] == "X"]
        self.taken, self.apart, self.busy, begins, ends = collections.defaultdict(list), collections.Counter(), collections.Counter(), [], []
        for rank in range(RANKS):
            mine = [span for span in spans if span["pid"] == rank]
            within = [span for span in mine if span["name"] in ("wait", "exchange")]
            for span in mine:
                cell = re.fullmatch(r"(\d+)([FBIW])(\d+)", span["name"])
                if not cell:
                    if span["cat"] in ("send", "receive", "wait"):
                        self.apart[span["cat"]] += span["dur"]
                    continue
                begin, end = span["ts"], span["ts"] + span["dur"]
                waits = sum(other["dur"] for other in within if begin <= other["ts"] < end)
                self.taken[int(cell[1]), cell[2]].append(span["dur"] - waits)
                self.busy[rank] += span["dur"] - waits
                begins.append(begin)
                ends.append(end)
        self.makespan = max(ends) - min(begins)
        self.idle = 1 - sum(self.busy.values()) / (RANKS * self.makespan)


class Bench:
    def __init__(self, options):
        self.options = options
        self.bin = options.bin or ROOT / "build" / "bin"
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="titan-bench-pipeline-", dir=options.dir))
        self.config = self.folder / "run.toml"
        tokens = self.folder / "tokens.bin"
        draw = random.Random(1)
        tokens.write_bytes(b"".join(draw.randrange(1024).to_bytes(2, "little") for _ in range(1 << 18)))
        self.config.write_text(CONFIG.format(tokens=tokens, micro_batches=options.micro_batches))

    def simulated(self, flags, stages, taken):
        """(makespan, idle share) of the schedule with these mean times; its table is that of `plan`."""
        table = self.folder / "table.csv"
        table.unlink(missing_ok=True)
        call([self.bin / "titan-train", "plan", self.config, "--nproc", RANKS, f"--schedule-csv={table}", *flags])
        costs = []
        for stage in range(stages):
            forward, whole, inputs, weights = (taken.get((stage, kind), []) for kind in "FBIW")
            if inputs:  # what is more in a whole backward than in I counts like W
                weights = weights + [took - statistics.mean(inputs) for took in whole]
            else:
                inputs = whole
            costs.append(",".join(str(statistics.mean(times) if times else 0) for times in (forward, inputs, weights)))
        return tuple(map(float, call([self.bin / "titan-simulate-schedule", self.options.hop, *costs], input=table.read_text()).split()))

    def train(self, flags):
        """One process a rank, each on a processor of its own."""
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        cores = sorted(os.sched_getaffinity(0))
        shared = {"WORLD_SIZE": RANKS, "LOCAL_WORLD_SIZE": RANKS, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
        ranks = [subprocess.Popen([str(word) for word in ("taskset", "-c", cores[rank % len(cores)], self.bin / "titan-train", "run", self.config, *flags)],
                                  env=os.environ | {name: str(value) for name, value in (shared | {"RANK": rank, "LOCAL_RANK": rank}).items()},
                                  stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) for rank in range(RANKS)]
        said = [rank.communicate()[1] for rank in ranks]
        if any(rank.returncode for rank in ranks):
            raise Failed(f"titan-train exits with {[rank.returncode for rank in ranks]}: {' '.join(said)[-600:]}")

    def row(self, schedule):
        run = self.folder / "run"
        shutil.rmtree(run, ignore_errors=True)
        flags = [f"--parallelism.pipeline_parallel_schedule={schedule}", f"--training.steps={self.options.steps + WARMUP}", f"--job.dump_folder={run}"]
        self.train(flags)
        traces = sorted((run / "profile_traces").glob("step-*.json"), key=lambda path: int(path.stem.split("-")[1]))[WARMUP:]
        steps = [Step(path) for path in traces]
        whole = [json.loads(line)["time_s"] * 1e3 for line in (run / "metrics.jsonl").read_text().splitlines() if '"event"' not in line][WARMUP:]
        taken = collections.defaultdict(list)
        for step in steps:
            for key, times in step.taken.items():
                taken[key] += times
        makespan, idle = self.simulated(flags, RANKS * SCHEDULES[schedule], taken)
        measured = statistics.median(step.makespan for step in steps)
        return {"schedule": schedule, "simulated_ms": makespan / 1e3, "measured_ms": measured / 1e3, "more": measured / makespan - 1,
                "idle_simulated": idle, "idle_measured": statistics.median(step.idle for step in steps),
                "sends_ms": statistics.median(step.apart["send"] for step in steps) / 1e3, "step_ms": statistics.median(whole),
                "met": abs(measured / makespan - 1) <= GOAL}


def main(words):
    parser = argparse.ArgumentParser(prog="scripts/bench pipeline", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=10, help="measured steps of each schedule")
    parser.add_argument("--micro-batches", type=int, default=8)
    parser.add_argument("--hop", type=float, default=0, help="microseconds from one rank to the other, for the simulator")
    parser.add_argument("--schedule", action="append", choices=SCHEDULES)
    parser.add_argument("--bin", type=pathlib.Path)
    parser.add_argument("--dir")
    parser.add_argument("--json", action="store_true")
    bench = Bench(parser.parse_args(words))
    rows = []
    try:
        print(f"{'schedule':<22}{'simulated':>11}{'measured':>11}{'more':>8}{'idle sim.':>11}{'measured':>10}{'sends':>9}{'step':>10}", file=sys.stderr)
        for schedule in bench.options.schedule or SCHEDULES:
            row = bench.row(schedule)
            rows.append(row)
            print(f"{schedule:<22}{row['simulated_ms']:>8.1f} ms{row['measured_ms']:>8.1f} ms{row['more']:>+8.1%}{row['idle_simulated']:>11.1%}{row['idle_measured']:>10.1%}"
                  f"{row['sends_ms']:>6.1f} ms{row['step_ms']:>7.1f} ms  {'met' if row['met'] else 'missed'}", file=sys.stderr, flush=True)
    except Failed as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    finally:
        shutil.rmtree(bench.folder, ignore_errors=True)
    if bench.options.json:
        print(json.dumps({"schema": "titan.bench.pipeline/1", "rows": rows}))
    return 0
