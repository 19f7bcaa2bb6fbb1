#!/usr/bin/env python3
"""Trains a Llama in plain PyTorch, to compare titan-train with a program that shares no code with it.

Reads initial weights and token batches, trains with torch's own operations (complex RoPE, softmax attention written
out, torch.optim.AdamW, clip_grad_norm_, mean cross-entropy over the whole batch), and prints one JSON line per step:
{"step", "loss", "grad_norm", "lr"}; with --validation a last line {"step", "validation_loss"}.

  --weights   an .npz, or a folder with <name>.npy or <name>.bin (raw little-endian fp32) per parameter, names as in
              "layers.0.attention.wq.weight"
  --tokens    .npy of integers [steps, global batch, seq_len + 1]
  --validation  .npy of integers [rows, seq_len + 1]
"""
import argparse
import json
import math
import pathlib
import sys

import numpy as np
import torch
import torch.nn.functional as F


def parse_args():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--weights", required=True)
    p.add_argument("--tokens", required=True)
    p.add_argument("--validation")
    for name in ("dim", "n-layers", "n-heads", "n-kv-heads", "head-dim", "ffn-dim", "vocab-size"):
        p.add_argument("--" + name, type=int, required=True)
    p.add_argument("--norm-eps", type=float, default=1e-5)
    p.add_argument("--rope-theta", type=float, default=500000.0)
    p.add_argument("--rope-scaling", help="llama3:FACTOR:LOW:HIGH:ORIGINAL")
    p.add_argument("--qkv-bias", action="store_true")
    p.add_argument("--tied", action="store_true")
    p.add_argument("--lr", type=float, default=8e-4)
    p.add_argument("--beta1", type=float, default=0.9)
    p.add_argument("--beta2", type=float, default=0.95)
    p.add_argument("--eps", type=float, default=1e-8)
    p.add_argument("--weight-decay", type=float, default=0.1)
    p.add_argument("--max-norm", type=float, default=1.0)
    p.add_argument("--warmup-steps", type=int, default=200)
    p.add_argument("--total-steps", type=int, help="length of the learning-rate curve (default: the number of batches)")
    p.add_argument("--decay-ratio", type=float)
    p.add_argument("--decay-type", choices=("linear", "sqrt", "cosine"), default="linear")
    p.add_argument("--min-lr-factor", type=float, default=0.0)
    p.add_argument("--steps", type=int, help="stop after this many steps")
    p.add_argument("--threads", type=int, default=1)
    return p.parse_args()


def parameter_shapes(a):
    shapes = {"tok_embeddings.weight": (a.vocab_size, a.dim)}
    for i in range(a.n_layers):
        layer = f"layers.{i}."
        shapes[layer + "attention.wq.weight"] = (a.n_heads * a.head_dim, a.dim)
        shapes[layer + "attention.wk.weight"] = (a.n_kv_heads * a.head_dim, a.dim)
        shapes[layer + "attention.wv.weight"] = (a.n_kv_heads * a.head_dim, a.dim)
        if a.qkv_bias:
            shapes[layer + "attention.wq.bias"] = (a.n_heads * a.head_dim,)
            shapes[layer + "attention.wk.bias"] = (a.n_kv_heads * a.head_dim,)
            shapes[layer + "attention.wv.bias"] = (a.n_kv_heads * a.head_dim,)
        shapes[layer + "attention.wo.weight"] = (a.dim, a.n_heads * a.head_dim)
        shapes[layer + "feed_forward.w1.weight"] = (a.ffn_dim, a.dim)
        shapes[layer + "feed_forward.w2.weight"] = (a.dim, a.ffn_dim)
        shapes[layer + "feed_forward.w3.weight"] = (a.ffn_dim, a.dim)
        shapes[layer + "attention_norm.weight"] = (a.dim,)
        shapes[layer + "ffn_norm.weight"] = (a.dim,)
    shapes["norm.weight"] = (a.dim,)
    if not a.tied:
        shapes["output.weight"] = (a.vocab_size, a.dim)
    return shapes


def load_weights(path, shapes):
    archive = np.load(path) if path.endswith(".npz") else None
    weights = {}
    for name, shape in shapes.items():
        if archive is not None:
            array = archive[name]
        elif (file := pathlib.Path(path, name + ".npy")).exists():
            array = np.load(file)
        else:
            array = np.fromfile(pathlib.Path(path, name + ".bin"), dtype="<f4").reshape(shape)
        if array.shape != shape:
            sys.exit(f"error: {name}: expected shape {shape}, found {array.shape}")
        weights[name] = torch.from_numpy(np.array(array, dtype=np.float32)).requires_grad_()
    return weights


def scaled(freqs, scaling):
    """Llama 3.1's scaling, written as "llama3:factor:low:high:original"."""
    factor, low, high, original = map(float, scaling.split(":")[1:])
    wavelength = 2 * math.pi / freqs
    smooth = ((original / wavelength - low) / (high - low)).clamp(0, 1)  # 0 slow, 1 fast
    return (1 - smooth) * freqs / factor + smooth * freqs


