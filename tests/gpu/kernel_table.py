"""Times of single kernels at the shapes of an 8B model (one row of 8,192 tokens): what a step is made of, and what other ways would cost. Prints one JSON
line: microseconds, with TFLOP/s of products and GB/s of what moves memory."""
import time

import torch
from torch.nn import functional

from device import DEVICE, ON_GPU, need_gpu, queued, seconds, strict, tell

# tokens, dim, heads, heads of keys and values, elements of a head, ffn, vocabulary; then elements of lists and bytes of copies
TOKENS, DIM, HEADS, GROUPS, HEAD, FFN, VOCAB = (8192, 4096, 32, 8, 128, 14336, 128256) if ON_GPU else (64, 64, 8, 2, 16, 128, 256)
ELEMENTS, COPY = (250_000_000, 1 << 30) if ON_GPU else (10_000, 1 << 20)
BF16 = torch.bfloat16


def random(*sizes, dtype=BF16):
    return torch.randn(*sizes, device=DEVICE, dtype=dtype)


def product(spent, n, k, m):
    return {"us": spent * 1e6, "tflops": 2 * n * k * m / spent / 1e12}


def moved(spent, amount):
    return {"us": spent * 1e6, "gb_s": amount / spent / 1e9}


def products():
    rows = {}
    for name, ins, outs in (("q, o", DIM, HEADS * HEAD), ("k, v", DIM, GROUPS * HEAD), ("w1, w3", DIM, FFN), ("w2", FFN, DIM), ("head", DIM, VOCAB)):
        x, w, dy = random(TOKENS, ins), random(outs, ins), random(TOKENS, outs)
        rows[f"{name}: forward"] = product(queued(lambda: x @ w.t()), TOKENS, ins, outs)
        rows[f"{name}: input"] = product(queued(lambda: dy @ w), TOKENS, ins, outs)
        rows[f"{name}: weight"] = product(queued(lambda: dy.t() @ x), TOKENS, ins, outs)
    return rows


