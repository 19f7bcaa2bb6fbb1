"""gpu_kernels.py CHECK: one check of scripts/gpu-check that asks LibTorch itself, by its Python package. Prints one JSON line; exits with 77 where it
cannot be tried here."""
import json
import sys
import time

import torch

BATCH, TOKENS = 1, 1024
LAYERS, DIM, HEADS, FFN, VOCAB = 12, 768, 12, 2048, 50304


def skip(why):
    print(why)
    sys.exit(77)


def strict(on=True):
    """The switches of a deterministic run."""
    torch.use_deterministic_algorithms(on)
    torch.utils.deterministic.fill_uninitialized_memory = False
    torch.backends.cudnn.deterministic = on
    torch.backends.cudnn.benchmark = False
    torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False


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
    added = [leaf + 1 for leaf in leaves]
    torch._foreach_add_(leaves, 1)
    assert all(torch.equal(a, b) for a, b in zip(leaves, added)), "add depends on the list"
    return {"same": ["powsum", "adamw", "add"]}


def attention():
    """Which kernel runs, and whether forward and backward repeat bit for bit."""
    from torch.nn.attention import SDPBackend, sdpa_kernel
    found = {}
    for name, backend, pattern in (("flash", SDPBackend.FLASH_ATTENTION, "flash"), ("cudnn", SDPBackend.CUDNN_ATTENTION, "cudnn")):
        strict(name == "flash")
        results, kernels, spent = [], set(), 0
        for _ in range(2):
            torch.manual_seed(3)
            q, k, v = (torch.randn(2, 12, 2048, 64, device="cuda", dtype=torch.bfloat16, requires_grad=True) for _ in range(3))
            try:
                with sdpa_kernel(backend), torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
                    began = time.time()
                    out = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
                    out.sum().backward()
                    torch.cuda.synchronize()
                    spent = time.time() - began
            except RuntimeError as error:
                found[name] = f"not available: {str(error).splitlines()[0]}"
                break
            kernels |= {event.key for event in profile.key_averages() if pattern in event.key.lower()}
            results.append([tensor.detach().clone() for tensor in (out, q.grad, k.grad, v.grad)])
        else:
            same = all(torch.equal(a, b) for a, b in zip(*results))
            assert kernels, f"no kernel of {name} ran"
            assert same or name != "flash", "flash attention does not repeat its bits in strict mode"
            found[name] = {"kernel": min(kernels), "repeats": same, "seconds": spent}
    strict(True)
    return found


def eager():
    """A plain Llama block stack with AdamW, bf16 by autocast: tokens per second."""
    strict(False)
    from torch import nn

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.norms = nn.ModuleList([nn.RMSNorm(DIM), nn.RMSNorm(DIM)])
            self.qkv, self.out = nn.Linear(DIM, 3 * DIM, bias=False), nn.Linear(DIM, DIM, bias=False)
            self.up, self.gate, self.down = nn.Linear(DIM, FFN, bias=False), nn.Linear(DIM, FFN, bias=False), nn.Linear(FFN, DIM, bias=False)

        def forward(self, x):
            b, t, _ = x.shape
            q, k, v = (part.view(b, t, HEADS, -1).transpose(1, 2) for part in self.qkv(self.norms[0](x)).split(DIM, -1))
            x = x + self.out(nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(b, t, DIM))
            h = self.norms[1](x)
            return x + self.down(nn.functional.silu(self.gate(h)) * self.up(h))

    model = nn.Sequential(nn.Embedding(VOCAB, DIM), *[Block() for _ in range(LAYERS)], nn.RMSNorm(DIM), nn.Linear(DIM, VOCAB, bias=False)).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    spent = []
    for _ in range(13):
        torch.cuda.synchronize()
        began = time.time()
        for _ in range(8):
            ids = torch.randint(0, VOCAB, (BATCH, TOKENS + 1), device="cuda")
            with torch.autocast("cuda", torch.bfloat16):
                logits = model(ids[:, :-1])
            nn.functional.cross_entropy(logits.float().flatten(0, 1), ids[:, 1:].flatten()).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        torch.cuda.synchronize()
        spent.append(time.time() - began)
    return {"tokens_per_s": 8 * BATCH * TOKENS / sorted(spent[3:])[5], "peak_bytes": torch.cuda.max_memory_allocated()}


if __name__ == "__main__":
    if not torch.cuda.is_available():
        skip("the Python package of LibTorch finds no GPU")
    print(json.dumps({"versions": versions, "lists": lists, "attention": attention, "eager": eager}[sys.argv[1]]()))
