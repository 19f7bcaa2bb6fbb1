#!/usr/bin/env python3
"""save_there.py FOLDER: trains a tiny Llama of transformers by the loop of accelerate for 15 steps on the CPU, and keeps what `save_state` writes at step 5.

By hand: what it made is kept beside it, and ../hf_dcp_round_trip.py goes on from there. Made with accelerate 1.15.0 (PyPI), in the environment of transformers 5.23.0:

    pip install --target SITE --no-deps accelerate==1.15.0 psutil
    PYTHONPATH=SITE .deps/transformers5/bin/python save_there.py FOLDER
    for kind in sharded plain trainer; do tar --owner=0 --group=0 --mtime=@0 --sort=name -C FOLDER -cJf $kind.tar.xz $kind; done

Three runs: FSDP2 on two ranks with SHARDED_STATE_DICT, one process without FSDP, and one of transformers' Trainer, which is built on accelerate and whose
warm-up begins at 0: it has none here. FOLDER/KIND: its state of step 5, with the model's
config.json, which save_state leaves out; FOLDER/KIND.json: losses of all steps. Where FOLDER/sharded is there, `load_state` goes on from it, from step 5, and
FOLDER/sharded.json has the losses of the other ten: so a run of ours goes on there (see ours_goes_on.py). accelerate shards by FSDP on accelerators alone: its state is told that
the processes of the CPU are FSDP's. Nothing else is patched.
"""
import json
import os
import pathlib
import sys
import warnings

import torch

torch.set_num_threads(1)  # before ranks are forked

from accelerate import Accelerator  # noqa: E402
from accelerate.state import AcceleratorState, PartialState  # noqa: E402
from accelerate.utils import DistributedType, FullyShardedDataParallelPlugin  # noqa: E402
from transformers import LlamaConfig, LlamaForCausalLM, Trainer, TrainingArguments  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
KINDS = {"sharded": 2, "plain": 1}
VOCAB, BATCH, LENGTH, SAVED, STEPS, WARMUP, LEAST = 64, 4, 16, 5, 15, 2, 0.1
MODEL = LlamaConfig(vocab_size=VOCAB, hidden_size=16, intermediate_size=32, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=128,
                    rope_parameters={"rope_type": "default", "rope_theta": 1e4})


make_state = AcceleratorState.__init__


def make_fsdp_state(self, *arguments, fsdp_plugin=None, **named):
    make_state(self, *arguments, fsdp_plugin=fsdp_plugin, **named)
    if fsdp_plugin is not None:
        self.distributed_type, self.fsdp_plugin = DistributedType.FSDP, fsdp_plugin
        PartialState._shared_state["distributed_type"] = DistributedType.FSDP


AcceleratorState.__init__ = make_fsdp_state


def rate(n):
    """The factor of the n-th step, from 0 on: our curve, as a LambdaLR has it."""
    return (n + 1) / WARMUP if n < WARMUP else LEAST + (1 - LEAST) * (1 - max(n - WARMUP, 0) / (STEPS - WARMUP))


def ids(step):
    """The tokens of a step: what is in a formula need not be kept."""
    at = torch.arange(BATCH * (LENGTH + 1)).view(BATCH, LENGTH + 1) + step * BATCH * (LENGTH + 1)
    return (at * at // 7 + at * 13) % VOCAB


def run_rank(rank, port, kind, folder):
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    world = KINDS[kind]
    os.environ.update(RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(world), LOCAL_WORLD_SIZE=str(world), MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port),
                      ACCELERATE_USE_CPU="true")
    if world > 1:
        plugin = FullyShardedDataParallelPlugin(fsdp_version=2, state_dict_type="SHARDED_STATE_DICT", auto_wrap_policy="transformer_based_wrap",
                                                transformer_cls_names_to_wrap=["LlamaDecoderLayer"], cpu_ram_efficient_loading=False)
        accelerator = Accelerator(cpu=True, fsdp_plugin=plugin)
    else:
        accelerator = Accelerator(cpu=True)
    torch.manual_seed(7)
    model = LlamaForCausalLM(MODEL)
    for parameter in model.parameters():
        parameter.data.normal_(std=0.2)
    decayed = [p for p in model.parameters() if p.dim() > 1]  # as most trainers do it
    norms = [p for p in model.parameters() if p.dim() == 1]
    optimizer = torch.optim.AdamW([{"params": decayed, "weight_decay": 0.1}, {"params": norms, "weight_decay": 0.0}], lr=1e-2, betas=(0.9, 0.95), eps=1e-8)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, rate)
    model, optimizer = accelerator.prepare(model, optimizer)
    first = SAVED if (folder / kind).exists() else 0
    accelerator.wait_for_everyone()
    if first:
        accelerator.load_state(str(folder / kind))
        scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer.optimizer, rate, last_epoch=SAVED - 1)
    else:
        accelerator.register_for_checkpointing(scheduler)
    losses = []
    for step in range(first, STEPS):
        rows = ids(step)[rank::world]
        logits = model(rows[:, :-1]).logits
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), rows[:, 1:].flatten())
        accelerator.backward(loss)
        optimizer.step()
        scheduler.step()
        optimizer.zero_grad()
        losses.append(accelerator.reduce(loss.detach(), "mean").item())
        if step + 1 == SAVED and not first:
            accelerator.save_state(str(folder / kind))
    if rank == 0:
        if not first:
            MODEL.save_pretrained(folder / kind)
        (folder / f"{kind}.json").write_text(json.dumps(losses))
    accelerator.wait_for_everyone()
    sys.stdout.flush()
    os._exit(0)


def run_trainer(folder):
    losses = []

    class Recorded(Trainer):
        def _get_train_sampler(self, *arguments):
            return torch.utils.data.SequentialSampler(self.train_dataset)

        def compute_loss(self, *arguments, **named):
            loss = super().compute_loss(*arguments, **named)
            losses.append(loss.item())  # what it logs is rounded
            return loss

    torch.manual_seed(7)
    model = LlamaForCausalLM(MODEL)
    for parameter in model.parameters():
        parameter.data.normal_(std=0.2)
    rows = [{"input_ids": row, "labels": row} for step in range(STEPS) for row in ids(step)]
    settings = TrainingArguments(output_dir=folder / "out", max_steps=STEPS, save_steps=SAVED, per_device_train_batch_size=BATCH, learning_rate=1e-2, weight_decay=0.1, adam_beta2=0.95,
                                 lr_scheduler_type="linear", max_grad_norm=1000.0, use_cpu=True, report_to=[], logging_steps=100, disable_tqdm=True)
    Recorded(model=model, args=settings, train_dataset=rows).train()
    (folder / "out" / f"checkpoint-{SAVED}").rename(folder / "trainer")
    (folder / "trainer.json").write_text(json.dumps(losses))


def main(folder):
    goes_on = folder.exists()
    if not goes_on:
        folder.mkdir()
    for kind, world in KINDS.items():
        if goes_on and not (folder / kind).exists():
            continue
        store = torch.distributed.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)  # for a free port
        port = store.port
        del store
        torch.multiprocessing.start_processes(run_rank, args=(port, kind, folder), nprocs=world, start_method="fork")
    if not goes_on:
        run_trainer(folder)


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
