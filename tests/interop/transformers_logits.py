#!/usr/bin/env python3
"""transformers_logits.py: the logits of `titan-train eval` are those of transformers (1e-5, both in float32), whatever version runs this.

One way: tiny random models that transformers saves are evaluated as they lie there, converted to Titan's format and evaluated, and
exported again: transformers' logits of the source and of the export equal ours. The other way: models that titan-train trained for
some steps are exported, and transformers' logits of the export equal those of the run. The rows are longer than the context that
RoPE is scaled from, so a wrong scaling shows; where it depends on the length, shorter rows are compared too; rows of queries and keys in a wrong order show at any length.
TITAN_BIN names the folder of the programs. Exit 1 with a message at the first difference.
"""
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import torch
import transformers
from transformers import AutoModelForCausalLM, LlamaConfig, LlamaForCausalLM

import transformers_both_ways as both_ways

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
import harness  # noqa: E402

TOLERANCE = 1e-5
VOCAB, LENGTH, SHORT = both_ways.SMALL["vocab_size"], 180, 50  # SHORT < 60 < LENGTH: from 64 on RoPE is scaled, windows are of 60

# name: (class, configuration, element type, flags of save_pretrained, flags of the export)
CASES = {name: case[:5] for name, case in both_ways.CASES.items()} | {
    "llama, head_dim 6 in the configuration, one key head, llama3 scaling": (
        LlamaForCausalLM, LlamaConfig(**both_ways.SMALL | dict(num_key_value_heads=1), **both_ways.rope(1e4, both_ways.LLAMA3), head_dim=6), torch.bfloat16, {}, []),
}
SHAPE = {"model.dim": 40, "model.n_layers": 2, "model.ffn_dim": 72, "model.vocab_size": VOCAB}
TRAINED = {
    "grouped heads, llama3 scaling": {"model.n_heads": 4, "model.n_kv_heads": 2, "model.rope_theta": 10000.0, "model.rope_scaling": "llama3:8:1:4:64"},
    "head_dim 20, tied, llama3 scaling": {"model.n_heads": 4, "model.n_kv_heads": 1, "model.head_dim": 20, "model.tied_embeddings": True, "model.rope_scaling": "llama3:4:1:4:32"},
    "biases": {"model.n_heads": 4, "model.n_kv_heads": 2, "model.qkv_bias": True, "model.norm_eps": 1e-6},
    "biases, tied, head_dim 6, llama3 scaling": {"model.n_heads": 6, "model.n_kv_heads": 3, "model.head_dim": 6, "model.qkv_bias": True, "model.tied_embeddings": True,
                                                 "model.rope_theta": 10000.0, "model.rope_scaling": "llama3:8:1:4:64"},
    "norms of heads, head_dim 20, tied": {"model.name": "qwen3", "model.n_heads": 4, "model.n_kv_heads": 2, "model.head_dim": 20},
    "norms of heads, yarn": {"model.n_heads": 4, "model.n_kv_heads": 2, "model.qk_norm": True, "model.rope_scaling": "yarn:4:64"},
    "window in the first layer, norms of heads, tied": {"model.n_heads": 4, "model.qk_norm": True, "model.tied_embeddings": True, "model.sliding_window": 40, "model.sliding_window_layers": "0"},
    "norms after the blocks": {"model.n_heads": 4, "model.n_kv_heads": 2, "model.qk_norm": True, "model.whole_qk_norm": True, "model.post_norm": True},
    "experts": {"model.n_heads": 4, "model.n_kv_heads": 2, "model.n_experts": 4, "model.experts_per_token": 2, "model.route_norm": True},
    "dynamic": {"model.n_heads": 4, "model.rope_scaling": "dynamic:2:64"},
    "longrope": {"model.n_heads": 4, "model.rope_theta": 10000.0, "model.rope_scaling": "longrope:4:64:1.15:1,1,1.1,1.2,2:1,2,3,4,5"},
}


def ours(checkpoint, rows, work):
    out = work / "logits.npy"
    done = subprocess.run([harness.TRAIN, "eval", str(checkpoint), "--tokens", str(rows), "--logits", str(out), "--json"], capture_output=True, text=True)
    if done.returncode != 0:
        both_ways.fail(f"titan-train eval {checkpoint}: exit {done.returncode}\n{done.stderr}")
    return torch.from_numpy(np.load(out)), json.loads(done.stdout)["loss"]


def theirs(folder, tokens):
    """The logits and the mean loss of the model that transformers loads; it must take every tensor of the files and miss none."""
    model, info = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, output_loading_info=True)
    if any(info[key] for key in ("missing_keys", "unexpected_keys", "mismatched_keys")):
        both_ways.fail(f"transformers loads {folder} with {info}")
    with torch.no_grad():
        logits = model.eval()(tokens).logits
    return logits, torch.nn.functional.cross_entropy(logits[:, :-1].flatten(0, 1), tokens[:, 1:].flatten()).item()


