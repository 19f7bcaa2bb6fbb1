#!/usr/bin/env python3
"""nanotron_steps.py: converts steps of nanotron, of any TP, PP, DP and ZeRO stage, tensor by tensor, and resumes a run from one; the same for Megatron-Core.

A model of transformers is trained for five steps under plain torch with AdamW and a scheduler. Its state is written as nanotron 1.2 to 1.5 lays it out:
projections fused and cut within each chunk, pairs of slices in the headers, moments by torch.save, whole or cut for ZeRO 1, masters as views into one
storage, rows of queries and keys in halves or interleaved, older names of shards. nanotron itself needs GPUs and does not run here; the layout is that of
nanotron's serialize/ and optim/zero.py at 2411b022, and shards are put together by its rule (merge_and_shard_tp_tensors) before they are written.
Every weight and moment is found again, `titan-train eval` of a step has transformers' logits (1e-5), what
`convert --to nanotron` writes is put together by nanotron's rule, and titan-train goes on from a step with losses within 1e-5 of the uninterrupted run.
What Megatron-Core itself saved (megatron_kept) has its weights, moments and logits here, and goes on with its next losses and learning rates.
TITAN_BIN names the folder of the programs. Exit 1 with a message at the first difference.
"""
import copy
import itertools
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import warnings

import numpy as np
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file
from transformers import LlamaConfig, LlamaForCausalLM, Qwen2Config, Qwen2ForCausalLM

import hf_dcp_round_trip as loop
import megatron_kept
import transformers_both_ways as both_ways
import transformers_logits

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
import harness  # noqa: E402

MODELS = {"llama": (LlamaForCausalLM, LlamaConfig(**loop.SMALL, **both_ways.rope(1e4))),
          "qwen2": (Qwen2ForCausalLM, Qwen2Config(**loop.SMALL, **both_ways.rope(1e6), tie_word_embeddings=True))}
# model, tp, pp, dp, ZeRO stage, whether gradients are summed in float32 (bf16 weights and masters), rope_interleaved, version
LAYOUTS = [("llama", 1, 1, 1, 0, False, False, "1.5"), ("llama", 2, 2, 1, 0, False, False, "1.4"), ("llama", 2, 1, 3, 1, True, True, "1.5"), ("qwen2", 2, 2, 2, 1, True, False, "1.2")]


def trained(kind, rows):
    """The model and its optimizer after SAVED steps, and the losses of all steps."""
    torch.manual_seed(7)
    model = MODELS[kind][0](MODELS[kind][1])
    for parameter in model.parameters():
        parameter.data.normal_(std=0.1)
    optimizer = torch.optim.AdamW(model.parameters(), **loop.ADAM)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, loop.rate)
    losses, saved = {}, None
    for step in range(loop.STEPS):
        tokens = torch.from_numpy(rows[step].astype(np.int64))
        loss = torch.nn.functional.cross_entropy(model(tokens[:, :-1]).logits.flatten(0, 1), tokens[:, 1:].flatten())
        loss.backward()
        optimizer.step()
        scheduler.step()
        optimizer.zero_grad()
        losses[step + 1] = loss.item()
        if step + 1 == loop.SAVED:
            names = [name for name, _ in model.named_parameters()]
            state = optimizer.state_dict()
            saved = {"weights": copy.deepcopy({name: model.state_dict()[name] for name in names}), "moments": {name: copy.deepcopy(state["state"][i]) for i, name in enumerate(names)},
                     "lr": state["param_groups"][0]["lr"], "scheduler": copy.deepcopy(scheduler.state_dict())}
    return saved, losses


def fused(tensors, config):
    """{nanotron's name: (tensor, lengths of the chunks that are cut for themselves, or "columns", or "whole")}"""
    out = {}
    for name, tensor in tensors.items():
        parts = name.split(".")
        if not name.startswith("model.layers."):
            full, how = {"model.embed_tokens.weight": ("model.token_position_embeddings.pp_block.token_embedding.weight", [len(tensor)]),
                         "model.norm.weight": ("model.final_layer_norm.pp_block.weight", "whole"), "lm_head.weight": ("model.lm_head.pp_block.weight", [len(tensor)])}[name]
            out[full] = (tensor, how)
            continue
        at = f"model.decoder.{parts[2]}.pp_block."
        for group, fused_name in ((("q_proj", "k_proj", "v_proj"), "attn.qkv_proj"), (("gate_proj", "up_proj"), "mlp.gate_up_proj")):
            if parts[-2] == group[0]:
                all_parts = [tensors[name.replace(group[0], one)] for one in group]
                out[f"{at}{fused_name}.{parts[-1]}"] = (torch.cat(all_parts), [len(one) for one in all_parts])
        if parts[-2] in ("o_proj", "down_proj"):
            out[f"{at}{'attn' if parts[-2] == 'o_proj' else 'mlp'}.{parts[-2]}.{parts[-1]}"] = (tensor, "columns")
        if parts[-2].endswith("layernorm"):
            out[f"{at}{parts[-2]}.{parts[-1]}"] = (tensor, "whole")
    return out


