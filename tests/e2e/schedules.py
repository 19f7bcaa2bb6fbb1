"""Trains on four pipeline ranks with every schedule: losses on rank 0's console and the id are those of one rank.

Also two layers with a large vocabulary, so that each rank holds a single part of the model; and a schedule table from a file
whose gradients are exchanged after each micro-batch."""
import os
import re
import subprocess
import sys
import tempfile

BIN = os.environ.get("TITAN_BIN", "build/bin")
CONFIG = """
[job]
threads_per_rank = 1
[model]
dim = 32
n_layers = 8
n_heads = 4
ffn_dim = 48
vocab_size = 256
tied_embeddings = true
[training]
dataset_path = "text.txt"
local_batch_size = 1
global_batch_size = 8
seq_len = 16
steps = 3
[validation]
enable = true
holdout = 0.1
freq = 3
[metrics]
log_freq = 1
[debug]
seed = 5
"""
SCHEDULES = ["GPipe", "1F1B", "ZB-H1", "Interleaved1F1B", "LoopedBFS", "InterleavedZeroBubble", "ZBVZeroBubble", "DualPipeV"]
FEW_LAYERS = ["--model.n_layers=2", "--model.vocab_size=4096"]


def train(folder, ranks, schedule, *flags, degree=None):
    command = [f"{BIN}/titan-train", "run", "run.toml", f"--nproc={ranks}", f"--job.dump_folder={folder}",
               f"--parallelism.pipeline_parallel_degree={degree or ranks}", f"--parallelism.pipeline_parallel_schedule={schedule}", *flags]
    run = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, (schedule, run.returncode, run.stdout, run.stderr)
    # All but speed, memory and time.
    losses = re.findall(r"^(?:step|validate step):.*?(?=\s+(?:grad_norm|memory|tps))", run.stdout, re.M)
    losses += re.findall(r"grad_norm:\s+\S+", run.stdout)
    return losses, checkpoint_id(folder)


def checkpoint_id(folder):
    shown = subprocess.run([f"{BIN}/titan-ckpt", "inspect", f"{folder}@latest", "--json"], capture_output=True, text=True, check=True)
    return re.search(r'"id":\s*"([0-9a-f]+)"', shown.stdout)[1]


def main():
    if sys.argv[1:]:
        global SCHEDULES
        SCHEDULES = sys.argv[1:]
    with tempfile.TemporaryDirectory() as work:
        global BIN
        BIN = os.path.abspath(BIN)
        os.chdir(work)
        with open("run.toml", "w") as file:
            file.write(CONFIG)
        with open("text.txt", "w") as file:
            file.write("".join(f"line {i} of a text that is no other line. " for i in range(200)))
        expected = train("one", 1, "1F1B")
        assert len(expected[0]) >= 6 and "-1" not in "".join(expected[0]).split(), expected
        for schedule in SCHEDULES:
            got = train(schedule, 4, schedule)
            assert got == expected, (schedule, got, expected)
            print(f"{schedule}: {got[1]}")
        with open("order.csv", "w") as file:  # of 4 micro-batches, half of 8
            for stage in range(2):
                file.write(",".join([f"{stage}F{m}" for m in range(4)] + [f"{stage}I{m}" for m in (3, 2, 1, 0)] + [f"{stage}W{m}" for m in range(4)]) + "\n")
        got = train("file", 4, "PipelineScheduleSingle", "--parallelism.pipeline_parallel_schedule_csv=order.csv", "--parallelism.gradient_exchange=always", degree=2)
        assert got == expected, ("from a file", got, expected)
        print("equal:", expected[0])

        expected = train("few-one", 1, "1F1B", *FEW_LAYERS)
        for schedule in ("1F1B", "ZB-H1"):
            got = train(f"few-{schedule}", 4, schedule, *FEW_LAYERS)
            assert got == expected, ("two layers", schedule, got, expected)
        print("equal with two layers and 4096 tokens:", expected[0])


if __name__ == "__main__":
    main()
