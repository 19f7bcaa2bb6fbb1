#!/usr/bin/env python3
"""hf_dcp_round_trip.py: a run of a transformers model under plain torch is resumed here from its DCP directory, and the other way round.

Forth: models of transformers are trained for five steps under FSDP2 (2 ranks of Gloo), FSDP2 x TP (4) and unsharded, with AdamW and a
scheduler, and saved by torch.distributed.checkpoint with Hugging Face's names; once in the two folders that accelerate makes, once as
transformers 5 does it, the model in shards of safetensors and the optimizer by save_optimizer_distributed. They go on there, and here after `convert --to titan --config`: ten steps have losses within 1e-5. Our step through a DCP directory with Hugging Face's names and
back has its id. What the real accelerate saved of a run (accelerate_kept) goes on here, too. Back: trained here, `convert --to dcp --names hf`, loaded there with set_state_dict, load_optimizer_distributed, or by what
docs/formats.md tells.
TITAN_BIN names the folder of the programs. Exit 1 with a message at the first difference.
"""
import json
import logging
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import warnings

import numpy as np
import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
import transformers
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FullyShardedDataParallel, ShardedStateDictConfig, StateDictType, fully_shard
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
from transformers import (LlamaConfig, LlamaForCausalLM, MixtralConfig, MixtralForCausalLM, Qwen2Config, Qwen2ForCausalLM, Qwen3Config, Qwen3ForCausalLM,
                          Qwen3MoeConfig, Qwen3MoeForCausalLM)
from transformers.distributed import load_optimizer_distributed, save_optimizer_distributed
from transformers.distributed.checkpoint import _save_model_checkpoint_distributed

import accelerate_kept
import transformers_both_ways as both_ways

torch.set_num_threads(1)  # before ranks are forked
ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "e2e"))
import harness  # noqa: E402

VOCAB, LENGTH, BATCH, SAVED, STEPS, WARMUP, PEAK, LEAST = 256, 32, 4, 5, 15, 2, 2e-3, 0.1
SMALL = dict(vocab_size=VOCAB, hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=128)
ADAM = dict(lr=PEAK, betas=(0.9, 0.95), eps=1e-8, weight_decay=0.1)
# name: (class, configuration, keys of ours, (FSDP, TP), whether transformers itself saves, and loads the optimizer, folders)
CASES = {
    "llama under FSDP2, in accelerate's folders": (LlamaForCausalLM, LlamaConfig(**SMALL, **both_ways.rope(1e4)), {}, (2, 1), False, ("pytorch_model_fsdp_0", "optimizer_0")),
    "llama, head_dim 24, under FSDP2 x TP": (LlamaForCausalLM, LlamaConfig(**SMALL, **both_ways.rope(1e4), head_dim=24), {"model.head_dim": 24}, (2, 2), True, ()),
    "qwen2 with biases, tied": (Qwen2ForCausalLM, Qwen2Config(**SMALL, **both_ways.rope(1e6), tie_word_embeddings=True),
                                                        {"model.qkv_bias": True, "model.tied_embeddings": True, "model.rope_theta": 1e6}, (1, 1), False, ("",)),
    "qwen3 with norms of heads": (Qwen3ForCausalLM, Qwen3Config(**SMALL, **both_ways.rope(1e6), head_dim=24),
                                  {"model.name": "qwen3", "model.head_dim": 24, "model.tied_embeddings": False, "model.rope_theta": 1e6}, (1, 1), False, ("",)),
}
# Models of experts are not written to DCP: these go on here alone. Their loop adds no balance loss, and their config.json says so.
ROUTED = dict(rms_norm_eps=1e-6, num_experts_per_tok=2, router_aux_loss_coef=0.02, tie_word_embeddings=False)
EXPERTS = {
    "mixtral": (MixtralForCausalLM, MixtralConfig(**SMALL, **ROUTED, **both_ways.rope(1e4), num_local_experts=4, sliding_window=None), {}, (1, 1), False, ("",)),
    "qwen3-moe": (Qwen3MoeForCausalLM, Qwen3MoeConfig(**SMALL, **ROUTED, **both_ways.rope(1e6), num_experts=4, moe_intermediate_size=128, norm_topk_prob=True, head_dim=16),
                  {"model.rope_theta": 1e6}, (1, 1), False, ("",)),
}
CASES |= EXPERTS
TOML = f"""
[model]
dim = 64
n_layers = 2
n_heads = 4
n_kv_heads = 2
ffn_dim = 128
vocab_size = {VOCAB}
norm_eps = 1e-6
rope_theta = 1e4
rope_scaling = "none"
[optimizer]
lr = {PEAK}
beta1 = {ADAM["betas"][0]}
beta2 = {ADAM["betas"][1]}
eps = {ADAM["eps"]}
weight_decay = {ADAM["weight_decay"]}
[lr_scheduler]
warmup_steps = {WARMUP}
min_lr_factor = {LEAST}
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
[checkpoint]
interval = 5
"""


