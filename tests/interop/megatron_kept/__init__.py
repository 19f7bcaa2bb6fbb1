"""Steps that Megatron-Core 0.16.1 saved on the CPU, kept beside this file (save_there.py says how they were made), and what holds of each.

Tensors: torch's own reader gives the directory's tensors, layers in one and projections fused, and Megatron's rule (transformer/attention.py, mlp.py) takes them
apart: ours are these, weights and moments. Logits: `titan-train eval` of the step has those of Megatron's own forward. Runs: each goes on here with Megatron's
next losses and learning rates.
"""
import itertools
import json
import pathlib
import tarfile

import numpy as np
import torch
import torch.distributed.checkpoint as dcp

HERE = pathlib.Path(__file__).resolve().parent
VOCAB, PADDED, BATCH, LENGTH, STEPS = 30, 32, 4, 16, 15
HIDDEN, LAYERS, HEADS, GROUPS, HEAD, INNER = 12, 2, 4, 2, 8, 20
MODEL = f"""
[model]
{{more}}
dim = {HIDDEN}
n_layers = {LAYERS}
n_heads = {HEADS}
n_kv_heads = {GROUPS}
head_dim = {HEAD}
ffn_dim = {INNER}
vocab_size = {PADDED}
rope_theta = 1e4
rope_scaling = "none"
"""
RUN = f"""
[optimizer]
lr = 1e-2
beta1 = 0.9
beta2 = 0.95
eps = 1e-8
weight_decay = 0.1
rules = ["*norm* weight_decay=0", "*bias* weight_decay=0"]
[lr_scheduler]
warmup_steps = 2
min_lr_factor = 0.1
{{curve}}
[training]
dataset = "tokens"
shuffle = false
sample_stride = {LENGTH + 1}
seq_len = {LENGTH}
global_batch_size = {BATCH}
local_batch_size = 2
steps = {STEPS}
max_norm = 1.0
mixed_precision_param = "{{dtype}}"
"""
# name: (step, keys of the model, of the curve, type of the products, how far losses may be)
CASES = {
    "plain": (5, "norm_eps = 1e-5", 'decay_type = "cosine"', "float32", 1e-5),
    "reshardable": (5, "norm_eps = 1e-5", 'decay_type = "linear"', "bfloat16", 2e-2),
    "layers": (5, "norm_eps = 1e-5\nqkv_bias = true\ntied_embeddings = true", 'decay_type = "linear"', "float32", 1e-5),
    "normed": (1, 'name = "qwen3"\nnorm_eps = 1e-6\ntied_embeddings = false', 'decay_type = "sqrt"\ndecay_ratio = 0.4', "bfloat16", 2e-2),
}


def tokens(step):
    """What save_there.py trains on in the step, counted from 0."""
    return [(at * at // 7 + at * 13) % VOCAB for at in range(step * BATCH * (LENGTH + 1), (step + 1) * BATCH * (LENGTH + 1))]


def unpack(name, work):
    """(the folder of the run, what Megatron measured)"""
    with tarfile.open(HERE / f"{name}.tar.xz") as archive:
        archive.extractall(work, filter="data")
    return work / name, json.loads((HERE / "measured.json").read_text())[name]


def config(name):
    _, more, curve, dtype, _ = CASES[name]
    return MODEL.format(more=more) + RUN.format(curve=curve, dtype=dtype)


def halves_to_pairs(tensor):
    return tensor.reshape(-1, 2, HEAD // 2, *tensor.shape[1:]).transpose(1, 2).reshape(tensor.shape)


def parts(state, prefix):
    """{our name: tensor} of what stands behind `prefix`, by Megatron's rule."""
    def layer(i, name):
        stacked, single = f"{prefix}decoder.layers.{name}", f"{prefix}decoder.layers.{i}.{name}"
        return state[stacked][i] if stacked in state else state.get(single)
    out = {"tok_embeddings.weight": state[f"{prefix}embedding.word_embeddings.weight"], "norm.weight": state[f"{prefix}decoder.final_layernorm.weight"],
           "output.weight": state.get(f"{prefix}output_layer.weight")}
    for i, kind in itertools.product(range(LAYERS), ("weight", "bias")):
        at, fused = f"layers.{i}.", layer(i, f"self_attention.linear_qkv.{kind}")
        if fused is not None:
            groups = fused.reshape(GROUPS, HEADS // GROUPS + 2, HEAD, *fused.shape[1:])
            q, k, v = (part.reshape(-1, *fused.shape[1:]) for part in (groups[:, :-2], groups[:, -2], groups[:, -1]))
            out |= {f"{at}attention.wq.{kind}": halves_to_pairs(q), f"{at}attention.wk.{kind}": halves_to_pairs(k), f"{at}attention.wv.{kind}": v}
    for i in range(LAYERS):
        at, both = f"layers.{i}.", layer(i, "mlp.linear_fc1.weight")
        gate, up = both.split(INNER) if both is not None else (layer(i, "mlp.linear_fc1.weight_w"), layer(i, "mlp.linear_fc1.weight_v"))
        out |= {f"{at}feed_forward.w1.weight": gate, f"{at}feed_forward.w3.weight": up, f"{at}feed_forward.w2.weight": layer(i, "mlp.linear_fc2.weight"),
                f"{at}attention.wo.weight": layer(i, "self_attention.linear_proj.weight"), f"{at}attention_norm.weight": layer(i, "self_attention.linear_qkv.layer_norm_weight"),
                f"{at}ffn_norm.weight": layer(i, "mlp.linear_fc1.layer_norm_weight")}
        for theirs, ours in (("q", "q"), ("k", "k")):
            norm = layer(i, f"self_attention.{theirs}_layernorm.weight")
            out[f"{at}attention.{ours}_norm.weight"] = None if norm is None else halves_to_pairs(norm)
    return {name: tensor for name, tensor in out.items() if tensor is not None}


def stored(folder):
    """Every tensor of the directory, by torch's own reader."""
    metadata = dcp.FileSystemReader(folder).read_metadata().state_dict_metadata
    state = {name: torch.empty(entry.size, dtype=entry.properties.dtype) for name, entry in metadata.items() if hasattr(entry, "size")}
    dcp.load(state, checkpoint_id=folder, no_dist=True)
    return state


def check_tensors(titan_ckpt, checkpoint, folder, work):
    """How many tensors of ours are what the directory holds."""
    state, count = stored(folder), 0
    masters = next((prefix for prefix in ("optimizer.state.param.", "optimizer.state.fp32_param.") if any(name.startswith(prefix) for name in state)), "")
    for prefix, slot in ((masters, ""), ("optimizer.state.exp_avg.", ".exp_avg"), ("optimizer.state.exp_avg_sq.", ".exp_avg_sq")):
        for name, tensor in parts(state, prefix).items():
            titan_ckpt("cat", checkpoint, name + slot, "-o", work / "m.npy")
            assert np.array_equal(np.load(work / "m.npy"), tensor.numpy()), f"{folder}: {name}{slot} is not what Megatron held"
            (work / "m.npy").unlink()
            count += 1
    return count
