"""What accelerate 1.15.0 saved in the middle of a run, kept beside this file (save_there.py says how it was made), with the losses of all its steps."""
import json
import pathlib
import tarfile

HERE = pathlib.Path(__file__).resolve().parent
VOCAB, BATCH, LENGTH, SAVED, STEPS = 64, 4, 16, 5, 15
CONFIG = f"""
[model]
dim = 16
n_layers = 2
n_heads = 4
n_kv_heads = 2
ffn_dim = 32
vocab_size = {VOCAB}
norm_eps = 1e-6
rope_theta = 1e4
rope_scaling = "none"
[optimizer]
lr = 1e-2
beta1 = 0.9
beta2 = 0.95
eps = 1e-8
weight_decay = 0.1
rules = ["*norm* weight_decay=0"]
[lr_scheduler]
warmup_steps = 2
min_lr_factor = 0.1
[training]
dataset = "tokens"
shuffle = false
sample_stride = {LENGTH + 1}
seq_len = {LENGTH}
global_batch_size = {BATCH}
local_batch_size = 2
steps = {STEPS}
max_norm = 1000.0
mixed_precision_param = "float32"
"""


def tokens(step):
    """What save_there.py trains on in the step, counted from 0."""
    return [(at * at // 7 + at * 13) % VOCAB for at in range(step * BATCH * (LENGTH + 1), (step + 1) * BATCH * (LENGTH + 1))]


def unpack(kind, work):
    """(the folder of `save_state`, {step: loss}, counted from 1)"""
    with tarfile.open(HERE / f"{kind}.tar.xz") as archive:
        archive.extractall(work, filter="data")
    return work / kind, dict(enumerate(json.loads((HERE / "losses.json").read_text())[kind], 1))