VERL = "llama under FSDP2, in accelerate's folders"  # is saved so as well


def rate(n):
    """The factor of the n-th step, from 0 on: our curve, as a LambdaLR has it."""
    return (n + 1) / WARMUP if n < WARMUP else LEAST + (1 - LEAST) * (1 - max(n - WARMUP, 0) / (STEPS - WARMUP))


def sharded(model, mesh):
    if mesh["tp"].size() > 1:
        plan = {f"{part}_proj": ColwiseParallel() for part in ("self_attn.q", "self_attn.k", "self_attn.v", "mlp.gate", "mlp.up")}
        plan |= {"self_attn.o_proj": RowwiseParallel(), "mlp.down_proj": RowwiseParallel()}
        for layer in model.model.layers:
            parallelize_module(layer, mesh["tp"], plan)
    for part in (*model.model.layers, model):
        fully_shard(part, mesh=mesh["dp"])
    return model


def save_as_verl(model, optimizer, cls, config, folder, rank, world):
    """As verl's FSDPCheckpointManager saves an actor of FSDP2: a pickle of each rank; and the weights as it saves them under FSDP1, in ShardedTensors."""
    whole = {name: tensor.full_tensor() for name, tensor in model.state_dict().items()}
    states = {"verl/global_step_5/actor": {"model": model.state_dict(), "optim": optimizer.state_dict()}}
    older = FullyShardedDataParallel(cls(config), device_id=torch.device("cpu"), use_orig_params=True)
    with FullyShardedDataParallel.state_dict_type(older, StateDictType.FULL_STATE_DICT):
        older.load_state_dict(whole)
    with FullyShardedDataParallel.state_dict_type(older, StateDictType.SHARDED_STATE_DICT, ShardedStateDictConfig()):
        states["fsdp1"] = {"model": older.state_dict()}
    for place, files in states.items():
        (folder / place).mkdir(parents=True, exist_ok=True)
        for what, state in files.items():
            torch.save(state, folder / place / f"{what}_world_size_{world}_rank_{rank}.pt")
        if rank == 0:
            config.save_pretrained(folder / place / "huggingface")


def run_rank(rank, port, case, job):
    """Trains steps job["first"] + 1 to job["last"] on rows [step][batch][length + 1], and writes the losses."""
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)  # of DTensor, how transformers redistributes
    cls, config, _, (fsdp, tp), by_transformers, folders = CASES[case]
    dist.init_process_group("gloo", store=dist.TCPStore("127.0.0.1", port), rank=rank, world_size=fsdp * tp)
    torch.manual_seed(7)
    if job.get("load") and fsdp == 1:
        names = {"FOLDER": job["load"], "RATE": rate}
        exec(example(), names)
        model, optimizer, scheduler = names["model"], names["optimizer"], names["scheduler"]
    else:
        model = cls(config)
        for parameter in model.parameters():
            parameter.data.normal_(std=0.1)
        if fsdp > 1:
            model = sharded(model, init_device_mesh("cpu", (fsdp, tp), mesh_dim_names=("dp", "tp")))
        optimizer = torch.optim.AdamW(model.parameters(), **ADAM)
        scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, rate)
        if job.get("load"):
            weights, moments = get_state_dict(model, optimizer)
            state = {"model": weights, "lr_scheduler": scheduler.state_dict()} | ({} if by_transformers else {"optimizer": moments})
            dcp.load(state, checkpoint_id=job["load"])
            set_state_dict(model, optimizer, model_state_dict=weights, optim_state_dict=moments)
            if by_transformers:
                load_optimizer_distributed(model, optimizer, job["load"])
            scheduler.load_state_dict(state["lr_scheduler"])
    dp = rank // tp
    losses = []
    for step in range(job["first"], job["last"]):
        rows = torch.from_numpy(job["rows"][step, dp::fsdp].astype(np.int64))
        logits = model(rows[:, :-1]).logits
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), rows[:, 1:].flatten())
        loss.backward()
        optimizer.step()
        scheduler.step()
        optimizer.zero_grad()
        mean = loss.detach().clone()
        dist.all_reduce(mean)
        losses.append(mean.item() / (fsdp * tp))
        if step + 1 == SAVED and job.get("save"):
            parts = dict(zip(("model", "optimizer"), get_state_dict(model, optimizer)))
            if by_transformers:
                pathlib.Path(job["save"]).mkdir(exist_ok=True)
                _save_model_checkpoint_distributed(model, job["save"])  # as save_pretrained(..., distributed_checkpoint=True) does
                save_optimizer_distributed(model, optimizer, f"{job['save']}/optimizer")
            if case == VERL:
                save_as_verl(model, optimizer, cls, config, pathlib.Path(job["save"]), rank, fsdp)
            for folder, state in zip(folders, [parts] if len(folders) == 1 else [{name: part} for name, part in parts.items()]):
                dcp.save(state, checkpoint_id=f"{job['save']}/{folder}")
    if rank == 0:
        pathlib.Path(job["losses"]).write_text(json.dumps(losses))
    dist.barrier()
    # A thread of torch's is at times still there when the interpreter ends, which then aborts.
    sys.stdout.flush()
    __import__("os")._exit(0)