def cut(shape, how, tp, rank):
    """[(local slices, global slices)] of one rank."""
    if how == "columns":
        width = shape[1] // tp
        return [((slice(None), slice(None)), (slice(None), slice(rank * width, (rank + 1) * width)))]
    pairs, local, begin = [], 0, 0
    rest = tuple(slice(None) for _ in shape[1:])
    for length in how:
        part = length // tp
        pairs.append(((slice(local, local + part), *rest), (slice(begin + rank * part, begin + (rank + 1) * part), *rest)))
        local, begin = local + part, begin + length
    return pairs


def shard(tensor, pairs):
    sizes = [max(pair[0][d].stop or 0 for pair in pairs) or tensor[pairs[0][1]].shape[d] for d in range(tensor.dim())]
    out = torch.empty(sizes, dtype=tensor.dtype)
    for here, there in pairs:
        out[here] = tensor[there]
    whole = torch.full_like(tensor, float("nan"))  # nanotron's merge_and_shard_tp_tensors, of this shard
    for here, there in pairs:
        whole[there] = out[here]
    assert torch.equal(whole[~whole.isnan()], tensor[~whole.isnan()])
    return out


def text(pairs):
    def side(slices):
        return "|".join(",".join("None" if x is None else str(x) for x in (s.start, s.stop, s.step)) for s in slices)
    return ";".join(f"{side(here)}#{side(there)}" for here, there in pairs)


def stage_of(name, pp, layers):
    if pp == 1 or "token_embedding" in name:
        return 0
    return int(name.split(".")[2]) * pp // layers if name.startswith("model.decoder.") else pp - 1


