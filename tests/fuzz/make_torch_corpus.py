#!/usr/bin/env python3
"""make_torch_corpus.py: writes the seeds of the targets torch_file, nanotron, deepspeed, verl and megatron, which torch.save and safetensors make (run it with .deps/transformers5)."""
import argparse
import collections
import io
import json
import pathlib
import struct
import tempfile

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from safetensors.torch import save
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor, Replicate, Shard
from torch.testing._internal.distributed.fake_pg import FakeStore

HERE = pathlib.Path(__file__).resolve().parent / "corpus"


def saved(value):
    buffer = io.BytesIO()
    torch.save(value, buffer)
    return buffer.getvalue()


class Scaler:  # its name is all that a reader learns of it
    def __init__(self):
        self.scale = 2.0 ** 16


NAME = ".weight"  # of the one parameter, whose file lies in no folder
STORAGE = torch.arange(6.0)
STATE = {"state": {0: {"step": torch.tensor(3.0), "exp_avg": torch.ones(2, 3), "exp_avg_sq": torch.ones(2, 3)}}, "names": {0: NAME},
         "param_groups": [{"lr": 1e-3, "betas": (0.9, 0.95), "eps": 1e-8, "weight_decay": 0.1, "initial_lr": 1e-3, "amsgrad": False, "params": [0]}]}
CONFIG = {"is_llama_config": True, "hidden_size": 8, "intermediate_size": 12, "num_hidden_layers": 1, "num_attention_heads": 2, "num_key_value_heads": 1, "vocab_size": 5,
          "rms_norm_eps": 1e-5, "rope_interleaved": False, "tie_word_embeddings": False, "hidden_act": "silu"}
METADATA = {"version": "1.5", "tp": 1, "dp": 1, "metas": {"last_train_step": 3, "consumed_train_samples": 12}}


def shard(slices="None,None,None|None,None,None#None,None,None|None,None,None", shape="(2, 3)"):
    return save({"data": torch.ones(2, 3)}, metadata={"version": "1.5", "unsharded_shape": shape, "local_global_slices_pairs": slices})


def step(config=CONFIG, metadata=METADATA, weights=None, optimizer=STATE):
    parts = json.dumps(config).encode(), json.dumps(metadata).encode(), weights or shard(), saved(optimizer)
    return b"".join(struct.pack("<I", len(part))[:3] + part for part in parts)


TORCH = {
    "optimizer": saved(STATE),
    "trainer": saved({"state": {0: STATE["state"][0], 1: {"step": torch.tensor(3.0), "exp_avg": torch.ones(3), "exp_avg_sq": torch.ones(3)}},
                      "param_groups": [STATE["param_groups"][0] | {"params": [0, 1]}]}),
    "views": saved({"a": STORAGE[1:3], "b": STORAGE[3:].view(1, 3).requires_grad_()}),
    "objects": saved({"args": argparse.Namespace(lr=1e-3, betas=(0.9, 0.95)), "scaler": Scaler(), "counts": collections.defaultdict(int, {"a": 1}), "set": {1, 2}, "wide": 1 << 100}),
    "module": saved(torch.nn.Linear(2, 3).state_dict()),
    "parameter": saved(torch.nn.Parameter(torch.ones(2))),
    "strided": saved(torch.ones(3, 2).t()),
    "half": saved([torch.ones(3, dtype=dtype) for dtype in (torch.bfloat16, torch.float16, torch.int64, torch.bool, torch.float8_e4m3fn)]),
    "empty": saved(torch.ones(0)),
}
STEPS = {
    "step": step(),
    "masters": step(optimizer=STATE | {"gradient_accumulator": {NAME: torch.ones(2, 3)}}),
    "zero": step(optimizer=STATE | {"state": {0: {"step": torch.tensor(3.0), "exp_avg": torch.ones(6), "exp_avg_sq": torch.ones(6)}}}),
    "chunks": step(weights=shard("0,1,None|None,None,None#0,1,None|None,None,None;1,2,None|None,None,None#1,2,None|None,None,None")),
    "overlap": step(weights=shard("0,1,None|None,None,None#0,1,None|None,None,None;1,2,None|None,None,None#0,1,None|None,None,None")),
    "old": step(metadata=METADATA | {"version": "1.1"}),
    "experts": step(config=CONFIG | {"moe_config": {"num_experts": 2}}),
}
GROUP = {"lr": 1e-3, "betas": (0.9, 0.95), "eps": 1e-8, "weight_decay": 0.1}


