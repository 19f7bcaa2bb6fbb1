"""torchtitan 0.2.2's own Trainer on the CPU with Gloo: the device is patched and the data are fed; everything else (model, FSDP, TP,
optimizer, scheduler, checkpoint manager) is torchtitan's.

train() forks its ranks from the process that imported this module, so torchtitan is imported once for any number of runs. They meet at
a store whose port the system chose, as torchrun's do.

Flavours for tests: "tiny" (2 layers, GQA, a vocabulary that two ranks cannot share evenly).
"""
import json
import os
import sys
import types

import numpy
import torch

# What torchtitan imports for its own data and for TensorBoard alone need not be installed.
for name, absent in {"datasets": ["Dataset", "load_dataset"], "datasets.distributed": ["split_dataset_by_node"], "torch.utils.tensorboard": ["SummaryWriter"]}.items():
    sys.modules[name] = types.ModuleType(name)
    sys.modules[name].__dict__.update(dict.fromkeys(absent))

torch.set_num_threads(1)  # before the ranks are forked
torch._utils._get_available_device_type = lambda: "cpu"

import torchtitan.components.metrics as metrics  # noqa: E402
import torchtitan.distributed.utils as dist_utils  # noqa: E402
from torchtitan.components.dataloader import ParallelAwareDataloader  # noqa: E402
from torchtitan.config import ConfigManager  # noqa: E402
from torchtitan.models import llama3  # noqa: E402
from torchtitan.models.llama3.model.args import TransformerModelArgs  # noqa: E402
from torchtitan.models.llama3.infra import parallelize  # noqa: E402
import torchtitan.train as trainer_module  # noqa: E402

llama3.llama3_args["tiny"] = TransformerModelArgs(dim=64, n_layers=2, n_heads=4, n_kv_heads=2, vocab_size=131, multiple_of=32, rope_theta=500000)
disable_division = parallelize.disable_fsdp_gradient_division


def disable_division_on_gloo(model):
    """A factor of 1.0 becomes a pre-multiplied sum, which Gloo lacks."""
    disable_division(model)
    for module in model.modules():
        if isinstance(module, torch.distributed.fsdp.FSDPModule):
            module.set_force_sum_reduction_for_comms(True)


class NoMemoryMonitor:
    device_name = "cpu"

    def get_peak_stats(self):
        return metrics.DeviceMemStats(0, 0, 0, 0, 0, 0)

    def reset_peak_stats(self):
        pass


parallelize.disable_fsdp_gradient_division = disable_division_on_gloo
metrics.build_device_memory_monitor = NoMemoryMonitor
dist_utils.set_pg_timeouts = lambda timeout, parallel_dims: None


class FedTokens(torch.utils.data.IterableDataset):
    """Rows of [step][global batch][seq_len + 1] in order, dealt out so that one optimizer step consumes one step on any mesh."""

    def __init__(self, tokens, local_batch, dp_rank, dp_world_size):
        self.tokens, self.next = tokens, 0
        self.rows = [row for row in range(tokens.shape[1]) if row // local_batch % dp_world_size == dp_rank]

    def __iter__(self):
        while self.next < len(self.tokens) * len(self.rows):
            step, row = divmod(self.next, len(self.rows))
            self.next += 1
            sample = torch.from_numpy(self.tokens[step][self.rows[row]].astype(numpy.int64))
            yield {"input": sample[:-1]}, sample[1:]

    def state_dict(self):
        return {"next": self.next}

    def load_state_dict(self, state):
        self.next = state["next"]


def run_rank(rank, world, port, arguments, tokens, losses, log):
    torch.set_num_threads(1)  # makes the pool lost in the fork anew, before torch's threads do so in a race and abort: "Invalid thread pool!"
    with open(log, "a") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    os.environ.update(RANK=str(rank), WORLD_SIZE=str(world), MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), TORCHELASTIC_USE_AGENT_STORE="True",
                      TORCHELASTIC_RESTART_COUNT="0", LOCAL_RANK="0")  # torch knows one CPU device only
    spec_of = trainer_module.train_spec_module.get_train_spec

    def build_dataloader(dp_world_size, dp_rank, tokenizer, job_config):
        batch = job_config.training.local_batch_size
        return ParallelAwareDataloader(FedTokens(tokens, batch, dp_rank, dp_world_size), dp_rank=dp_rank, dp_world_size=dp_world_size, batch_size=batch)

    def fed_spec(name):
        spec = spec_of(name)
        spec.build_dataloader_fn = build_dataloader
        spec.build_tokenizer_fn = None
        spec.build_validator_fn = None
        return spec

    trainer_module.train_spec_module.get_train_spec = fed_spec
    trainer = trainer_module.Trainer(ConfigManager().parse_args(arguments))
    log_theirs = trainer.metrics_processor.log

    def log_ours(step, global_avg_loss, global_max_loss, grad_norm, extra_metrics=None):
        if rank == 0:
            with open(losses, "a") as out:
                print(json.dumps({"step": step, "loss": float(global_avg_loss), "grad_norm": float(grad_norm), "lr": extra_metrics["lr"],
                                  "tokens": int(extra_metrics["n_tokens_seen"])}), file=out)
        log_theirs(step, global_avg_loss, global_max_loss, grad_norm, extra_metrics)

    trainer.metrics_processor.log = log_ours
    trainer.train()
    trainer.close()
    torch.distributed.destroy_process_group()


def train(config, tokens, folder, *, ranks=2, flags=()):
    """Trains on `tokens` [step][global batch][seq_len + 1], whose first row belongs to the first step that is trained; `folder` is
    torchtitan's dump folder. Returns {step: {"step", "loss", "grad_norm", "lr", "tokens"}}. Raises with torchtitan's output at a failure."""
    folder.mkdir(exist_ok=True)
    losses, log = folder / "losses.jsonl", folder / "log"
    losses.unlink(missing_ok=True)
    store = torch.distributed.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
    arguments = ["--job.config_file", str(config), f"--job.dump_folder={folder}", *flags]
    try:
        torch.multiprocessing.start_processes(run_rank, args=(ranks, store.port, arguments, tokens, losses, log), nprocs=ranks, start_method="fork")
    except Exception as failure:
        raise RuntimeError(f"torchtitan failed: {log.read_text()[-3000:]}\n{failure}") from None
    return {row["step"]: row for row in map(json.loads, losses.read_text().splitlines())}
