#!/usr/bin/env python3
"""deepspeed_steps.py: converts checkpoints of DeepSpeed's ZeRO 1 to 3 and its universal format tensor by tensor, and resumes a run from one.

The state of nanotron_steps.py's model after five steps is written as DeepSpeed 0.19.8 lays it out: flat vectors of float32 cut and padded for each stage,
paddings with the moments and without the weights, empty tensors in stage 3's files of the model, objects of DeepSpeed's own classes. DeepSpeed itself is
not installed for the tests; the layout is taken from files that it wrote, and the vectors of stages 1 and 3 are reassembled by the rule of its
zero_to_fp32.py. Every weight and moment is found again, `titan-train eval` has transformers' logits, and titan-train resumes with losses within 1e-5.
TITAN_BIN names the folder of the programs. Exit 1 with a message at the first difference.
"""
import collections
import enum
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import types
import warnings

import numpy as np
import torch

import hf_dcp_round_trip as loop
import nanotron_steps as steps
import transformers_both_ways as both_ways

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
import harness  # noqa: E402


def deepspeed_class(module, name, base):
    """A class that pickles under DeepSpeed's name; readers know it by that alone."""
    parts = module.split(".")
    for i in range(1, len(parts) + 1):
        sys.modules.setdefault(".".join(parts[:i]), types.ModuleType(".".join(parts[:i])))
    cls = base(name)
    cls.__module__ = module
    setattr(sys.modules[module], name, cls)
    return cls


Stage = deepspeed_class("deepspeed.runtime.zero.config", "ZeroStageEnum", lambda name: enum.IntEnum(name, {"disabled": 0, "optimizer_states": 1, "gradients": 2, "weights": 3}))
Scaler = deepspeed_class("deepspeed.runtime.fp16.loss_scaler", "LossScaler", lambda name: type(name, (), {}))


def groups_of(saved):
    """Weights that decay and those that do not are two groups, as trainers have it."""
    names = list(saved["weights"])
    return [[name for name in names if "norm" not in name], [name for name in names if "norm" in name]]


def group_values(saved, groups):
    adam = dict(lr=saved["lr"], initial_lr=loop.PEAK, betas=loop.ADAM["betas"], eps=1e-8, weight_decay=0.1, bias_correction=True, amsgrad=False)
    return [adam | {"params": [i]} for i in range(len(groups))]


def value(saved, name, field):
    return saved["weights"][name] if field == "fp32" else saved["moments"][name][field]


def model_file(saved, groups, empty):
    module = collections.OrderedDict((name, torch.empty(0, dtype=torch.bfloat16) if empty else tensor.bfloat16()) for name, tensor in saved["weights"].items())
    shapes = [collections.OrderedDict((name, saved["weights"][name].shape) for name in group) for group in groups]
    return {"module": module, "buffer_names": [], "optimizer": None, "param_shapes": shapes, "frozen_param_shapes": None, "shared_params": {}, "frozen_param_fragments": None,
            "lr_scheduler": saved["scheduler"], "global_steps": loop.SAVED, "skipped_steps": 0, "dp_world_size": 2, "mp_world_size": 1, "ds_config": {"zero": {}}, "ds_version": "0.19.8", "epoch": 0}