def deepspeed(third=False, shapes=({"a": (2, 3), "b": (5,)},), length=11, **more):
    """A step of one rank: a and b in a row, as stage 1 has them, or stage 3."""
    module = {"a": torch.empty(0) if third else torch.arange(6.0).view(2, 3)}
    model = saved({"module": module, "param_shapes": [collections.OrderedDict((name, torch.Size(shape)) for name, shape in group.items()) for group in shapes], "global_steps": 3})
    state = {"state": {0: {"step": torch.tensor(3.0), "exp_avg": torch.ones(length), "exp_avg_sq": torch.ones(length)}}, "param_groups": [GROUP]}
    flat = [torch.arange(float(length))]
    inner = {"zero_stage": 3, "fp32_flat_groups": flat, "optimizer_state_dict": state} if third else {"zero_stage": 1, "single_partition_of_fp32_groups": flat, "base_optimizer_state": state}
    return struct.pack("<I", len(model))[:3] + model + saved({"optimizer_state_dict": inner | more})


DEEPSPEED = {"stage_1": deepspeed(), "stage_3": deepspeed(True), "short": deepspeed(length=9), "long": deepspeed(length=20), "padded": deepspeed(param_alignment_paddings=[[0, 4]]),
             "groups": deepspeed(shapes=({"a": (2, 3)}, {"b": (5,)})), "huge": deepspeed(shapes=({"a": (1 << 40, 1 << 40)},))}


def verl(placement=Shard(0), rows=3):
    """Files of two ranks, which this process plays in turn."""
    files = []
    for rank in range(2):
        dist.init_process_group("fake", rank=rank, world_size=2, store=FakeStore())
        whole = torch.arange(float(rows * 2)).view(rows, 2)
        part = whole.chunk(2)[rank].clone() if isinstance(placement, Shard) else whole
        files.append(saved({NAME: DTensor.from_local(part, init_device_mesh("cpu", (2,)), [placement], run_check=False, shape=whole.shape, stride=whole.stride()), "plain": whole}))
        dist.destroy_process_group()
    return struct.pack("<I", len(files[0]))[:3] + b"".join(files)


VERL = {"sharded": verl(), "replicated": verl(Replicate()), "even": verl(rows=4)}


def megatron(stacked=True, dtype=torch.float32):
    """A step of Megatron-Core: one layer of width 4, two heads of 2 in one group, a tied vocabulary of 5."""
    layer = "decoder.layers." if stacked else "decoder.layers.0."
    shapes = {"embedding.word_embeddings.weight": [5, 4], "decoder.final_layernorm.weight": [4], f"{layer}self_attention.linear_qkv.weight": [8, 4],
              f"{layer}self_attention.linear_qkv.layer_norm_weight": [4], f"{layer}self_attention.linear_proj.weight": [4, 4], f"{layer}mlp.linear_fc1.weight": [6, 4],
              f"{layer}mlp.linear_fc1.layer_norm_weight": [4], f"{layer}mlp.linear_fc2.weight": [4, 3]}
    prefixes = ["", "optimizer.state.exp_avg.", "optimizer.state.exp_avg_sq."] + (["optimizer.state.param."] if dtype != torch.float32 else [])
    state = {prefix + name: torch.ones(([1] if stacked and name.startswith(layer) else []) + shape, dtype=torch.float32 if prefix else dtype)
             for prefix in prefixes for name, shape in shapes.items()}
    arguments = argparse.Namespace(num_layers=1, hidden_size=4, ffn_hidden_size=3, num_attention_heads=2, group_query_attention=True, num_query_groups=1, kv_channels=2, swiglu=True,
                                   normalization="RMSNorm", norm_epsilon=1e-5, rotary_base=10000, untie_embeddings_and_output_weights=False, global_batch_size=8, consumed_train_samples=24)
    group = {"wd_mult": 1.0, "lr_mult": 1.0, "lr": 1e-3, "betas": (0.9, 0.95), "eps": 1e-8, "weight_decay": 0.1, "step": 3.0}
    common = {"args": arguments, "iteration": 3, "optimizer": {"optimizer": {"param_groups": [group]}, "param_state_sharding_type": "fully_reshardable"},
              "opt_param_scheduler": {"max_lr": 1e-3, "min_lr": 0.0, "lr_warmup_steps": 0, "lr_decay_steps": 160, "num_steps": 24, "start_wd": 0.1, "end_wd": 0.1, "lr_decay_style": "constant"}}
    with tempfile.TemporaryDirectory() as folder:
        dcp.save(state, checkpoint_id=folder, no_dist=True)
        files = [(pathlib.Path(folder) / name).read_bytes() for name in (".metadata", "__0_0.distcp")]
    return b"".join(struct.pack("<I", len(part))[:3] + part for part in files) + saved(common)


MEGATRON = {"stacked": megatron(), "layers_bf16": megatron(False, dtype=torch.bfloat16)}
for folder, files in (("torch_file", TORCH), ("nanotron", STEPS), ("deepspeed", DEEPSPEED), ("verl", VERL), ("megatron", MEGATRON)):
    (HERE / folder).mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (HERE / folder / name).write_bytes(content)
