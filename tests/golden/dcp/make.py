#!/usr/bin/env python3
"""make.py: writes torch-2.11.tar.xz, a whole small run in torchtitan's layout as real torch saves it, with the TOML it was trained with.
Dim 8, 2 heads of 4, 1 key head, 1 layer; step 10 of 20, 320 tokens on each of 2 data ranks. Needs torch 2.11."""
import io
import pathlib
import tarfile
import tempfile

import torch
import torch.distributed.checkpoint as dcp

HERE = pathlib.Path(__file__).resolve().parent
L = "layers.0."
SHAPES = {"tok_embeddings.weight": [5, 8], L + "attention.wq.weight": [8, 8], L + "attention.wk.weight": [4, 8], L + "attention.wv.weight": [4, 8],
          L + "attention.wo.weight": [8, 8], L + "feed_forward.w1.weight": [12, 8], L + "feed_forward.w2.weight": [8, 12], L + "feed_forward.w3.weight": [12, 8],
          L + "attention_norm.weight": [8], L + "ffn_norm.weight": [8], "norm.weight": [8], "output.weight": [5, 8]}
BASE, NEXT = 1e-3, 1e-3 * (0.02 + 0.98 * 0.5)
TOML = """[model]
flavor = "mine"
n_heads = 2
rope_theta = 500000.0
rope_scaling = "llama3:8:1:4:8192"

[optimizer]
lr = 1e-3

[lr_scheduler]
warmup_steps = 0
min_lr_factor = 0.02

[training]
steps = 20
seq_len = 16
local_batch_size = 1
"""
GROUP = {"lr": NEXT, "betas": (0.9, 0.95), "eps": 1e-8, "weight_decay": 0.1, "amsgrad": False, "maximize": False, "foreach": False, "capturable": False,
         "differentiable": False, "fused": True, "decoupled_weight_decay": True, "initial_lr": BASE}

state, optimizer = {}, {}
for n, (name, shape) in enumerate(SHAPES.items()):
    count = torch.Size(shape).numel()
    state[name] = n + torch.arange(count).reshape(shape) / 4096
    optimizer[f"state.{name}.step"] = torch.tensor(10.0)
    optimizer[f"state.{name}.exp_avg"] = state[name] / 100
    optimizer[f"state.{name}.exp_avg_sq"] = state[name] / 10000
    optimizer |= {f"param_groups.{name}.{key}": value for key, value in GROUP.items()}
state |= {"optimizer": optimizer, "lr_scheduler": {"base_lrs": [BASE], "last_epoch": 10, "_last_lr": [NEXT]},
          "train_state": {"step": torch.tensor(10, dtype=torch.int32), "ntokens_seen": torch.tensor(320)}, "dataloader": {"world_size": 2}}
with tempfile.TemporaryDirectory() as folder:
    step = pathlib.Path(folder) / "step-10"
    dcp.save(state, checkpoint_id=step)
    (pathlib.Path(folder) / "torchtitan.toml").write_text(TOML)
    with tarfile.open(HERE / "torch-2.11.tar.xz", "w:xz") as tar:
        for path in ("step-10/.metadata", "step-10/__0_0.distcp", "torchtitan.toml"):
            data = (pathlib.Path(folder) / path).read_bytes()
            info = tarfile.TarInfo(path)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
