#!/usr/bin/env python3
"""Compares the logits and the loss of `titan-train eval` with plain PyTorch on the same weights (1e-5), for models that converted
checkpoints need: query, key and value biases (Qwen2), RoPE scaled as in Llama 3.1, grouped heads, a head dim of its own, a tied head.

Trains each for three steps, reads every tensor with `titan-ckpt cat`, and computes with tests/interop/reference_train.py, which
shares no code with the trainer. TITAN_BIN names the folder of the programs.
"""
import argparse
import json
import pathlib
import shutil
import subprocess
import sys

import numpy as np
import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
import harness  # noqa: E402
import reference_train as reference  # noqa: E402

SEQ, VOCAB = 96, 200
MODELS = {
    "plain": {"model.dim": 64, "model.n_layers": 2, "model.n_heads": 4, "model.ffn_dim": 96},
    "qwen2-like": {"model.dim": 56, "model.n_layers": 3, "model.n_heads": 4, "model.n_kv_heads": 2, "model.head_dim": 14, "model.ffn_dim": 100, "model.qkv_bias": True,
                   "model.tied_embeddings": True, "model.norm_eps": 1e-6, "model.rope_theta": 1000000.0},
    "llama3.1-like": {"model.dim": 64, "model.n_layers": 2, "model.n_heads": 4, "model.n_kv_heads": 1, "model.head_dim": 32, "model.ffn_dim": 96,
                      "model.rope_theta": 10000.0, "model.rope_scaling": "llama3:8:1:4:64"},
}


def arguments(model):
    key = lambda name, default: model.get("model." + name, default)
    heads = key("n_heads", 4)
    return argparse.Namespace(dim=key("dim", 0), n_layers=key("n_layers", 0), n_heads=heads, n_kv_heads=key("n_kv_heads", heads), head_dim=key("head_dim", key("dim", 0) // heads),
                              ffn_dim=key("ffn_dim", 0), vocab_size=VOCAB, norm_eps=key("norm_eps", 1e-5), rope_theta=key("rope_theta", 500000.0), tied=key("tied_embeddings", False),
                              qkv_bias=key("qkv_bias", False), rope_scaling=key("rope_scaling", None))


def weights_of(run, folder, shapes):
    folder.mkdir()
    for name in shapes:
        subprocess.run([harness.CKPT, "cat", f"{run}@latest", name, "-o", str(folder / (name + ".npy"))], check=True, capture_output=True)
    return reference.load_weights(str(folder), shapes)


def compare(name, model, work):
    run = work / name
    base = {"job.dump_folder": run, "training.dataset": "tokens", "training.dataset_path": work / "train.bin", "model.vocab_size": VOCAB, "training.seq_len": SEQ,
            "training.local_batch_size": 2, "training.global_batch_size": 4, "training.steps": 3, "training.mixed_precision_param": "float32", "optimizer.lr": 0.03,
            "lr_scheduler.warmup_steps": 0, "debug.seed": 5, "job.threads_per_rank": 1}
    # Two stages: evaluation reads any layout. The high learning rate moves biases away from their zeros.
    harness.train("", 2, {**base, **model, "parallelism.pipeline_parallel_degree": 2})
    a = arguments(model)
    shapes = reference.parameter_shapes(a)
    weights = weights_of(run, work / (name + "-weights"), shapes)
    if a.qkv_bias and not all(weights[n].abs().max() > 1e-3 for n in shapes if n.endswith(".bias")):
        raise harness.Failure("the biases did not move: the comparison would show nothing")

    rows = np.random.default_rng(3).integers(0, VOCAB, (3, SEQ))
    np.save(work / "rows.npy", rows.astype("<i4"))
    rows.astype("<u2").tofile(work / "rows.bin")
    logits_file = work / (name + ".npy")
    results = []
    for tokens, flags in ((work / "rows.npy", ["--logits", str(logits_file)]), (work / "rows.bin", ["--seq-len", str(SEQ)])):
        done = subprocess.run([harness.TRAIN, "eval", f"{run}@latest", "--tokens", str(tokens), "--json", *flags], capture_output=True, text=True)
        if done.returncode != 0:
            raise harness.Failure(done.stderr)
        results.append(json.loads(done.stdout))
    if results[0]["loss"] != results[1]["loss"]:
        raise harness.Failure(f"{name}: the loss on .npy and on raw tokens differs: {results}")

    with torch.no_grad():
        tokens = torch.from_numpy(rows)
        expected = reference.logits_of(tokens, weights, a, reference.rope_frequencies(a.head_dim, SEQ, a.rope_theta, a.rope_scaling))
        loss = torch.nn.functional.cross_entropy(expected[:, :-1].flatten(0, 1), tokens[:, 1:].flatten()).item()
    found = np.load(logits_file)
    if found.shape != (3, SEQ, VOCAB) or found.dtype != np.float32:
        raise harness.Failure(f"{name}: logits are {found.dtype} {found.shape}")
    gap, loss_gap = np.abs(found - expected.numpy()).max(), abs(results[0]["loss"] - loss)
    print(f"{name}: logits differ by at most {gap:.1e}, losses by {loss_gap:.1e} (loss {loss:.4f}, {results[0]['predictions']} predictions)")
    if not (gap <= 1e-5 and loss_gap <= 1e-5 and results[0]["predictions"] == 3 * (SEQ - 1) and results[0]["tokens"] == 3 * SEQ):
        raise harness.Failure(f"{name}: too far from PyTorch")


def main():
    torch.set_num_threads(1)
    work = harness.scratch("eval")
    harness.write_tokens(work / "train.bin", 20000, VOCAB)
    for name, model in MODELS.items():
        compare(name, model, work)
    shutil.rmtree(work)


if __name__ == "__main__":
    try:
        main()
    except harness.Failure as failure:
        sys.exit(f"error: {failure}")
