"""A plain Llama in PyTorch with AdamW and bf16 weights beside fp32 masters, eager or compiled: tokens per second, as a baseline on the same card. Prints one
JSON line.

    eager.py [--device=cpu] eager|compile LAYERS DIM HEADS KV_HEADS FFN VOCAB TOKENS MICRO_BATCHES
"""
import statistics
import time

import torch
from torch import nn

from device import DEVICE, ON_GPU, need_gpu, strict, tell, wait, words

STEPS, WARM = (9, 3) if ON_GPU else (3, 1)


def rotated(x, turns):
    """RoPE as torchtitan computes it: pairs as complex numbers in fp32."""
    return torch.view_as_real(torch.view_as_complex(x.float().unflatten(-1, (-1, 2))) * turns).flatten(-2).type_as(x)


class Block(nn.Module):
    def __init__(self, dim, heads, kv_heads, ffn):
        super().__init__()
        self.head, self.shared = dim // heads, heads != kv_heads
        self.norms = nn.ModuleList([nn.RMSNorm(dim), nn.RMSNorm(dim)])
        self.q, self.k, self.v = (nn.Linear(dim, n * self.head, bias=False) for n in (heads, kv_heads, kv_heads))
        self.out = nn.Linear(dim, dim, bias=False)
        self.up, self.gate, self.down = nn.Linear(dim, ffn, bias=False), nn.Linear(dim, ffn, bias=False), nn.Linear(ffn, dim, bias=False)

    def forward(self, x, turns):
        h = self.norms[0](x)
        q, k, v = (part(h).unflatten(-1, (-1, self.head)) for part in (self.q, self.k, self.v))
        q, k, v = (t.transpose(1, 2) for t in (rotated(q, turns), rotated(k, turns), v))
        out = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=self.shared)
        x = x + self.out(out.transpose(1, 2).flatten(2))
        h = self.norms[1](x)
        return x + self.down(nn.functional.silu(self.gate(h)) * self.up(h))


class Llama(nn.Module):
    def __init__(self, layers, dim, heads, kv_heads, ffn, vocab, tokens):
        super().__init__()
        self.embedding, self.norm, self.out = nn.Embedding(vocab, dim), nn.RMSNorm(dim), nn.Linear(dim, vocab, bias=False)
        self.blocks = nn.ModuleList([Block(dim, heads, kv_heads, ffn) for _ in range(layers)])
        angles = torch.outer(torch.arange(tokens), 500_000.0 ** (-torch.arange(0, dim // heads, 2) / (dim // heads)))
        self.turns = torch.polar(torch.ones_like(angles), angles)[:, None].to(DEVICE)

    def forward(self, ids):
        x = self.embedding(ids)
        for block in self.blocks:
            x = block(x, self.turns)
        return self.out(self.norm(x))


def main(way, *numbers):
    *shape, micro_batches = map(int, numbers)
    vocab, tokens = shape[-2:]
    strict(False)
    model = Llama(*shape).to(device=DEVICE, dtype=torch.bfloat16)
    masters = [p.detach().float() for p in model.parameters()]
    sums = [torch.zeros_like(p) for p in masters]
    optimizer = torch.optim.AdamW(masters, lr=1e-4, fused=True)
    if way == "compile":
        for block in model.blocks:  # as torchtitan does: each layer
            block.compile(backend="inductor" if ON_GPU else "eager")
    spent = []
    for _ in range(STEPS):
        wait()
        began = time.time()
        for _ in range(micro_batches):
            ids = torch.randint(0, vocab, (1, tokens + 1), device=DEVICE)
            nn.functional.cross_entropy(model(ids[:, :-1]).float().flatten(0, 1), ids[:, 1:].flatten()).backward()
            for total, p in zip(sums, model.parameters()):
                total.add_(p.grad)
                p.grad = None
        for master, total in zip(masters, sums):
            master.grad = total
        nn.utils.clip_grad_norm_(masters, 1.0)
        optimizer.step()
        with torch.no_grad():
            torch._foreach_copy_(list(model.parameters()), masters)
            torch._foreach_zero_(sums)
        wait()
        spent.append(time.time() - began)
    tell({"tokens_per_s": micro_batches * tokens / statistics.median(spent[WARM:]), "seconds": spent,
          "peak_bytes": torch.cuda.max_memory_allocated() if ON_GPU else None})


if __name__ == "__main__":
    need_gpu()
    main(*words())
