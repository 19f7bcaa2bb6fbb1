#!/usr/bin/env python3
"""Trains a Llama as a PyTorch user would write it for speed, and prints how long each step took.

Fused AdamW, scaled_dot_product_attention, complex RoPE, mean cross-entropy, gradients accumulated over micro-batches,
clip_grad_norm_, torch's default settings. bf16 has two usual forms, and both are measured by `scripts/bench train`:
`autocast` (fp32 weights, torch.autocast) and `copies` (bf16 weights for the products, fp32 weights in the optimizer).

Prints one JSON line: {"seconds": [one per step], "losses": [...], "peak": bytes of VmHWM, "before": bytes before the
model was built}.
"""
import argparse
import json
import time

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn


class Block(nn.Module):
    def __init__(self, dim, heads, ffn):
        super().__init__()
        self.heads = heads
        self.attention_norm, self.ffn_norm = nn.RMSNorm(dim, eps=1e-5), nn.RMSNorm(dim, eps=1e-5)
        self.wq, self.wk, self.wv, self.wo = (nn.Linear(dim, dim, bias=False) for _ in range(4))
        self.w1, self.w3 = nn.Linear(dim, ffn, bias=False), nn.Linear(dim, ffn, bias=False)
        self.w2 = nn.Linear(ffn, dim, bias=False)

    def split(self, x):
        return x.view(*x.shape[:2], self.heads, -1)

    def forward(self, x, angles):
        n = self.attention_norm(x)
        q, k = (rotate(self.split(w(n)), angles) for w in (self.wq, self.wk))
        q, k, v = (t.transpose(1, 2) for t in (q, k, self.split(self.wv(n))))
        a = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.wo(a.transpose(1, 2).reshape(x.shape))
        n = self.ffn_norm(x)
        return x + self.w2(F.silu(self.w1(n)) * self.w3(n))


def rotate(x, angles):
    pairs = torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2))
    return torch.view_as_real(pairs * angles[:, None, :]).flatten(3).type_as(x)


class Llama(nn.Module):
    def __init__(self, dim, layers, heads, ffn, vocab, length):
        super().__init__()
        self.embedding = nn.Embedding(vocab, dim)
        self.blocks = nn.ModuleList(Block(dim, heads, ffn) for _ in range(layers))
        self.norm, self.output = nn.RMSNorm(dim, eps=1e-5), nn.Linear(dim, vocab, bias=False)
        half = dim // heads // 2
        angles = torch.outer(torch.arange(length).float(), 500000.0 ** (-torch.arange(half).float() / half))
        self.angles = torch.polar(torch.ones_like(angles), angles)
        for parameter in self.parameters():
            if parameter.dim() > 1:
                nn.init.normal_(parameter, std=0.02)

    def forward(self, tokens):
        x = self.embedding(tokens)
        for block in self.blocks:
            x = block(x, self.angles)
        return self.output(self.norm(x))


def memory(name):
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith(name + ":"))


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("dim", "layers", "heads", "ffn", "vocab", "seq", "rows", "micro-batches", "steps", "threads"):
        p.add_argument("--" + name, type=int, required=True)
    p.add_argument("--tokens", required=True, help="a file of u16 token ids")
    p.add_argument("--dtype", choices=("fp32", "autocast", "copies"), default="fp32")
    p.add_argument("--compile", action="store_true")
    a = p.parse_args()
    torch.set_num_threads(a.threads)
    torch.manual_seed(0)
    before = memory("VmRSS")
    model = Llama(a.dim, a.layers, a.heads, a.ffn, a.vocab, a.seq)
    masters = list(model.parameters())
    if a.dtype == "copies":
        masters = [parameter.detach().clone().requires_grad_() for parameter in masters]
        model.to(torch.bfloat16)
    copies = list(model.parameters())
    optimizer = torch.optim.AdamW(masters, lr=1e-3, betas=(0.9, 0.95), weight_decay=0.1, fused=True)
    run = torch.compile(model) if a.compile else model
    tokens = np.memmap(a.tokens, dtype="<u2", mode="r")
    span, seconds, losses = a.rows * (a.seq + 1), [], []
    for step in range(a.steps):
        begin, total = time.perf_counter(), 0.0
        for micro_batch in range(a.micro_batches):
            at = (step * a.micro_batches + micro_batch) * span
            batch = torch.from_numpy(tokens[at : at + span].astype(np.int64)).view(a.rows, a.seq + 1)
            with torch.autocast("cpu", torch.bfloat16, enabled=a.dtype == "autocast"):
                logits = run(batch[:, :-1])
            loss = F.cross_entropy(logits.flatten(0, 1).float(), batch[:, 1:].flatten()) / a.micro_batches
            loss.backward()
            total += loss.item()
        if a.dtype == "copies":
            for master, copy in zip(masters, copies):
                master.grad, copy.grad = copy.grad.float(), None
        nn.utils.clip_grad_norm_(masters, 1.0).item()
        optimizer.step()
        optimizer.zero_grad()
        if a.dtype == "copies":
            with torch.no_grad():
                torch._foreach_copy_(copies, masters)
        seconds.append(time.perf_counter() - begin)
        losses.append(total)
    print(json.dumps({"seconds": seconds, "losses": losses, "peak": memory("VmHWM"), "before": before}))


if __name__ == "__main__":
    main()
