"""A run of torchtitan 0.3.0 goes on here: its step 5, kept beside this file (train_there.py says how it was made), with its optimizer, whose moments of
queries, keys and values are one tensor."""
import json
import pathlib
import tarfile

HERE = pathlib.Path(__file__).resolve().parent
CONFIG = """
[model]
dim = 16
n_layers = 2
n_heads = 4
n_kv_heads = 2
ffn_dim = 32
vocab_size = 40
norm_eps = 1e-5
rope_theta = 500000.0
rope_scaling = "llama3:8:1:4:8192"
[optimizer]
lr = 8e-4
[lr_scheduler]
warmup_steps = 2
decay_ratio = 0.8
decay_type = "linear"
min_lr_factor = 0.0
[training]
dataset = "tokens"
local_batch_size = 2
global_batch_size = 4
seq_len = 16
steps = 10
mixed_precision_param = "float32"
shuffle = false
sample_stride = 17
"""


def prepare(work):
    """(the step, a configuration, the tokens of steps 6 to 10, the rows that torchtitan logged of them)"""
    with tarfile.open(HERE / "step-5.tar.xz") as archive:
        archive.extractall(work, filter="data")
    config = work / "run030.toml"
    config.write_text(CONFIG)
    rows = {row["step"]: row for row in map(json.loads, (HERE / "losses.jsonl").read_text().splitlines())}
    return work / "step-5", config, HERE / "tail.u16", rows