def interleave(tensors, config):
    head = config.hidden_size // config.num_attention_heads
    return {name: tensor.reshape(-1, 2, head // 2, *tensor.shape[1:]).transpose(1, 2).reshape(tensor.shape) if "q_proj" in name or "k_proj" in name else tensor for name, tensor in tensors.items()}


def write_step(folder, saved, config, layout):
    kind, tp, pp, dp, zero, masters, interleaved, version = layout
    turn = (lambda tensors: interleave(tensors, config)) if interleaved else (lambda tensors: tensors)
    weights = fused(turn(saved["weights"]), config)
    moments = {slot: fused(turn({name: state[slot] for name, state in saved["moments"].items()}), config) for slot in ("exp_avg", "exp_avg_sq")}
    for name, (tensor, how) in weights.items():
        path = folder / "model" / pathlib.Path(*name.split(".")[:-1])
        path.mkdir(parents=True, exist_ok=True)
        suffix, stored = name.split(".")[-1], tensor.bfloat16() if masters else tensor
        if how == "whole":
            save_file({"data": stored.contiguous()}, path / f"model_{suffix}.safetensors", metadata={})
            continue
        for rank in range(tp):
            pairs, ranks = cut(tensor.shape, how, tp, rank), f"_pp-rank-{stage_of(name, pp, 2)}-of-{pp}_tp-rank-{rank}-of-{tp}"
            file = f"model_model_{suffix}.safetensors{ranks}.safetensors" if version == "1.2" else f"model_{suffix}{ranks}.safetensors"
            shape = tuple(np.int64(x) for x in tensor.shape) if version == "1.4" else tuple(tensor.shape)
            meta = {"version": version, "unsharded_shape": str(shape), "local_global_slices_pairs": text(pairs)}
            save_file({"data": shard(stored, pairs).contiguous()}, path / file, metadata=meta)
    (folder / "optimizer").mkdir()
    for p, t in itertools.product(range(pp), range(tp)):
        here = [name for name in weights if stage_of(name, pp, 2) == p]
        if p == pp - 1 and pp > 1 and config.tie_word_embeddings:
            here.append("model.token_position_embeddings.pp_block.token_embedding.weight")  # also on the last stage
        local = {name: {key: (value[name][0] if value[name][1] == "whole" else shard(value[name][0], cut(value[name][0].shape, value[name][1], tp, t)))
                        for key, value in (*moments.items(), ("master", weights))} for name in here}
        for d in range(dp if zero else 1):
            state, kept = {}, []
            for name in here:
                size = local[name]["exp_avg"].numel()
                per = -(-size // dp)
                sizes = [per - (rank >= dp - (per * dp - size)) for rank in range(dp)]
                begin = sum(sizes[:d])
                if zero and sizes[d] == 0:
                    continue
                def part(key, name=name, begin=begin, end=begin + sizes[d]):
                    return local[name][key].flatten()[begin:end].clone() if zero else local[name][key].clone()
                state[len(kept)] = {"step": torch.tensor(float(loop.SAVED)), "exp_avg": part("exp_avg"), "exp_avg_sq": part("exp_avg_sq")}
                kept.append((name, part("master")))
            group = dict(lr=saved["lr"], weight_decay=0.1, betas=loop.ADAM["betas"], eps=1e-8, amsgrad=False, maximize=False, foreach=None, capturable=False, differentiable=False,
                         fused=True, decoupled_weight_decay=True, initial_lr=loop.PEAK)
            content = {"state": state, "param_groups": [group | {"params": [i]} for i in range(len(kept))], "names": {i: name for i, (name, _) in enumerate(kept)}}
            if masters:
                storage = torch.cat([tensor.flatten() for _, tensor in kept])  # views into one storage, as nanotron has them
                views = torch.split(storage, [tensor.numel() for _, tensor in kept])
                content["gradient_accumulator"] = {name: view.view(tensor.shape).requires_grad_() for (name, tensor), view in zip(kept, views)}
            middle = f"_dp-{d}-of-{dp}" if zero else ""
            torch.save(content, folder / "optimizer" / f"optimizer_pp-{p}-of-{pp}{middle}_tp-{t}-of-{tp}_exp-0-of-1.pt")
    samples = loop.SAVED * loop.BATCH
    (folder / "checkpoint_metadata.json").write_text(json.dumps({"version": version, "tp": tp, "dp": dp, "cp": 1, "metas": {"last_train_step": loop.SAVED, "consumed_train_samples": samples}}))
    fields = ("hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads", "num_key_value_heads", "vocab_size", "rms_norm_eps", "tie_word_embeddings", "max_position_embeddings")
    (folder / "model_config.json").write_text(json.dumps({"is_llama_config" if kind == "llama" else "is_qwen2_config": True, "hidden_act": "silu", "rope_scaling": None, "use_cache": True,
                                                          "rope_theta": config.rope_parameters["rope_theta"], "rope_interleaved": interleaved, **{key: getattr(config, key) for key in fields}}))


def check_tensors(checkpoint, saved, work, config):
    """Every weight and moment of ours, through `cat`, in transformers' order."""
    both_ways.titan_ckpt("convert", checkpoint, work / "hf", "--to", "hf")
    for name, (_, _, data) in both_ways.raw_tensors(work / "hf").items():
        if data != saved["weights"][name].numpy().tobytes():
            both_ways.fail(f"{checkpoint}: {name} is not what was trained")
    shutil.rmtree(work / "hf")
    turned = {slot: interleave({name: state[slot] for name, state in saved["moments"].items()}, config) for slot in ("exp_avg", "exp_avg_sq")}
    ours = {"self_attn.q_proj.weight": "attention.wq.weight", "self_attn.k_proj.weight": "attention.wk.weight", "self_attn.v_proj.weight": "attention.wv.weight",
            "self_attn.o_proj.weight": "attention.wo.weight", "mlp.down_proj.weight": "feed_forward.w2.weight", "mlp.up_proj.weight": "feed_forward.w3.weight"}
    for slot, (theirs, name) in itertools.product(turned, ours.items()):
        both_ways.titan_ckpt("cat", checkpoint, f"layers.1.{name}.{slot}", "-o", work / "m.npy")
        if not np.array_equal(np.load(work / "m.npy"), turned[slot][f"model.layers.1.{theirs}"].numpy()):
            both_ways.fail(f"{checkpoint}: {slot} of {name} is not what was trained")
        (work / "m.npy").unlink()


def load(folder, name):
    """One rank's parameter as nanotron's load_weights finds it: the file of the rank, or all shards through their slices."""
    path = folder / "model" / pathlib.Path(*name.split(".")[:-1])
    suffix = name.split(".")[-1]
    exact = path / f"model_{suffix}.safetensors"
    if exact.exists():
        return load_file(exact)["data"]
    whole = None
    for file in sorted(path.glob(f"model_{suffix}*.safetensors")):
        with safe_open(file, framework="pt") as opened:
            words, data = opened.metadata(), opened.get_tensor("data")
        if whole is None:
            whole = torch.full([int(size) for size in words["unsharded_shape"].strip("()").split(",") if size], float("nan"))
        for pair in words["local_global_slices_pairs"].split(";"):
            here, there = (tuple(slice(*(None if x == "None" else int(x) for x in s.split(","))) for s in side.split("|")) for side in pair.split("#"))
            whole[there] = data[here]
    return whole


def check_export(checkpoint, saved, work, config):
    """What we write is what nanotron's loader takes apart again, for any number of tensor-parallel ranks."""
    both_ways.titan_ckpt("convert", checkpoint, work / "export", "--to", "nanotron")
    for name, (tensor, how) in fused(saved["weights"], config).items():
        found = load(work / "export", name)
        if not torch.equal(found, tensor):
            both_ways.fail(f"{checkpoint}: nanotron would load another {name}")


def check_logits(step, kind, saved, work):
    """`titan-train eval` of the step as it lies there."""
    model = MODELS[kind][0](MODELS[kind][1]).eval()
    model.load_state_dict(saved["weights"], strict=False)
    tokens = torch.arange(60)[None] * 7 % loop.VOCAB
    np.save(work / "rows.npy", tokens.numpy())
    with torch.no_grad():
        gap = (model(tokens).logits - transformers_logits.ours(step, work / "rows.npy", work)[0]).abs().max().item()
    if gap > transformers_logits.TOLERANCE:
        both_ways.fail(f"{step}: logits differ by {gap:.1e}")


def check_rules(step, saved, work):
    """--skip and --rename act on nanotron's names."""
    folder = work / "ruled"
    shutil.copytree(step, folder, ignore=shutil.ignore_patterns("optimizer"))
    (folder / "model/model/final_layer_norm").rename(folder / "model/model/last_norm")
    both_ways.titan_ckpt("convert", folder, work / "ruled-hf", "--to", "hf", "--rename", "model.last_norm.pp_block.weight=model.final_layer_norm.pp_block.weight")
    if both_ways.raw_tensors(work / "ruled-hf")["model.norm.weight"][2] != saved["weights"]["model.norm.weight"].numpy().tobytes():
        both_ways.fail(f"{step}: a norm that was renamed is not what was trained")
    both_ways.titan_ckpt("convert", step, work / "skipped", "--skip", "model.decoder.*.pp_block.attn.qkv_proj.weight", expect=13)  # missing, not unknown


def check_exchanged(step, work):
    """Files of two ranks in each other's place are damage: torch keeps the name under which it saved each."""
    folder = work / "exchanged"
    shutil.copytree(step, folder)
    first, second = sorted(path for path in (folder / "optimizer").glob("*.pt") if "pp-0" in path.name)[:2]
    first.rename(folder / "kept")
    second.rename(first)
    (folder / "kept").rename(second)
    both_ways.titan_ckpt("convert", folder, work / "exchanged-here", expect=12)


def check_model_alone(step, work):
    """A configuration of the model alone asks for no run: what is converted is what is converted without one."""
    toml = work / "model.toml"
    toml.write_text(re.search(r"^\[model\]\n(?:(?!\[).*\n)*", loop.TOML, re.M)[0])
    both_ways.titan_ckpt("convert", step, work / "model-alone", "--to", "titan", "--config", toml)
    both_ways.titan_ckpt("diff", work / "ours", work / "model-alone")


def megatrons(work):
    """Each of Megatron's kept steps."""
    count, worst = 0, 0
    for name, (saved, _, _, _, near) in megatron_kept.CASES.items():
        home, (folder, measured) = work / f"{name}-here", megatron_kept.unpack(name, work)
        step, toml, tail = home / "run" / "checkpoint" / f"step-{saved:08d}", home / "run.toml", home / "tail.u16"
        step.parent.mkdir(parents=True)
        toml.write_text(megatron_kept.config(name))
        np.array([megatron_kept.tokens(n) for n in range(saved, megatron_kept.STEPS)], dtype="<u2").tofile(tail)
        both_ways.titan_ckpt("convert", folder, step, "--to", "titan", "--config", toml)
        both_ways.titan_ckpt("verify", folder)
        count += megatron_kept.check_tensors(both_ways.titan_ckpt, step, folder / f"iter_{saved:07d}", work)
        if measured["logits"]:
            np.save(work / "rows.npy", np.array([megatron_kept.tokens(saved)[:megatron_kept.LENGTH]]))
            gap = np.abs(transformers_logits.ours(folder, work / "rows.npy", work)[0][0, -1].numpy() - np.array(measured["logits"])).max()
            if gap > transformers_logits.TOLERANCE:
                both_ways.fail(f"Megatron's {name}: logits differ by {gap:.1e}")
        harness.train(toml, 1, {"job.dump_folder": home / "run", "job.threads_per_rank": 1, "training.dataset_path": tail}, ("--allow", "training.dataset"))
        lines = {n: line for n, line in harness.step_lines(home / "run").items() if n > saved}
        gaps = {n: abs(float(line[1]) - measured["losses"][n - 1]) for n, line in lines.items()}
        rates = {n: abs(float(line[3]) / measured["rates"][n - 1] - 1) for n, line in lines.items()}
        if list(gaps) != list(range(saved + 1, megatron_kept.STEPS + 1)) or max(gaps.values()) > near or max(rates.values()) > 1e-12:
            both_ways.fail(f"Megatron's {name} continued here: losses differ by {gaps}, learning rates by {rates}")
        worst = max(worst, max(gaps.values()) if near <= 1e-5 else 0)
    print(f"{len(megatron_kept.CASES)} steps of Megatron-Core: {count} tensors as it held them, losses within {worst:.1e}, learning rates equal")


def main():
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    rows = np.random.default_rng(5).integers(0, loop.VOCAB, (loop.STEPS, loop.BATCH, loop.LENGTH + 1)).astype("<u2")
    runs = {kind: trained(kind, rows) for kind in MODELS}
    with tempfile.TemporaryDirectory() as folder:
        for number, layout in enumerate(LAYOUTS):
            work = pathlib.Path(folder) / str(number)
            step = work / "checkpoints" / str(loop.SAVED)
            step.mkdir(parents=True)
            config, (saved, losses) = MODELS[layout[0]][1], runs[layout[0]]
            write_step(step, saved, config, layout)
            both_ways.titan_ckpt("convert", f"{work}/checkpoints@latest", work / "ours")
            both_ways.titan_ckpt("verify", step)
            check_tensors(work / "ours", saved, work, config)
            check_tensors(step, saved, work, config)
            check_logits(step, layout[0], saved, work)
            check_export(work / "ours", saved, work, config)
            if number == 0:
                check_rules(step, saved, work)
            if number == 1:
                check_exchanged(step, work)
            if number != 2:
                continue
            check_model_alone(step, work)
            toml, tail = work / "run.toml", work / "tail.u16"
            toml.write_text(loop.TOML)
            rows[loop.SAVED:].tofile(tail)
            both_ways.titan_ckpt("convert", step, loop.step_of(work / "run"), "--config", toml)
            settings = {"job.dump_folder": work / "run", "job.threads_per_rank": 1, "training.dataset_path": tail, "parallelism.data_parallel_shard_degree": 2}
            harness.train(toml, 2, settings, ("--allow", "training.dataset"))
            found = {n: float(line[1]) for n, line in harness.step_lines(work / "run").items() if n > loop.SAVED}
            gap = loop.compare("nanotron's run continued here", found, {n: loss for n, loss in losses.items() if n > loop.SAVED})
            print(f"ten steps continued: losses within {gap:.1e}")
        megatrons(pathlib.Path(folder))
    print(f"{len(LAYOUTS)} layouts of nanotron: every weight, moment and logit as it was trained")


if __name__ == "__main__":
    try:
        main()
    except (harness.Failure, subprocess.CalledProcessError) as failure:
        sys.exit(f"error: {failure}")