def theirs(case, work, rows, first, last, **job):
    store = dist.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
    fsdp, tp = CASES[case][3]
    job |= {"rows": rows, "first": first, "last": last, "losses": str(work / "losses.json")}
    torch.multiprocessing.start_processes(run_rank, args=(store.port, case, job), nprocs=fsdp * tp, start_method="fork")
    return dict(enumerate(json.loads((work / "losses.json").read_text()), first + 1))


def example():
    """The Python that docs/formats.md shows for such a directory."""
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "formats.md").read_text(), re.S)
    return next(block for block in blocks if "set_state_dict" in block)


def ours(toml, run, data, case, *extra, expect=0, **more):
    settings = CASES[case][2] | {"job.dump_folder": run, "job.threads_per_rank": 1, "training.dataset_path": data, "parallelism.data_parallel_shard_degree": 2}
    harness.train(toml, 2, settings | {key.replace("__", "."): value for key, value in more.items()}, extra, expect=expect)
    return {step: float(line[1]) for step, line in harness.step_lines(run).items() if step > SAVED}


def compare(what, found, expected):
    if sorted(found) != sorted(expected) or len(found) != STEPS - SAVED:
        both_ways.fail(f"{what}: steps {sorted(found)} and {sorted(expected)}")
    gap = max(abs(found[step] - expected[step]) for step in found)
    if gap > 1e-5:
        both_ways.fail(f"{what}: losses differ by {gap:.1e}: {found} {expected}")
    return gap


def step_of(run):
    step = run / "checkpoint" / f"step-{SAVED:08d}"
    step.parent.mkdir(parents=True)
    return step


def forth(case, toml, work, rows):
    folder = work / f"checkpoint-{SAVED}"
    expected = theirs(case, work, rows, 0, STEPS, save=str(folder))
    CASES[case][1].save_pretrained(folder)
    step, tail = step_of(work / "run"), work / "tail.u16"
    rows[SAVED:].tofile(tail)
    both_ways.titan_ckpt("convert", folder, step, "--to", "titan", "--config", toml)
    both_ways.titan_ckpt("convert", step, work / "out", "--to", "dcp", "--names", "hf")
    both_ways.titan_ckpt("convert", work / "out", step_of(work / "again"), "--config", toml)
    ids = {harness.checkpoint_id(work / name, SAVED) for name in ("run", "again")}
    if len(ids) != 1:
        both_ways.fail(f"{case}: through a DCP directory and back the id is another: {ids}")
    if case == VERL:
        verls(folder, toml, work, step)
    if CASES[case][4]:
        last_shard(folder, toml, work)
    found = ours(toml, work / "run", tail, case, "--allow", "training.dataset")
    return compare(f"{case}, continued here", found, {step: loss for step, loss in expected.items() if step > SAVED})


def last_shard(folder, toml, work):
    """Nothing in the shards says how many there are. Under FSDP x TP the parts of the others leave holes; under FSDP alone: interop.users, `shards_lack_last`."""
    cut = work / "cut"
    shutil.copytree(folder, cut)
    last = max(cut.glob("shard-*.safetensors"))
    last.unlink()
    said = both_ways.titan_ckpt("convert", cut, work / "of-cut", "--to", "titan", "--config", toml, expect=12)
    if "its chunks hold 6144 of 8192 elements" not in said:
        both_ways.fail(f"without {last.name}: {said}")


