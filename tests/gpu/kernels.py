"""kernels.py CHECK: one check of scripts/gpu-check that asks LibTorch itself, by its Python package. Prints one JSON line; exits with 77
where it cannot be tried here."""
import os
import time

import torch

from device import need_gpu, strict, tell, words


def versions():
    return {"torch": torch.__version__, "cuda": torch.version.cuda, "cudnn": torch.backends.cudnn.version(), "nccl": ".".join(map(str, torch.cuda.nccl.version())),
            "capability": list(torch.cuda.get_device_capability())}


def lists():
    """A list's result is that of its members alone, bit for bit: AdamW, add."""
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
    torch.manual_seed(1)
    leaves = [torch.randn(n, device="cuda") for n in (262144, 262144, 17, 4096, 100_003)]
    added = [leaf + 1 for leaf in leaves]
    torch._foreach_add_(leaves, 1)
    assert all(torch.equal(a, b) for a, b in zip(leaves, added)), "add depends on the list"
    return {"same": ["adamw", "add"]}


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


if __name__ == "__main__":
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    need_gpu()
    check, = words()
    tell({"versions": versions, "lists": lists, "attention": attention}[check]())
