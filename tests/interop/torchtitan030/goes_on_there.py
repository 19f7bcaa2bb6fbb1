#!/usr/bin/env python3
"""goes_on_there.py WORK TORCH SITE: torchtitan 0.3.0 goes on from a run of ours. By hand; train_there.py says what TORCH and SITE are.

titan-train makes 5 of 15 steps, `convert --names torchtitan-0.3` writes them, and torchtitan's own Trainer makes the other ten on the samples that ours
are made of: losses within 1e-5, the same rates and tokens.
"""
import json
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent.parent / "e2e")]

import numpy  # noqa: E402

import harness  # noqa: E402
import torchtitan030  # noqa: E402

STEPS, STOP, BATCH, SEQ = 15, 5, 4, 16


def main(work, torch, site):
    work.mkdir()
    config, tokens, run, theirs = work / "run.toml", work / "tokens.u16", work / "run", work / "theirs"
    config.write_text(torchtitan030.CONFIG.replace("steps = 10", f"steps = {STEPS}"))
    draw = numpy.random.default_rng(7)
    ids = [draw.integers(0, 40) if draw.random() < 0.5 else i * 7 % 40 for i in range(STEPS * BATCH * (SEQ + 1))]
    numpy.array(ids, dtype="<u2").tofile(tokens)
    settings = {"job.dump_folder": run, "job.threads_per_rank": 1, "training.dataset_path": tokens}
    harness.train(config, 1, {**settings, "debug.stop_at_step": STOP}, expect=75)
    step = theirs / "checkpoint" / f"step-{STOP}"
    step.parent.mkdir(parents=True)
    print(subprocess.run([harness.CKPT, "convert", f"{run}@{STOP}", step, "--to", "dcp", "--names", "torchtitan-0.3", "--config", config,
                          "--set", "parallelism.data_parallel_shard_degree=2"], check=True, capture_output=True, text=True).stdout)
    harness.train(config, 1, settings)
    numpy.array(ids[STOP * BATCH * (SEQ + 1):], dtype="<u2").tofile(theirs / "tokens.u16")
    python = HERE.parent.parent.parent / ".deps" / "torchtitan" / "bin" / "python"
    subprocess.run([python, HERE / "train_there.py", theirs], check=True,
                   env={**os.environ, "STEPS": str(STEPS), "PYTHONPATH": f"{torch}:{site}", "LD_LIBRARY_PATH": f"{torch}/nvidia/nccl/lib"})
    rows = {row["step"]: row for row in map(json.loads, (theirs / "losses.jsonl").read_text().splitlines())}
    ours = {n: line for n, line in harness.step_lines(run).items() if n > STOP}
    assert sorted(ours) == sorted(rows) == list(range(STOP + 1, STEPS + 1)), (ours, rows)
    loss = max(abs(float(ours[n][1]) - rows[n]["loss"]) for n in ours)
    norm = max(abs(float(ours[n][2]) / rows[n]["grad_norm"] - 1) for n in ours)
    rate = max(abs(float(ours[n][3]) - rows[n]["lr"]) for n in ours)
    print(f"losses within {loss:.1e}, norms within {norm:.1e} relative, learning rates within {rate:.1e}")
    assert loss <= 1e-5 and norm <= 1e-3 and rate <= 1e-12 and all(int(ours[n][4]) == rows[n]["tokens"] for n in ours), (ours, rows)


if __name__ == "__main__":
    main(*map(pathlib.Path, sys.argv[1:]))