def write_stage_1(folder, saved, ranks, stage):
    groups = groups_of(saved)
    torch.save(model_file(saved, groups, False), folder / "mp_rank_00_model_states.pt")
    for rank in range(ranks):
        weights, state, paddings = [], {}, []
        for g, group in enumerate(groups):
            count = sum(saved["weights"][name].numel() for name in group)
            padded = -(-count // (2 * ranks)) * 2 * ranks
            per = padded // ranks
            flat = {field: torch.cat([value(saved, name, field).flatten() for name in group] + [torch.full((padded - count,), 9.0)]) for field in ("fp32", "exp_avg", "exp_avg_sq")}
            padding = padded - count if rank == ranks - 1 else 0
            weights.append(flat["fp32"][rank * per:(rank + 1) * per - padding].clone())
            state[g] = {"step": torch.tensor(float(loop.SAVED)), **{field: flat[field][rank * per:(rank + 1) * per].clone() for field in ("exp_avg", "exp_avg_sq")}}
            paddings.append(padding)
        inner = {"loss_scaler": Scaler(), "dynamic_loss_scale": False, "overflow": False, "clip_grad": 1000.0, "base_optimizer_state": {"state": state, "param_groups": group_values(saved, groups)},
                 "single_partition_of_fp32_groups": weights, "zero_stage": Stage(stage), "group_paddings": paddings, "partition_count": [ranks] * len(groups), "ds_version": "0.19.8",
                 "param_alignment_paddings": [[0] * len(group) for group in groups]}
        torch.save({"optimizer_state_dict": inner, "ds_config": {}, "ds_version": "0.19.8"}, folder / f"bf16_zero_pp_rank_{rank}_mp_rank_00_optim_states.pt")


class Tagged(torch.nn.Parameter):
    """A subclass of tensors with attributes, which pickles by _rebuild_from_type_v2 as stage 3's do."""
    def __reduce_ex__(self, protocol):
        return torch._tensor._rebuild_from_type_v2, (torch._utils._rebuild_tensor_v2, torch.Tensor, self.detach().__reduce_ex__(protocol)[1], {"ds_id": 1})


def write_stage_3(folder, saved, ranks, pieces):
    groups = groups_of(saved)
    for rank in range(ranks):
        torch.save(model_file(saved, groups, True), folder / f"zero_pp_rank_{rank}_mp_rank_00_model_states.pt")
        def flat(field, rank=rank):
            parts = []
            for name in (name for group in groups for name in group):
                tensor = value(saved, name, field).flatten()
                per = -(-tensor.numel() // ranks)
                parts.append(torch.cat([tensor, torch.zeros(per * ranks - tensor.numel())])[rank * per:(rank + 1) * per])
            return torch.tensor_split(torch.cat(parts), pieces)  # sub-groups: a parameter may lie in two of them
        state = {g: {"step": torch.tensor(float(loop.SAVED)), "exp_avg": a.clone(), "exp_avg_sq": b.clone()} for g, (a, b) in enumerate(zip(flat("exp_avg"), flat("exp_avg_sq")))}
        inner = {"zero_stage": Stage(3), "loss_scaler": Scaler(), "partition_count": ranks, "fp32_flat_groups": [Tagged(part.clone()) for part in flat("fp32")],
                 "optimizer_state_dict": {"state": state, "param_groups": group_values(saved, groups)}}
        torch.save({"optimizer_state_dict": inner, "ds_config": {}, "ds_version": "0.19.8"}, folder / f"bf16_zero_pp_rank_{rank}_mp_rank_00_optim_states.pt")


def write_universal(folder, saved):
    groups = groups_of(saved)
    torch.save(model_file(saved, groups, False) | {"universal_checkpoint_info": {"universal_checkpoint_version": 0.2}}, folder / "mp_rank_00_model_states.pt")
    for name in saved["weights"]:
        (folder / "zero" / name).mkdir(parents=True)
        for field in ("fp32", "exp_avg", "exp_avg_sq"):
            torch.save({"param": value(saved, name, field).clone(), "cat_dim": 0}, folder / "zero" / name / f"{field}.pt")
        torch.save(torch.tensor(float(loop.SAVED)), folder / "zero" / name / "step.pt")
    torch.save({"param_groups": group_values(saved, groups)}, folder / "zero" / "optimizer_state.pt")


def rewritten(step, work, name, **changes):
    """A copy of the step whose model's file says `changes`."""
    folder = work / name / step.name
    shutil.copytree(step, folder)
    config = step.parent / "config.json"
    shutil.copy(config, folder.parent)
    path = folder / "mp_rank_00_model_states.pt"
    torch.save(torch.load(path, weights_only=False) | changes, path)
    return folder


def exchange(step):
    """Puts the files of two ranks into each other's place."""
    first, second = sorted(step.glob("*_optim_states.pt"))[:2]
    first.rename(step / "kept")
    second.rename(first)
    (step / "kept").rename(second)


def check_without_optimizer(step, saved, work, toml):
    """The weights of the model's own file; no run goes on from them, and the hint says what does."""
    folder = rewritten(step, work, "alone")
    for path in folder.glob("*_optim_states.pt"):
        path.unlink()
    said = both_ways.titan_ckpt("convert", folder, work / "alone-hf", "--to", "hf")
    for name, (_, _, data) in both_ways.raw_tensors(work / "alone-hf").items():
        if data != saved["weights"][name].bfloat16().view(torch.int16).numpy().tobytes():
            both_ways.fail(f"{name} is not what the model's file holds")
    if "there are no files of the optimizer" not in said:
        both_ways.fail(f"the notes are\n{said}")
    both_ways.titan_ckpt("convert", folder, work / "alone-run", "--to", "titan", "--config", toml, expect=13)
    both_ways.titan_ckpt("convert", folder, work / "alone-model", "--to", "titan", "--config", toml, "--skip", "optimizer.*")
    both_ways.titan_ckpt("convert", rewritten(folder, work, "plain", optimizer={"state": {}}), work / "plain-run", "--to", "titan", "--config", toml, expect=2)


def check_skipped(step, work, toml):
    """Steps that the loss scaler skipped moved neither Adam nor the schedule: the run goes on with both as they are."""
    both_ways.titan_ckpt("convert", rewritten(step, work, "scaled", global_steps=loop.SAVED + 2, skipped_steps=2), work / "skipped", "--to", "titan", "--config", toml)
    seen = json.loads(both_ways.titan_ckpt("inspect", work / "skipped", "--json"))
    if seen["step"] != loop.SAVED + 2:
        both_ways.fail(f"the step is {seen['step']}")
    other = rewritten(step, work, "other", global_steps=loop.SAVED + 2, skipped_steps=1)
    both_ways.titan_ckpt("convert", other, work / "other-run", "--to", "titan", "--config", toml, expect=13)
    both_ways.titan_ckpt("convert", other, work / "other-model", "--to", "titan", "--config", toml, "--skip", "optimizer.*")


def check_dropout(step, work, toml):
    """A model that was trained with dropout is another function here while it trains."""
    folder = rewritten(step, work, "dropout")
    config = json.loads((folder.parent / "config.json").read_text())
    (folder.parent / "config.json").write_text(json.dumps(config | {"attention_dropout": 0.1}))
    said = both_ways.titan_ckpt("convert", folder, work / "dropout-run", "--to", "titan", "--config", toml, expect=13)
    if "attention_dropout is 0.1, expected 0" not in said or "--skip 'optimizer.*'" not in said:
        both_ways.fail(f"dropout: {said}")
    both_ways.titan_ckpt("convert", folder, work / "dropout-model", "--to", "titan", "--config", toml, "--skip", "optimizer.*")


FORMS = {"global_step5: stage 1 on 2 ranks": lambda folder, saved: write_stage_1(folder, saved, 2, 1), "global_step5: stage 2 on 3 ranks": lambda folder, saved: write_stage_1(folder, saved, 3, 2),
         "global_step5: stage 3 on 11 ranks": lambda folder, saved: write_stage_3(folder, saved, 11, 3), "global_step5_universal: universal": write_universal}


def main():
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    rows = np.random.default_rng(5).integers(0, loop.VOCAB, (loop.STEPS, loop.BATCH, loop.LENGTH + 1)).astype("<u2")
    saved, losses = steps.trained("llama", rows)
    config = steps.MODELS["llama"][1]
    with tempfile.TemporaryDirectory() as folder:
        for number, (form, write) in enumerate(FORMS.items()):
            work, name = pathlib.Path(folder) / str(number), form.split(":")[0]
            step = work / f"checkpoint-{loop.SAVED}" / name
            step.mkdir(parents=True)
            write(step, saved)
            (step.parent / "latest").write_text(name)
            config.save_pretrained(step.parent)
            said = both_ways.titan_ckpt("convert", step.parent, work / "ours", "--to", "titan")
            if "not taken: " in said or "the order of the ranks" in said:  # torch keeps the name of each rank's file
                both_ways.fail(f"{form}: the notes are\n{said}")
            both_ways.titan_ckpt("verify", step)
            steps.check_tensors(work / "ours", saved, work, config)
            steps.check_tensors(step, saved, work, config)
            steps.check_logits(step, "llama", saved, work)
            steps.check_model_alone(step, work)
            toml, tail = work / "run.toml", work / "tail.u16"
            toml.write_text(loop.TOML)
            if "stage 1" in form:
                check_without_optimizer(step, saved, work, toml)
                check_skipped(step, work, toml)
                check_dropout(step, work, toml)
            if "stage 3" not in form:
                continue
            exchange(step)
            both_ways.titan_ckpt("convert", step, work / "exchanged", expect=12)
            exchange(step)
            rows[loop.SAVED:].tofile(tail)
            both_ways.titan_ckpt("convert", step, loop.step_of(work / "run"), "--config", toml)
            settings = {"job.dump_folder": work / "run", "job.threads_per_rank": 1, "training.dataset_path": tail, "parallelism.data_parallel_shard_degree": 2}
            harness.train(toml, 2, settings, ("--allow", "training.dataset"))
            found = {n: float(line[1]) for n, line in harness.step_lines(work / "run").items() if n > loop.SAVED}
            gap = loop.compare("DeepSpeed's run continued here", found, {n: loss for n, loss in losses.items() if n > loop.SAVED})
            print(f"ten steps continued: losses within {gap:.1e}")
    print(f"{len(FORMS)} forms of DeepSpeed: every weight, moment and logit as it was trained")


if __name__ == "__main__":
    try:
        main()
    except (harness.Failure, subprocess.CalledProcessError) as failure:
        sys.exit(f"error: {failure}")