def experts(case, toml, work, rows):
    """The configuration says nothing of the balance loss: what config.json says holds, at the conversion, at the first start and at every later one."""
    folder = work / f"checkpoint-{SAVED}"
    expected = theirs(case, work, rows, 0, STEPS, save=str(folder))
    CASES[case][1].save_pretrained(folder)
    run, tail = work / "run", work / "tail.u16"
    rows[SAVED:].tofile(tail)
    said = both_ways.titan_ckpt("convert", folder, step_of(run), "--to", "titan", "--config", toml)
    if "training.router_aux_loss = 0.0" not in said:
        both_ways.fail(f"{case}: the conversion does not say which balance loss the run has: {said}")
    for stop, code in ((10, 75), (STEPS, 0)):
        found = ours(toml, run, tail, case, "--allow", "training.dataset", expect=code, debug__stop_at_step=stop)
    other = harness.train(toml, 1, {"job.dump_folder": run, "training.dataset_path": tail, "training.router_aux_loss": 0.02, "training.steps": STEPS + 1}, (), expect=13)[1]
    if "training.router_aux_loss" not in other:
        both_ways.fail(f"{case}: another balance loss is not shown: {other}")
    return compare(f"{case}, continued here", found, {step: loss for step, loss in expected.items() if step > SAVED})


def verls(folder, toml, work, step):
    """verl's pickles of ranks hold what the DCP directory of the same moment does: every weight, and with the configuration the optimizer."""
    source = folder / "verl" / "global_step_5"
    both_ways.titan_ckpt("convert", source, step_of(work / "verl"), "--to", "titan", "--config", toml)
    ids = {harness.checkpoint_id(work / name, SAVED) for name in ("run", "verl")}
    if len(ids) != 1:
        both_ways.fail(f"verl's files of ranks: another id than that of the DCP directory: {ids}")
    said = both_ways.titan_ckpt("convert", source / "actor", work / "verl-weights", "--to", "titan")
    if "the weights alone are taken" not in said:
        both_ways.fail(f"verl's weights alone: {said}")
    for name, more in (("actor", []), ("FSDP1", ["--from", "verl"])):
        path = source / "actor" if name == "actor" else folder / "fsdp1"
        both_ways.titan_ckpt("convert", path, work / f"weights-{name}", "--to", "titan", *more)
        if "21 tensors equal, 0 different" not in (text := both_ways.titan_ckpt("diff", step, work / f"weights-{name}", "--only", "*.weight")):
            both_ways.fail(f"verl's weights of {name} differ: {text}")
    (source / "actor" / "model_world_size_2_rank_1.pt").unlink()
    lacks = subprocess.run([harness.CKPT, "inspect", source], capture_output=True, text=True, timeout=300)
    if lacks.returncode != 12 or "lacks model_world_size_2_rank_1.pt" not in lacks.stderr:
        both_ways.fail(f"verl's files without the second rank's: {lacks.returncode} {lacks.stderr}")


def back(case, toml, work, rows):
    run, data, folder = work / "ours", work / "data.u16", work / "theirs"
    rows.tofile(data)
    ours(toml, run, data, case, expect=75, debug__stop_at_step=SAVED)
    both_ways.titan_ckpt("convert", f"{run}@{SAVED}", folder, "--to", "dcp", "--names", "hf")
    expected = ours(toml, run, data, case)
    if "tensors that both have" not in both_ways.titan_ckpt("diff", f"{run}@{SAVED}", folder):
        both_ways.fail(f"{case}: diff finds the directory different")
    found = theirs(case, work, rows, SAVED, STEPS, load=str(folder))
    return compare(f"{case}, continued there", found, expected)


