#!/usr/bin/env python3
"""train_there.py FOLDER: trains a tiny Llama by torchtitan 0.3.0's own Trainer on two ranks of the CPU for ten steps, and saves steps 5 and 10. Where
FOLDER/tokens.u16 is there, it goes on from the newest step in FOLDER/checkpoint, on these tokens, to step STEPS of the environment.

By hand: what it made is kept beside it, and tests/interop/torchtitan_both_ways.py goes on from step 5. Made with torchtitan 0.3.0 (PyPI, 2026-09-03), whose
FSDP needs more than torch 2.11: torch 2.14.0, with the packages that both ask for.

    pip install --target SITE --no-deps torchtitan==0.3.0 spmd_types==0.2.3 torch_checkpointing==0.1.1 einops==0.8.2
    pip install --target TORCH --no-deps torch==2.14.0 nvidia-nccl-cu13==2.30.7 triton==3.8.0
    LD_LIBRARY_PATH=TORCH/nvidia/nccl/lib PYTHONPATH=TORCH:SITE .deps/torchtitan/bin/python train_there.py FOLDER
    tar --owner=0 --group=0 -C FOLDER/checkpoint -cJf step-5.tar.xz step-5

FOLDER/tokens.u16, FOLDER/losses.jsonl: what it was fed, and its losses. The device is patched and the data are fed, as in ../torchtitan_cpu.py. Two things are
other than torchtitan's stock configurations: attention is its ScaledDotProductAttention, for its FlexAttention masks documents and wants a GPU, and the
optimizer is the `foreach` one.
"""
import dataclasses
import json
import os
import pathlib
import random
import struct
import sys
import types

import numpy
import torch

for name, absent in {"datasets": ["Dataset", "load_dataset", "interleave_datasets", "IterableDataset"], "datasets.distributed": ["split_dataset_by_node"],
                     "torch.utils.tensorboard": ["SummaryWriter"]}.items():
    sys.modules[name] = types.ModuleType(name)
    sys.modules[name].__dict__.update(dict.fromkeys(absent))

torch.set_num_threads(1)  # before the ranks are forked
torch._utils._get_available_device_type = lambda: "cpu"

import torchtitan.components.metrics as metrics  # noqa: E402
import torchtitan.distributed.utils as dist_utils  # noqa: E402
import torchtitan.models.llama3 as llama3  # noqa: E402
import torchtitan.models.llama3.parallelize as parallelize  # noqa: E402
from torchtitan.components.checkpointer import CheckpointManager  # noqa: E402
from torchtitan.components.dataloader import ParallelAwareDataloader  # noqa: E402
from torchtitan.components.loss import CrossEntropyLoss  # noqa: E402
from torchtitan.components.optimizer import LRSchedulersContainer, default_adamw  # noqa: E402
from torchtitan.components.tokenizer import BaseTokenizer  # noqa: E402
from torchtitan.config import ParallelismConfig, TrainingConfig  # noqa: E402
from torchtitan.config.configs import DebugConfig  # noqa: E402
from torchtitan.models.common import ComplexRoPE, Embedding, Linear, RMSNorm, ScaledDotProductAttention  # noqa: E402
from torchtitan.trainer import Trainer  # noqa: E402

RANKS, STEPS, BATCH, SEQ = 2, int(os.environ.get("STEPS", "10")), 4, 16
DIM, HEADS, KV_HEADS, LAYERS, VOCAB, HIDDEN = 16, 4, 2, 2, 40, 32


class NoMemoryMonitor:
    device_name = "cpu"

    def get_peak_stats(self):
        return metrics.DeviceMemStats(0, 0, 0, 0, 0, 0)

    def reset_peak_stats(self):
        pass


def whole_sums(apply):
    """A factor of 1.0 becomes a pre-multiplied sum, which Gloo lacks."""
    def applied(model, *arguments, **named):
        apply(model, *arguments, **named)
        for module in model.modules():
            if isinstance(module, torch.distributed.fsdp.FSDPModule):
                module.set_force_sum_reduction_for_comms(True)
    return applied


metrics.build_device_memory_monitor = NoMemoryMonitor
dist_utils.set_pg_timeouts = lambda *arguments, **named: None
parallelize.apply_fsdp_to_decoder = whole_sums(parallelize.apply_fsdp_to_decoder)
llama3.get_attention_config = lambda backend: ScaledDotProductAttention.Config()


class NoTokenizer(BaseTokenizer):
    @dataclasses.dataclass(kw_only=True, slots=True)
    class Config(BaseTokenizer.Config):
        pass

    def __init__(self, config, **named):
        self.eos_id = 0

    def encode(self, *arguments, **named):
        return []

    def decode(self, *arguments, **named):
        return ""

    def get_vocab_size(self):
        return VOCAB


