#!/usr/bin/env python3
"""torchtitan_cpu.py CONFIG.toml --tokens FILE --losses OUT.jsonl [--section.key=value ...]

Runs torchtitan 0.2.2's own Trainer on CPU with Gloo, under torchrun: the device is patched, the data are fed, everything else
(model, FSDP, TP, optimizer, scheduler, checkpoint manager) is torchtitan's. FILE holds u16 tokens [step][global batch][seq_len + 1],
its first row belonging to the first step that this process trains. Rank 0 appends {"step", "loss", "grad_norm", "lr", "tokens"} to OUT.jsonl.

Flavours for tests: "tiny" (2 layers, GQA, a vocabulary that two ranks cannot share evenly).
"""
import argparse
import json
import os
import sys

import numpy
import torch

parser = argparse.ArgumentParser()
parser.add_argument("config")
parser.add_argument("--tokens", required=True)
parser.add_argument("--losses", required=True)
options, rest = parser.parse_known_args()

rank = int(os.environ["RANK"])
os.environ["LOCAL_RANK"] = "0"  # torch knows one CPU device only
torch.set_num_threads(1)

torch._utils._get_available_device_type = lambda: "cpu"

import torchtitan.components.metrics as metrics  # noqa: E402
import torchtitan.distributed.utils as dist_utils  # noqa: E402
from torchtitan.components.dataloader import ParallelAwareDataloader  # noqa: E402
from torchtitan.config import ConfigManager  # noqa: E402
from torchtitan.models import llama3  # noqa: E402
from torchtitan.models.llama3.model.args import TransformerModelArgs  # noqa: E402
from torchtitan.models.llama3.infra import parallelize  # noqa: E402
import torchtitan.train as train  # noqa: E402

disable_division = parallelize.disable_fsdp_gradient_division


def disable_division_on_gloo(model):
    """A factor of 1.0 becomes a pre-multiplied sum, which Gloo lacks."""
    disable_division(model)
    for module in model.modules():
        if isinstance(module, torch.distributed.fsdp.FSDPModule):
            module.set_force_sum_reduction_for_comms(True)


parallelize.disable_fsdp_gradient_division = disable_division_on_gloo


class NoMemoryMonitor:
    device_name = "cpu"

    def get_peak_stats(self):
        return metrics.DeviceMemStats(0, 0, 0, 0, 0, 0)

    def reset_peak_stats(self):
        pass


metrics.build_device_memory_monitor = NoMemoryMonitor
dist_utils.set_pg_timeouts = lambda timeout, parallel_dims: None
llama3.llama3_args["tiny"] = TransformerModelArgs(dim=64, n_layers=2, n_heads=4, n_kv_heads=2, vocab_size=131, multiple_of=32, rope_theta=500000)


class FedTokens(torch.utils.data.IterableDataset):
    """Rows of the file in order, dealt out so that one optimizer step consumes one step of the file on any mesh."""

    def __init__(self, tokens, global_batch, local_batch, dp_rank, dp_world_size):
        self.tokens, self.global_batch, self.local_batch = tokens, global_batch, local_batch
        self.dp_rank, self.dp_world_size, self.next = dp_rank, dp_world_size, 0

    def __iter__(self):
        rows = [r for r in range(self.global_batch) if r // self.local_batch % self.dp_world_size == self.dp_rank]
        while self.next < len(self.tokens) * len(rows):
            step, row = divmod(self.next, len(rows))
            self.next += 1
            sample = torch.from_numpy(self.tokens[step][rows[row]].astype(numpy.int64))
            yield {"input": sample[:-1]}, sample[1:]

    def state_dict(self):
        return {"next": self.next}

    def load_state_dict(self, state):
        self.next = state["next"]


def build_dataloader(dp_world_size, dp_rank, tokenizer, job_config):
    training = job_config.training
    batch = training.global_batch_size if training.global_batch_size > 0 else training.local_batch_size * dp_world_size
    tokens = numpy.fromfile(options.tokens, dtype=numpy.uint16).reshape(-1, batch, training.seq_len + 1)
    data = FedTokens(tokens, batch, training.local_batch_size, dp_rank, dp_world_size)
    return ParallelAwareDataloader(data, dp_rank=dp_rank, dp_world_size=dp_world_size, batch_size=training.local_batch_size)


spec_of = train.train_spec_module.get_train_spec


def fed_spec(name):
    spec = spec_of(name)
    spec.build_dataloader_fn = build_dataloader
    spec.build_tokenizer_fn = None
    spec.build_validator_fn = None
    return spec


train.train_spec_module.get_train_spec = fed_spec

config = ConfigManager().parse_args(["--job.config_file", options.config, *rest])
trainer = train.Trainer(config)
log = trainer.metrics_processor.log


def recorded_log(step, global_avg_loss, global_max_loss, grad_norm, extra_metrics=None):
    if rank == 0:
        with open(options.losses, "a") as out:
            print(json.dumps({"step": step, "loss": float(global_avg_loss), "grad_norm": float(grad_norm), "lr": extra_metrics["lr"],
                              "tokens": int(extra_metrics["n_tokens_seen"])}), file=out)
    log(step, global_avg_loss, global_max_loss, grad_norm, extra_metrics)


trainer.metrics_processor.log = recorded_log
trainer.train()
trainer.close()
torch.distributed.destroy_process_group()
sys.exit(0)