def compare(what, found, expected):
    """Returns how far apart the logits are. Logits that are all alike would show nothing."""
    gap, loss_gap = (found[0] - expected[0]).abs().max().item(), abs(found[1] - expected[1])
    if expected[0].std() < 0.05:
        both_ways.fail(f"{what}: the logits hardly differ (standard deviation {expected[0].std():.2g}): the comparison would show nothing")
    if not (gap <= TOLERANCE and loss_gap <= TOLERANCE):
        both_ways.fail(f"{what}: logits differ by up to {gap:.2g}, the loss by {loss_gap:.2g}; {TOLERANCE} is allowed")
    return gap


def converted(case, tokens, rows, work):
    cls, config, dtype, saving, exporting = CASES[case]
    torch.manual_seed(11)
    model = cls(config).to(dtype)
    for parameter in model.parameters():
        parameter.data.normal_(std=0.3)
    source, titan, back = work / "source", work / "titan", work / "back"
    model.save_pretrained(source, **saving)
    both_ways.titan_ckpt("convert", source, titan)
    both_ways.titan_ckpt("convert", titan, back, "--to", "hf", *exporting)
    expected = theirs(source, tokens)
    gaps = [compare(f"{case}: eval of transformers' folder", ours(source, rows, work), expected)]
    of_titan = ours(titan, rows, work)
    if any(kind in case for kind in (*both_ways.LENGTHS, "window")):
        np.save(work / "short.npy", tokens[:, :SHORT].numpy())
        gaps.append(compare(f"{case}: rows of {SHORT}", ours(source, work / "short.npy", work), theirs(source, tokens[:, :SHORT])))
    gaps += [compare(f"{case}: eval of the converted checkpoint", of_titan, expected), compare(f"{case}: transformers on the export", of_titan, theirs(back, tokens))]
    # A folder that the other major version of transformers saved describes RoPE in words that this one passes over.
    in_the_words_of_the_other_version(source / "config.json")
    both_ways.titan_ckpt("convert", source, work / "titan2")
    both_ways.titan_ckpt("convert", work / "titan2", work / "back2", "--to", "hf", *exporting)
    gaps.append(compare(f"{case}: transformers on the export of the other version's folder", of_titan, theirs(work / "back2", tokens)))
    return max(gaps)


def in_the_words_of_the_other_version(path):
    config = json.loads(path.read_text())
    five, scaling, theta = (config.pop(key, None) for key in ("rope_parameters", "rope_scaling", "rope_theta"))
    if five:
        theta = five.pop("rope_theta")
        config |= {"rope_theta": theta, "rope_scaling": five if five["rope_type"] != "default" else None}
    else:
        config["rope_parameters"] = {"rope_theta": theta, **(scaling or {"rope_type": "default"})}
    path.write_text(json.dumps(config))


def trained(case, tokens, rows, work):
    run = work / "run"
    harness.train("", 2, {"job.dump_folder": run, "job.threads_per_rank": 1, "training.dataset": "tokens", "training.dataset_path": work / "train.bin", "training.seq_len": 96,
                          "training.local_batch_size": 2, "training.global_batch_size": 4, "training.steps": 4, "training.mixed_precision_param": "float32", "optimizer.lr": 0.03,
                          "lr_scheduler.warmup_steps": 0, "debug.seed": 5, "parallelism.pipeline_parallel_degree": 2, **SHAPE, **TRAINED[case]})
    export = work / "export"
    both_ways.titan_ckpt("convert", f"{run}@latest", export, "--to", "hf")
    found = ours(f"{run}@latest", rows, work)
    return max(compare(f"trained: {case}", found, theirs(export, tokens)), compare(f"trained: {case}: eval of the export", ours(export, rows, work), found))


def main():
    torch.set_num_threads(1)
    transformers.utils.logging.disable_progress_bar()
    tokens = torch.from_numpy(np.random.default_rng(3).integers(0, VOCAB, (2, LENGTH)))
    largest = 0.0
    for name, check in [(name, converted) for name in CASES] + [(name, trained) for name in TRAINED]:
        with tempfile.TemporaryDirectory() as folder:
            work = pathlib.Path(folder)
            np.save(work / "rows.npy", tokens.numpy())
            harness.write_tokens(work / "train.bin", 8000, VOCAB)
            gap = check(name, tokens, work / "rows.npy", work)
            print(f"{'trained: ' if check is trained else ''}{name}: {gap:.1e}", flush=True)
            largest = max(largest, gap)
    print(f"transformers {transformers.__version__}: {len(CASES)} models of theirs, {len(TRAINED)} trained here; logits differ by at most {largest:.1e}")


if __name__ == "__main__":
    try:
        main()
    except harness.Failure as failure:
        sys.exit(f"error: {failure}")
