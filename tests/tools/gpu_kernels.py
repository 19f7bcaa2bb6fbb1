"""gpu_kernels.py CHECK [SHAPE...]: one check of scripts/gpu-check that asks LibTorch itself, by its Python package. Prints one JSON line; exits with 77
where it cannot be tried here."""
import json
import os
import sys
import time

import torch

STEPS, MICRO_BATCHES = 13, 8


def skip(why):
    print(why)
    sys.exit(77)


def strict(on=True):
    """The switches of a deterministic run, those of libtrain/engine/cuda/gpu_switches.cpp."""
    torch.use_deterministic_algorithms(on)
    torch.utils.deterministic.fill_uninitialized_memory = False
    torch.backends.cudnn.deterministic = on
    torch.backends.cudnn.benchmark = not on
    torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = (not on, True)  # (sums in bf16, split sums)
    torch.backends.cuda.matmul.fp32_precision = "ieee"


def versions():
    return {"torch": torch.__version__, "cuda": torch.version.cuda, "cudnn": torch.backends.cudnn.version(), "nccl": ".".join(map(str, torch.cuda.nccl.version())),
            "capability": list(torch.cuda.get_device_capability())}


def lists():
    """A list's result is that of its members alone, bit for bit: powsum of leaves, AdamW, add."""
    torch.manual_seed(1)
    leaves = [torch.randn(n, device="cuda") for n in (262144, 262144, 17, 4096, 100_003)]
    if not hasattr(torch.ops.aten, "_foreach_powsum"):
        skip("this LibTorch has no _foreach_powsum")
    together = torch.ops.aten._foreach_powsum(leaves, 2, dtype=torch.float64)
    for leaf, found in zip(leaves, together):
        alone = torch.ops.aten._foreach_powsum([leaf], 2, dtype=torch.float64)[0]
        assert torch.equal(alone, found), f"powsum of {leaf.numel()} elements depends on the list"

    def state():
        torch.manual_seed(2)
        return [[torch.rand(n, device="cuda") for n in (262144, 17, 100_003)] for _ in range(4)]

    def step(params, grads, first, second):
        steps = [torch.ones((), device="cuda") for _ in params]
        torch._fused_adamw_(params, grads, first, second, [], steps, lr=1e-3, beta1=0.9, beta2=0.95, weight_decay=0.1, eps=1e-8, amsgrad=False, maximize=False)

    one, each = state(), state()
    step(*one)
    for i in range(3):
        step(*([tensors[i]] for tensors in each))
    assert all(torch.equal(a, b) for first, second in zip(one, each) for a, b in zip(first, second)), "AdamW depends on the list"
    # Which piece has the odd elements of a parameter depends on the layout.
    whole = [[torch.cat((first, last))] for first, _, last in state()]
    cut = [[part.clone() for part in tensors[0].split(262144)] for tensors in whole]
    step(*whole)
    step(*cut)
    assert all(torch.equal(one[0], torch.cat(parts)) for one, parts in zip(whole, cut)), "AdamW depends on where a parameter is cut"
    added = [leaf + 1 for leaf in leaves]
    torch._foreach_add_(leaves, 1)
    assert all(torch.equal(a, b) for a, b in zip(leaves, added)), "add depends on the list"
    return {"same": ["powsum", "adamw", "add"]}