def accelerates(work):
    """Folders of accelerate's own save_state, FSDP2's shards and the plain one, go on here with the optimizer; a run that begins from the weights alone has
    the same first loss. So does a folder of transformers' Trainer. accelerate goes on from ours in accelerate_kept/ours_goes_on.py, by hand."""
    toml, tail = work / "run.toml", work / "tail.u16"
    toml.write_text(accelerate_kept.CONFIG)
    np.array([accelerate_kept.tokens(step) for step in range(SAVED, STEPS)], dtype="<u2").tofile(tail)
    settings = {"job.threads_per_rank": 1, "training.dataset_path": tail}

    def losses(run, first):
        return {step: float(line[1]) for step, line in harness.step_lines(run).items() if step >= first}

    folder, expected = accelerate_kept.unpack("sharded", work)
    step, run = step_of(work / "run"), work / "run"
    said = both_ways.titan_ckpt("convert", folder, step, "--to", "titan", "--config", toml)
    if "84 written" not in said:
        both_ways.fail(f"accelerate: not model, moments and counts of 21 parameters: {said}")
    for left in ("custom_checkpoint_0.pkl", "random_states_0.pkl"):
        if left not in said:
            both_ways.fail(f"accelerate: {left} is left behind without a word: {said}")
    harness.train(toml, 1, settings | {"job.dump_folder": run}, ("--allow", "training.dataset"))
    gap = compare("accelerate's FSDP2, continued here", losses(run, SAVED + 1), {n: loss for n, loss in expected.items() if n > SAVED})
    alone = both_ways.titan_ckpt("convert", folder / "pytorch_model_fsdp_0", work / "alone", "--to", "titan")
    if "optimizer_0" not in alone:
        both_ways.fail(f"accelerate: the optimizer beside the model is not named: {alone}")

    plain, of_plain = accelerate_kept.unpack("plain", work)
    said = both_ways.titan_ckpt("convert", plain, step_of(work / "plain-goes-on"), "--to", "titan", "--config", toml)
    if "63 written" not in said or "'optimizer.bin'" in said:
        both_ways.fail(f"accelerate's plain folder: the optimizer is not taken: {said}")
    harness.train(toml, 1, settings | {"job.dump_folder": work / "plain-goes-on"}, ("--allow", "training.dataset"))
    gap = max(gap, compare("accelerate's plain folder, continued here", losses(work / "plain-goes-on", SAVED + 1), {n: loss for n, loss in of_plain.items() if n > SAVED}))
    said = both_ways.titan_ckpt("convert", plain, work / "weights", "--to", "titan")
    if not all(name in said for name in ("optimizer.bin", "custom_checkpoint_0.pkl", "random_states_0.pkl")):
        both_ways.fail(f"accelerate's plain folder: what is left behind is not named: {said}")
    harness.train(toml, 1, settings | {"job.dump_folder": work / "plain-run", "debug.stop_at_step": 1}, ("--init-from", str(plain)), expect=75)
    first = losses(work / "plain-run", 1)[1]
    if abs(first - of_plain[SAVED + 1]) > 1e-5:
        both_ways.fail(f"accelerate's plain folder: the first loss is {first}, expected {of_plain[SAVED + 1]}")

    # transformers' Trainer: a curve without a warm-up, to 0, and norms in a group of their own.
    trainer, of_trainer = accelerate_kept.unpack("trainer", work)
    toml.write_text(accelerate_kept.CONFIG.replace("warmup_steps = 2", "warmup_steps = 0").replace("min_lr_factor = 0.1", "min_lr_factor = 0.0"))
    said = both_ways.titan_ckpt("convert", trainer, step_of(work / "trainer-goes-on"), "--to", "titan", "--config", toml)
    if "'scheduler.pt'" not in said or "'optimizer.pt'" in said:
        both_ways.fail(f"the Trainer's folder: the optimizer is not taken: {said}")
    harness.train(toml, 1, settings | {"job.dump_folder": work / "trainer-goes-on"}, ("--allow", "training.dataset"))
    gap = max(gap, compare("the Trainer's folder, continued here", losses(work / "trainer-goes-on", SAVED + 1), {n: loss for n, loss in of_trainer.items() if n > SAVED}))
    print(f"accelerate's own folders: losses within {gap:.1e} here", flush=True)


def main():
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        rows = np.random.default_rng(5).integers(0, VOCAB, (STEPS, BATCH, LENGTH + 1)).astype("<u2")
        for number, case in enumerate(CASES):
            work = pathlib.Path(folder) / str(number)
            work.mkdir()
            toml = work / "run.toml"
            toml.write_text(TOML)
            for key, value in CASES[case][2].items():  # convert reads the file alone
                name, text = key.split(".")[1], json.dumps(value)
                toml.write_text(re.sub(rf"^{name} = .*\n", "", toml.read_text(), flags=re.M).replace("[model]\n", f"[model]\n{name} = {text}\n"))
            if case in EXPERTS:
                print(f"{case}: losses within {experts(case, toml, work, rows):.1e} here", flush=True)
            else:
                gaps = forth(case, toml, work, rows), back(case, toml, work, rows)
                print(f"{case}: losses within {gaps[0]:.1e} here and {gaps[1]:.1e} there", flush=True)
            shutil.rmtree(work)
        accelerates(pathlib.Path(folder))


if __name__ == "__main__":
    try:
        main()
    except (harness.Failure, subprocess.CalledProcessError) as failure:
        sys.exit(f"error: {failure}")