def flash(q, k, v):
    """(output, what its backward takes)."""
    if ON_GPU:
        out, lse, cum_q, cum_k, most_q, most_k, seed, offset, _ = torch.ops.aten._scaled_dot_product_flash_attention(q, k, v, 0.0, True, False)
        return out, (lse, cum_q, cum_k, most_q, most_k, 0.0, True, seed, offset)
    out, lse = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(q, k.repeat_interleave(HEADS // GROUPS, 1), v.repeat_interleave(HEADS // GROUPS, 1), 0.0, True)
    return out, (lse, 0.0, True)


def flash_backward(dy, q, k, v, out, rest):
    if ON_GPU:
        return torch.ops.aten._scaled_dot_product_flash_attention_backward(dy, q, k, v, out, *rest)
    times = q.size(1) // k.size(1)
    return torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward(dy, q, k.repeat_interleave(times, 1), v.repeat_interleave(times, 1), out, *rest)


def chunks_backward(dy, q, k, v, out, rest, sizes):
    """The backward in groups of heads, so that its blocks fill the GPU."""
    first, times, lse = 0, HEADS // GROUPS, rest[0]
    for size in sizes:
        of_q, of_k = slice(first, first + size), slice(first // times, (first + size) // times)
        flash_backward(dy[:, of_q], q[:, of_q], k[:, of_k], v[:, of_k], out[:, of_q], (lse[:, of_q].contiguous(), *rest[1:]))
        first += size


def attention():
    rows = {}
    for batch in (1, 2, 4):
        q, k, v = (random(batch, TOKENS, heads, HEAD).transpose(1, 2) for heads in (HEADS, GROUPS, GROUPS))
        out, rest = flash(q, k, v)
        dy = torch.randn_like(out)
        rows[f"flash forward, batch {batch}"] = {"us": queued(lambda: flash(q, k, v)) * 1e6}
        for promise in (True, False):
            strict(promise)
            name = f"flash backward{', deterministic' if promise else ''}, batch {batch}"
            rows[name] = {"us": queued(lambda: flash_backward(dy, q, k, v, out, rest)) * 1e6}
            if batch == 1:
                for sizes in ((12, 12, 4, 4), (16, 16), (8,) * 4) if ON_GPU else ((4, 4),):
                    rows[f"{name}, heads in {'+'.join(map(str, sizes))}"] = {"us": queued(lambda: chunks_backward(dy, q, k, v, out, rest, sizes)) * 1e6}
        if ON_GPU:
            rows |= cudnn(q, k, v, dy, batch)
    strict()
    return rows


def cudnn(q, k, v, dy, batch):
    from torch.nn.attention import SDPBackend, sdpa_kernel
    strict(False)
    wide = [k.repeat_interleave(HEADS // GROUPS, 1), v.repeat_interleave(HEADS // GROUPS, 1)]
    given = [tensor.detach().requires_grad_() for tensor in (q, *wide)]
    try:
        with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
            forward = queued(lambda: functional.scaled_dot_product_attention(q, *wide, is_causal=True))
            out = functional.scaled_dot_product_attention(*given, is_causal=True)
            backward = queued(lambda: torch.autograd.grad(out, given, dy, retain_graph=True))
    except RuntimeError as error:
        return {f"cudnn, batch {batch}": {"not_available": str(error).splitlines()[0]}}
    return {f"cudnn forward, batch {batch}": {"us": forward * 1e6}, f"cudnn backward, batch {batch}": {"us": backward * 1e6}}


def elementwise():
    """As the run computes them: single operations."""
    x, gate, up = random(TOKENS, DIM), random(TOKENS, FFN), random(TOKENS, FFN)
    q, turns = random(1, TOKENS, HEADS, HEAD), random(TOKENS, 1, HEAD // 2, dtype=torch.float)
    small, large = random(FFN, DIM), random(FFN, DIM, dtype=torch.float)
    weight = random(DIM)

    def rope():
        first, second = q.float().unflatten(-1, (-1, 2)).unbind(-1)
        return torch.stack((first * turns - second * turns, first * turns + second * turns), -1).flatten(-2).to(BF16)

    rows = {"rms_norm": moved(queued(lambda: functional.rms_norm(x, (DIM,), weight)), 4 * x.numel()),
            "rope": moved(queued(rope), 4 * q.numel()),
            "swiglu": moved(queued(lambda: functional.silu(gate) * up), 6 * gate.numel()),
            "sum": moved(queued(lambda: x + x), 6 * x.numel()),
            "gradient: to float": moved(queued(lambda: small.to(torch.float)), 6 * small.numel()),
            "gradient: bf16 added to fp32": moved(queued(lambda: large.add_(small)), 10 * small.numel()),
            "gradient: fp32 added to fp32": moved(queued(lambda: large.add_(large)), 12 * small.numel()),
            "copy": moved(queued(large.clone), 8 * large.numel())}
    logits, targets = random(TOKENS, VOCAB), torch.randint(0, VOCAB, (TOKENS,), device=DEVICE)
    rows["loss"] = moved(queued(lambda: functional.nll_loss(functional.log_softmax(logits.float(), -1), targets), 2), 2 * logits.numel())
    return rows


def optimizer():
    state = [[random(ELEMENTS, dtype=torch.float).abs_()] for _ in range(4)]
    count = [torch.ones((), device=DEVICE)]
    spent = queued(lambda: torch._fused_adamw_(*state, [], count, lr=1e-3, beta1=0.9, beta2=0.95, weight_decay=0.1, eps=1e-8, amsgrad=False, maximize=False), 3)
    return {f"adamw of {ELEMENTS} elements": moved(spent, 28 * ELEMENTS)}


def copies():
    """Between host and device, pinned; and what pinned memory costs in pieces of two sizes."""
    there, here = torch.empty(COPY, dtype=torch.uint8, device=DEVICE), torch.empty(COPY, dtype=torch.uint8, pin_memory=ON_GPU)
    rows = {"to the host, pinned": moved(seconds(lambda: here.copy_(there, non_blocking=True)), COPY),
            "to the device, pinned": moved(seconds(lambda: there.copy_(here, non_blocking=True)), COPY)}
    for pieces in (1024, 4):
        size = COPY // pieces
        began = time.perf_counter()
        kept = [torch.empty(size, dtype=torch.uint8, pin_memory=ON_GPU) for _ in range(pieces)]
        rows[f"pinned memory, {pieces} x {size} bytes"] = {"us": (time.perf_counter() - began) * 1e6}
        del kept
        if ON_GPU and hasattr(torch._C, "_host_emptyCache"):
            torch._C._host_emptyCache()
    return rows


if __name__ == "__main__":
    need_gpu()
    strict()
    table, failed = {}, {}
    for part in products, attention, elementwise, optimizer, copies:
        try:
            table |= part()
        except Exception as error:  # the others are worth having
            failed[part.__name__] = f"{type(error).__name__}: {str(error).splitlines()[0]}"
    tell({"table": table, "failed": failed})
