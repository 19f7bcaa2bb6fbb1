#!/usr/bin/env python3
"""torchtitan_resume.py --python PYTHON: torchtitan 0.2.2 itself resumes from a directory that titan-ckpt wrote.

PYTHON is that of an environment with torch 2.11 and torchtitan==0.2.2 (a scratch one: pip install torchtitan==0.2.2 beside torch).
torchtitan trains 20 steps on 2 ranks (FSDP; with --tp 2 on 4, FSDP x TP) and saves at step 10. That checkpoint becomes one of ours
(with torchtitan's configuration) and a DCP directory again; `diff` finds all three equal, a wrong training.steps is refused (13), and
torchtitan goes on from ours on the same batches: the ten losses agree with its own to 1e-5, learning rates and tokens are the same.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy

HERE = pathlib.Path(__file__).resolve().parent
BIN = pathlib.Path(os.environ.get("TITAN_BIN", HERE.parents[1] / "build" / "bin"))
CONFIG = """
[model]
name = "llama3"
flavor = "tiny"
n_heads = 4
[optimizer]
lr = 0.001
implementation = "for-loop"
[lr_scheduler]
warmup_steps = 3
decay_type = "cosine"
min_lr_factor = 0.1
[training]
local_batch_size = 2
seq_len = 16
steps = 20
mixed_precision_param = "float32"
[parallelism]
data_parallel_shard_degree = 2
[metrics]
log_freq = 1
[checkpoint]
enable = true
interval = 10
keep_latest_k = 0
[activation_checkpoint]
mode = "none"
[debug]
seed = 3
"""


def check(condition, message):
    if not condition:
        sys.exit(f"error: {message}")


def train(options, work, name, tokens, *extra):
    config = work / "torchtitan.toml"
    config.write_text(CONFIG.replace("n_heads = 4\n", ""))  # ours alone
    losses = work / f"{name}.jsonl"
    command = [options.python, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(2 * options.tp), HERE / "torchtitan_cpu.py", config,
               "--tokens", tokens, "--losses", losses, f"--job.dump_folder={work / name}", f"--parallelism.tensor_parallel_degree={options.tp}", *extra]
    done = subprocess.run(command, cwd=work, capture_output=True, text=True)
    check(done.returncode == 0, f"torchtitan: {done.stderr[-3000:]}")
    return {row["step"]: row for row in map(json.loads, losses.read_text().splitlines())}


def convert(*arguments, expected=0):
    done = subprocess.run([BIN / "titan-ckpt", "convert", *arguments], capture_output=True, text=True)
    check(done.returncode == expected, f"convert {arguments}: {done.returncode} {done.stdout} {done.stderr}")
    return done.stderr


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--python", required=True)
    parser.add_argument("--tp", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        tokens = numpy.random.default_rng(1).integers(0, 131, size=(20, 4, 17)).astype("u2")
        tokens.tofile(work / "all.u16")
        tokens[10:].tofile(work / "tail.u16")
        theirs = train(options, work, "theirs", work / "all.u16")
        source = work / "theirs" / "checkpoint" / "step-10"

        ours = work / "run" / "checkpoint" / "step-00000010"
        ours.parent.mkdir(parents=True)
        config = work / "titan.toml"
        config.write_text(CONFIG.replace("steps = 20", "steps = 21"))
        message = convert(source, ours, "--to", "titan", "--config", config, expected=13)
        check("lr(11)" in message, f"a wrong total: {message}")
        config.write_text(CONFIG)
        convert(source, ours, "--to", "titan", "--config", config)
        back = work / "back" / "checkpoint" / "step-10"
        back.parent.mkdir(parents=True)
        convert(ours, back, "--to", "dcp", "--config", config)
        for pair in ((source, ours), (ours, back)):
            done = subprocess.run([BIN / "titan-ckpt", "diff", *pair], capture_output=True, text=True)
            check(done.returncode == 0, f"diff {pair}: {done.stdout} {done.stderr}")

        resumed = train(options, work, "back", work / "tail.u16", "--checkpoint.exclude_from_loading=dataloader")
        check(sorted(resumed) == list(range(11, 21)), f"it trained the steps {sorted(resumed)}")
        worst = max(abs(resumed[step]["loss"] - theirs[step]["loss"]) for step in resumed)
        check(worst <= 1e-5, f"losses differ by {worst}")
        for step, row in resumed.items():
            check((row["lr"], row["tokens"]) == (theirs[step]["lr"], theirs[step]["tokens"]), f"step {step}: {row} and {theirs[step]}")
        print(f"torchtitan goes on from ours: ten losses within {worst:.1e}, learning rates and tokens equal")


if __name__ == "__main__":
    main()