class FedTokens(torch.utils.data.IterableDataset):
    def __init__(self, tokens, rows):
        self.tokens, self.rows, self.next = tokens, rows, 0

    def __iter__(self):
        while self.next < len(self.tokens) * len(self.rows):
            step, row = divmod(self.next, len(self.rows))
            self.next += 1
            sample = torch.from_numpy(self.tokens[step][self.rows[row]])
            yield {"input": sample[:-1]}, sample[1:]

    def state_dict(self):
        return {"next": self.next}

    def load_state_dict(self, state):
        self.next = state["next"]


class FedLoader(ParallelAwareDataloader):
    tokens = None

    @dataclasses.dataclass(kw_only=True, slots=True)
    class Config(ParallelAwareDataloader.Config):
        pass

    def __init__(self, config, *, dp_world_size, dp_rank, local_batch_size, **named):
        rows = [row for row in range(BATCH) if row // local_batch_size % dp_world_size == dp_rank]
        super().__init__(FedTokens(self.tokens, rows), dp_rank=dp_rank, dp_world_size=dp_world_size, batch_size=local_batch_size)


def configuration(folder):
    rope = ComplexRoPE.Config(dim=DIM // HEADS, max_seq_len=131072, theta=500000, scaling="llama")
    model = llama3.Llama3Model.Config(
        dim=DIM, vocab_size=VOCAB, tok_embeddings=Embedding.Config(num_embeddings=VOCAB, embedding_dim=DIM, param_init=llama3._EMBEDDING_INIT),
        norm=RMSNorm.Config(normalized_shape=DIM, param_init=llama3._NORM_INIT),
        lm_head=Linear.Config(in_features=DIM, out_features=VOCAB, param_init=llama3._output_linear_init(DIM)),
        layers=llama3._build_llama3_layers(fuse_qkv=True, n_layers=LAYERS, dim=DIM, n_heads=HEADS, n_kv_heads=KV_HEADS, hidden_dim=HIDDEN, rope=rope, attn_backend="sdpa"))
    optimizer = default_adamw(lr=8e-4)
    optimizer.implementation = "foreach"
    return Trainer.Config(
        model_spec=dataclasses.replace(llama3.model_registry("debugmodel"), model=model, flavor="tiny"), loss=CrossEntropyLoss.Config(global_vocab_size=VOCAB),
        optimizer=optimizer, dump_folder=str(folder), tokenizer=NoTokenizer.Config(), dataloader=FedLoader.Config(), activation_checkpoint=None,
        lr_scheduler=LRSchedulersContainer.Config(warmup_steps=2, decay_ratio=0.8, decay_type="linear", min_lr_factor=0.0),
        training=TrainingConfig(local_batch_size=BATCH // RANKS, seq_len=SEQ, steps=STEPS, mixed_precision_param="float32", disable_cuda_graphs=True),
        metrics=metrics.MetricsProcessor.Config(log_freq=1), parallelism=ParallelismConfig(data_parallel_shard_degree=RANKS),
        checkpoint=CheckpointManager.Config(enable=True, interval=5, last_save_model_only=False, keep_latest_k=0,
                                            exclude_from_loading=["dataloader"]), debug=DebugConfig(seed=3))


def run_rank(rank, port, folder):
    torch.set_num_threads(1)
    os.environ.update(RANK=str(rank), WORLD_SIZE=str(RANKS), MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), LOCAL_RANK="0", TORCHELASTIC_USE_AGENT_STORE="True",
                      TORCHELASTIC_RESTART_COUNT="0")
    FedLoader.tokens = numpy.fromfile(folder / "tokens.u16", dtype="<u2").astype(numpy.int64).reshape(-1, BATCH, SEQ + 1)
    trainer = configuration(folder).build()
    log_theirs = trainer.metrics_processor.log

    def log_ours(step, average, largest, norm, extra_metrics=None):
        if rank == 0:
            with open(folder / "losses.jsonl", "a") as out:
                print(json.dumps({"step": step, "loss": float(average), "grad_norm": float(norm), "lr": extra_metrics["lr/AdamW"],
                                  "tokens": int(extra_metrics["n_tokens_seen"])}), file=out)
        log_theirs(step, average, largest, norm, extra_metrics)

    trainer.metrics_processor.log = log_ours
    trainer.train()
    trainer.close()
    torch.distributed.destroy_process_group()


def main(folder):
    if not (folder / "tokens.u16").exists():
        folder.mkdir()
        draw = random.Random(5)
        tokens = [draw.choice([draw.randrange(VOCAB), i * 7 % VOCAB]) for i in range(STEPS * BATCH * (SEQ + 1))]
        (folder / "tokens.u16").write_bytes(struct.pack(f"<{len(tokens)}H", *tokens))
    store = torch.distributed.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
    torch.multiprocessing.start_processes(run_rank, args=(store.port, folder), nprocs=RANKS, start_method="fork")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