def rope_frequencies(head_dim, length, theta, scaling=None):
    freqs = 1.0 / (theta ** (torch.arange(0, head_dim, 2).float() / head_dim))
    if scaling:
        freqs = scaled(freqs, scaling)
    angles = torch.outer(torch.arange(length).float(), freqs)
    return torch.polar(torch.ones_like(angles), angles)  # [T, head_dim / 2]


def rotate(x, freqs):
    pairs = torch.view_as_complex(x.reshape(*x.shape[:-1], -1, 2))
    return torch.view_as_real(pairs * freqs[: x.shape[1], None, :]).flatten(3)


def normalise(x, weight, eps):
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps) * weight


def project(x, w, name, heads, head_dim):
    return F.linear(x, w[name + ".weight"], w.get(name + ".bias")).view(*x.shape[:2], heads, head_dim)


def attend(x, w, layer, a, freqs):
    batch, length, _ = x.shape
    q = project(x, w, layer + "wq", a.n_heads, a.head_dim)
    k = project(x, w, layer + "wk", a.n_kv_heads, a.head_dim)
    v = project(x, w, layer + "wv", a.n_kv_heads, a.head_dim)
    q, k = rotate(q, freqs), rotate(k, freqs)
    # Query head h reads key/value head h // (heads per group).
    repeat = a.n_heads // a.n_kv_heads
    k, v = k.repeat_interleave(repeat, dim=2), v.repeat_interleave(repeat, dim=2)
    scores = torch.einsum("bthd,bshd->bhts", q, k) / math.sqrt(a.head_dim)
    future = torch.ones(length, length, dtype=torch.bool).triu(1)
    out = torch.einsum("bhts,bshd->bthd", scores.masked_fill(future, -math.inf).softmax(-1), v)
    return out.reshape(batch, length, -1) @ w[layer + "wo.weight"].T


def logits_of(tokens, w, a, freqs):
    x = w["tok_embeddings.weight"][tokens]
    for i in range(a.n_layers):
        layer = f"layers.{i}."
        x = x + attend(normalise(x, w[layer + "attention_norm.weight"], a.norm_eps), w, layer + "attention.", a, freqs)
        h = normalise(x, w[layer + "ffn_norm.weight"], a.norm_eps)
        gate, up = h @ w[layer + "feed_forward.w1.weight"].T, h @ w[layer + "feed_forward.w3.weight"].T
        x = x + (F.silu(gate) * up) @ w[layer + "feed_forward.w2.weight"].T
    head = w["tok_embeddings.weight"] if a.tied else w["output.weight"]
    return normalise(x, w["norm.weight"], a.norm_eps) @ head.T


def loss_of(rows, w, a, freqs):
    logits = logits_of(rows[:, :-1], w, a, freqs)
    return F.cross_entropy(logits.flatten(0, 1), rows[:, 1:].flatten())


def lr_factor(a, total):
    """torchtitan 0.2.2's warm-up, stable, decay curve as a LambdaLR function of the 0-based step."""
    warmup = min(a.warmup_steps, total)
    decay = round(total * a.decay_ratio) if a.decay_ratio is not None else total - warmup
    decay = min(decay, total - warmup)
    stable = total + 1 - warmup - decay  # one virtual step, so that the last real step does not reach zero

    def factor(step):
        if step < warmup:
            return float(step + 1) / warmup
        if step < warmup + stable:
            return 1.0
        progress = min(1.0, float(step + 1 - warmup - stable) / decay) if decay else 1.0
        if a.decay_type == "linear":
            curve = 1 - progress
        elif a.decay_type == "sqrt":
            curve = 1 - math.sqrt(progress)
        else:
            curve = 0.5 * (1.0 + math.cos(math.pi * progress))
        return a.min_lr_factor + (1 - a.min_lr_factor) * curve

    return factor


def main():
    a = parse_args()
    torch.set_num_threads(a.threads)
    batches = torch.from_numpy(np.load(a.tokens).astype(np.int64))
    weights = load_weights(a.weights, parameter_shapes(a))
    freqs = rope_frequencies(a.head_dim, batches.shape[2] - 1, a.rope_theta, a.rope_scaling)
    params = list(weights.values())
    optimizer = torch.optim.AdamW(params, lr=a.lr, betas=(a.beta1, a.beta2), eps=a.eps, weight_decay=a.weight_decay)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lr_factor(a, a.total_steps or len(batches)))

    steps = min(a.steps or len(batches), len(batches))
    for step, rows in enumerate(batches[:steps], start=1):
        optimizer.zero_grad(set_to_none=True)
        loss = loss_of(rows, weights, a, freqs)
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(params, a.max_norm if a.max_norm > 0 else math.inf)
        lr = schedule.get_last_lr()[0]
        optimizer.step()
        schedule.step()
        print(json.dumps({"step": step, "loss": loss.item(), "grad_norm": norm.item(), "lr": lr}), flush=True)

    if a.validation:
        rows = torch.from_numpy(np.load(a.validation).astype(np.int64))
        total = 0.0
        with torch.no_grad():
            for part in rows.split(64):
                total += loss_of(part, weights, a, freqs).item() * len(part)
        print(json.dumps({"step": steps, "validation_loss": total / len(rows)}))


if __name__ == "__main__":
    main()
