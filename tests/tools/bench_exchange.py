"""`scripts/bench exchange`: what it saves to exchange gradients and weights in parts, overlapping with computing (parallelism.exchange_parts).

Two ranks in two network namespaces with one link between them, as fast as --gbit says; each computes with one thread and has two
processors, the second for the thread that exchanges. In each round one part and many take turns, and all must end with one id. Needs root.
"""
import argparse
import json
import os
import pathlib
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "e2e"))
WARMUP = 2
CONFIG = """
[job]
threads_per_rank = 1
[model]
dim = 512
n_layers = 8
n_heads = 8
ffn_dim = 1408
vocab_size = 4096
[training]
dataset = "tokens"
dataset_path = "{tokens}"
local_batch_size = 2
seq_len = 256
mixed_precision_param = "float32"
[checkpoint]
interval = 1000
[debug]
seed = 1
"""


class Failed(Exception):
    pass


def limit(network, gbit):
    """The speed of the link, both ways; 0: as it is."""
    for host, name in enumerate(network.names):
        subprocess.run(["ip", "netns", "exec", name, "tc", "qdisc", "del", "dev", "eth0", "root"], capture_output=True)
        if gbit:
            words = ["ip", "netns", "exec", name, "tc", "qdisc", "add", "dev", "eth0", "root", "tbf", "rate", f"{gbit}gbit", "burst", "256kb", "latency", "50ms"]
            done = subprocess.run(words, capture_output=True, text=True)
            if done.returncode != 0:
                raise Failed(f"{' '.join(words)}: {done.stderr.strip()}")


def train(network, args, work, config, exchange, parts):
    """(median seconds of a step, most bytes of tensors, id of the last step)"""
    run = work / f"{exchange}-{parts}"
    shutil.rmtree(run, ignore_errors=True)
    micro_batches = 2 if exchange == "late" else 8
    flags = {"job.dump_folder": run, "parallelism.exchange_parts": parts, "parallelism.gradient_exchange": exchange, "training.steps": args.steps + WARMUP,
             "training.global_batch_size": 2 * micro_batches}
    cores, processes = sorted(os.sched_getaffinity(0)), []
    for rank in range(2):
        mine = cores[rank * len(cores) // 2:(rank + 1) * len(cores) // 2][:2] or cores
        environment = {**os.environ, "RANK": str(rank), "WORLD_SIZE": "2", "LOCAL_RANK": "0", "LOCAL_WORLD_SIZE": "1", "MASTER_ADDR": "10.77.0.1", "MASTER_PORT": "29500"}
        words = network.on(rank, "taskset", "-c", ",".join(map(str, mine)), args.bin / "titan-train", "run", config, *(f"--{key}={value}" for key, value in flags.items()))
        processes.append(subprocess.Popen(words, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True))
    outputs = [process.communicate(timeout=900)[0] for process in processes]
    if any(process.returncode for process in processes):
        raise Failed(outputs[0].strip()[-800:])
    rows = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    rows = [row for row in rows if "loss" in row][WARMUP:]
    ident = re.findall(r"id=([0-9a-f]{32})", outputs[0])[-1]
    return statistics.median(row["time_s"] for row in rows), max(row["tensor_bytes"] for row in rows), ident


def main(words):
    parser = argparse.ArgumentParser(prog="scripts/bench exchange", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gbit", default="1,2,5,0", help="speeds of the link, 0 for no limit (default: 1,2,5,0)")
    parser.add_argument("--parts", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=8)
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build" / "bin")
    args = parser.parse_args(words)
    import two_hosts
    work = pathlib.Path(tempfile.mkdtemp(prefix="titan-exchange-"))
    try:
        network = two_hosts.Network(work)
    except two_hosts.CannotMake as error:
        print(f"error: two hosts cannot be made here: {error}", file=sys.stderr)
        return 2
    tokens, config = work / "tokens.bin", work / "run.toml"
    tokens.write_bytes(random.Random(1).randbytes(2 * 400_000).translate(bytes(i % 16 for i in range(256))))
    config.write_text(CONFIG.format(tokens=tokens))
    try:
        print(f"| Gbit/s | exchange | 1 part, s | {args.parts} parts, s | share | rounds | tensors, MB |")
        print("|---|---|---|---|---|---|---|")
        for gbit in map(float, args.gbit.split(",")):
            limit(network, gbit)
            for exchange in ("late", "always"):
                pairs = [[train(network, args, work, config, exchange, parts) for parts in (1, args.parts)] for _ in range(args.rounds)]
                idents = {ident for pair in pairs for _, _, ident in pair}
                if len(idents) != 1:
                    raise Failed(f"{exchange}: the ids differ: {sorted(idents)}")
                one, many = (statistics.median(pair[i][0] for pair in pairs) for i in range(2))
                shares = sorted(pair[1][0] / pair[0][0] for pair in pairs)
                memory = [statistics.median(pair[i][1] for pair in pairs) / 1e6 for i in range(2)]
                print(f"| {gbit:g} | {exchange} | {one:.2f} | {many:.2f} | {statistics.median(shares):.2f} | {shares[0]:.2f} to {shares[-1]:.2f} | {memory[0]:.0f}, {memory[1]:.0f} |", flush=True)
    except Failed as failure:
        print(f"error: {failure}", file=sys.stderr)
        return 1
    finally:
        network.remove()
        shutil.rmtree(work, ignore_errors=True)
    return 0