def attention():
    """Which kernel runs, with as many heads of keys and values as of queries and with a quarter, and whether forward and backward repeat bit for bit."""
    from torch.nn.attention import SDPBackend, sdpa_kernel
    found = {}
    for name, backend in (("flash", SDPBackend.FLASH_ATTENTION), ("cudnn", SDPBackend.CUDNN_ATTENTION)):
        strict(name == "flash")
        for heads in (12, 3):
            results, kernels, spent = [], set(), 0
            for _ in range(2):
                torch.manual_seed(3)
                q, k, v = (torch.randn(2, n, 2048, 64, device="cuda", dtype=torch.bfloat16, requires_grad=True) for n in (12, heads, heads))
                try:
                    with sdpa_kernel(backend), torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
                        torch.cuda.synchronize()
                        began = time.time()
                        out = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=heads != 12)
                        out.sum().backward()
                        torch.cuda.synchronize()
                        spent = time.time() - began
                except RuntimeError as error:
                    if name == "flash":
                        raise
                    found[f"{name} {heads}"] = f"not available: {str(error).splitlines()[0]}"
                    break
                kernels |= {event.key for event in profile.key_averages() if name in event.key.lower()}
                results.append([tensor.detach().clone() for tensor in (out, q.grad, k.grad, v.grad)])
            else:
                same = all(torch.equal(a, b) for a, b in zip(*results))
                assert kernels, f"no kernel of {name} ran"
                assert same or name != "flash", "flash attention does not repeat its bits in strict mode"
                found[f"{name} {heads}"] = {"kernel": min(kernels), "repeats": same, "seconds": spent}
    return found


def rotated(x, turns):
    """RoPE as torchtitan computes it: pairs as complex numbers in fp32."""
    return torch.view_as_real(torch.view_as_complex(x.float().unflatten(-1, (-1, 2))) * turns).flatten(-2).type_as(x)


def eager(layers, dim, heads, kv_heads, ffn, vocab, tokens):
    """A plain Llama with AdamW, bf16 by autocast: tokens per second."""
    strict(False)
    from torch import nn
    head = dim // heads
    angles = torch.outer(torch.arange(tokens), 500_000.0 ** (-torch.arange(0, head, 2) / head)).cuda()
    turns = torch.polar(torch.ones_like(angles), angles)[:, None]

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.norms = nn.ModuleList([nn.RMSNorm(dim), nn.RMSNorm(dim)])
            self.q, self.k, self.v = (nn.Linear(dim, n * head, bias=False) for n in (heads, kv_heads, kv_heads))
            self.out = nn.Linear(dim, dim, bias=False)
            self.up, self.gate, self.down = nn.Linear(dim, ffn, bias=False), nn.Linear(dim, ffn, bias=False), nn.Linear(ffn, dim, bias=False)

        def forward(self, x):
            h = self.norms[0](x)
            q, k, v = (part(h).unflatten(-1, (-1, head)) for part in (self.q, self.k, self.v))
            q, k, v = (t.transpose(1, 2) for t in (rotated(q, turns), rotated(k, turns), v))
            out = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=kv_heads != heads)
            x = x + self.out(out.transpose(1, 2).flatten(2))
            h = self.norms[1](x)
            return x + self.down(nn.functional.silu(self.gate(h)) * self.up(h))

    model = nn.Sequential(nn.Embedding(vocab, dim), *[Block() for _ in range(layers)], nn.RMSNorm(dim), nn.Linear(dim, vocab, bias=False)).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    spent = []
    for _ in range(STEPS):
        torch.cuda.synchronize()
        began = time.time()
        for _ in range(MICRO_BATCHES):
            ids = torch.randint(0, vocab, (1, tokens + 1), device="cuda")
            with torch.autocast("cuda", torch.bfloat16):
                logits = model(ids[:, :-1])
            nn.functional.cross_entropy(logits.float().flatten(0, 1), ids[:, 1:].flatten()).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        torch.cuda.synchronize()
        spent.append(time.time() - began)
    return {"tokens_per_s": MICRO_BATCHES * tokens / sorted(spent[3:])[5], "peak_bytes": torch.cuda.max_memory_allocated()}


if __name__ == "__main__":
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    if not torch.cuda.is_available():
        skip("the Python package of LibTorch finds no GPU")
    check, *shape = sys.argv[1:]
    print(json.dumps({"versions": versions, "lists": lists, "attention": attention, "eager": eager}[check](*map(int, shape))))
