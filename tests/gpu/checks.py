"""The checks of scripts/gpu-check, in the order in which a borrowed machine should see them: does it run, is it right, what does it cost."""
import contextlib
import json
import os
import re
import shutil
import statistics
import sys
import time

import slice_of_8b
from machine import CONFIG, GPT_125M, LLAMA_1B, SMALL, Check, Skip, ended, harness, running

MODULE = next((path for path in (harness.BIN / "libtitan_cuda.so", harness.BIN.parent / "lib" / "libtitan_cuda.so") if path.exists()), harness.BIN / "libtitan_cuda.so")


def facts(m):
    code, out, errors = ended([harness.TRAIN, "--version"])
    if code != 0:
        raise harness.Failure(errors[-600:])
    found = {"titan": out.splitlines()[0], "processors": os.cpu_count(), "disk_free": shutil.disk_usage(m.work).free,
             "memory": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")}
    if m.device == "cuda":
        found["gpus"] = m.names
        found["state"] = ended(["nvidia-smi", "-q", "-d", "CLOCK,POWER,MEMORY"])[1]
        found["bridges"] = ended(["nvidia-smi", "topo", "-m"])[1]
        found |= m.torch("kernels", "versions")
    return found


def nccl_alone(m):
    """By the module itself, in a process of its own: a failure of CUDA may end it."""
    code = ("import ctypes, sys; sys.argv[2] and __import__('torch'); m = ctypes.CDLL(sys.argv[1]); m.titan_cuda_try.restype = ctypes.c_bool; "
            "t = ctypes.create_string_buffer(4096); ok = m.titan_cuda_try(0, t, ctypes.c_size_t(4096)); print(t.value.decode()); sys.exit(0 if ok else 1)")
    # One that travelled does not know where LibTorch is; the package for Python does.
    travelled = MODULE.parent.name == "lib"
    status, out, errors = ended([m.python if travelled else sys.executable, "-c", code, MODULE, "torch" if travelled else ""])
    if status != 0:
        raise harness.Failure((out + errors).strip()[-600:])
    return dict(line.split(" ", 1) for line in out.strip().splitlines())


def two_processes(m):
    return m.torch("two_processes", str(harness.free_port()))


def lists(m):
    return m.torch("kernels", "lists")


def attention(m):
    return m.torch("kernels", "attention")


def table(m):
    return m.torch("kernel_table")


def against_the_cpu(m):
    """fp32, 20 steps: the losses of the CPU to 1e-4, and twice the same bits."""
    shape, = m.pick(SMALL)
    more = {"training__mixed_precision_param": "float32"}
    cpu = m.train("fp32-cpu", shape, 20, training__device="cpu", **more)
    one, two = m.train("fp32-1", shape, 20, **more), m.train("fp32-2", shape, 20, **more)
    m.same(one, two, 20)
    gap = max(abs(a["loss"] - b["loss"]) for a, b in zip(m.steps_of(cpu), m.steps_of(one)))
    if gap > (0 if m.device == "fake" else 1e-4):
        raise harness.Failure(f"losses differ by {gap:.2e} from the CPU's")
    return {"largest_difference": gap}


def resumes(m, shape=GPT_125M):
    """bf16: stopped and resumed, and with layers computed again: the same ids."""
    shape, = m.pick(shape)
    last = {"checkpoint__interval": 8}
    through = m.train("through", shape, 8, **last)
    parts = m.train("parts", shape, 8, expect=75, debug__stop_at_step=4, **last)
    m.train("parts", shape, 8, **last)
    m.same(through, parts, 8)
    shutil.rmtree(parts)
    m.same(through, m.train("again", shape, 8, activation_checkpoint__mode="full", **last), 8)
    return {}


def resumes_1b(m):
    if m.rehearsal:
        raise Skip("the same on the tiny model")
    return resumes(m, LLAMA_1B)


def memory(m):
    """The same ids wherever tensors lie in memory, by single operations in place of the element kernels, and for two rows at once with layers kept and computed again."""
    shape, = m.pick(GPT_125M)
    packed = m.train("packed", shape, 4)
    for name, value in (("PYTORCH_NO_CUDA_MEMORY_CACHING", "1"), ("PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True")):
        m.same(packed, m.train(f"spread-{name[8:12].lower()}", shape, 4, env={name: value}), 4)
    m.same(packed, m.train("single", shape, 4, env={"TITAN_SINGLE_OPERATIONS": "1"}), 4)
    two = {"training__local_batch_size": 2}
    m.same(m.train("two-kept", shape, 4, **two), m.train("two-again", shape, 4, activation_checkpoint__mode="full", **two), 4)
    return {}


PROMISES = {"": {}, "not deterministic": slice_of_8b.NOT_STRICT, "cudnn": slice_of_8b.NOT_STRICT | {"training__attention": "cudnn"}}


def speed(m):
    """Tokens per second, MFU and the peak of memory beside plan's; then what other kernels would give."""
    figures = {}
    for shape in m.pick(GPT_125M, LLAMA_1B):
        for promise, more in PROMISES.items():
            if promise and m.rehearsal:
                continue
            name, steps = f"{shape[0]} layers of {shape[1]} {promise}".strip(), 6 if m.rehearsal else 16
            taken = {}
            with m.used_bytes(taken):
                folder = m.train(f"speed-{name}".replace(" ", "-"), shape, steps, checkpoint__enable=False, **more)
            lines = m.steps_of(folder)[3:]
            planned = m.planned(shape, steps, **more)["stages"][0]["memory"]["total_estimate"]
            row = {"tokens_per_s": statistics.median(line["tps_total"] for line in lines), "mfu": lines[-1].get("mfu"),
                   "peak_bytes": lines[-1].get("tensor_bytes"), "planned_bytes": planned, "taken_bytes": taken.get("bytes")}
            figures[name] = row
            if not promise and m.device != "cpu" and row["peak_bytes"] and abs(row["peak_bytes"] / planned - 1) > 0.1:
                raise harness.Failure(f"{name}: peak {row['peak_bytes']:,} bytes, plan says {planned:,}")
    return figures


def saves(m):
    """GB/s of a save and of a load, and for how long training stands still when it saves in the background."""
    shape, = m.pick(LLAMA_1B)
    last = {"checkpoint__interval": 4}
    sync = m.train("save-sync", shape, 4, checkpoint__async_mode="disabled", **last)
    behind = m.train("save-async", shape, 4, checkpoint__async_mode="async", **last)
    m.same(sync, behind, 4)
    commit = lambda folder: [event for event in harness.events(folder) if event["event"] == "save_commit"][0]  # noqa: E731
    began = time.time()
    m.train("save-sync", shape, 5, lr_scheduler__total_steps=4, **last)
    return {"gb_per_s": commit(sync)["gb_per_s"], "stall_s": commit(sync)["stall_s"], "stall_async_s": commit(behind)["stall_s"], "resume_s": time.time() - began}


LAYOUTS = {"2x1": (2, 1, {}), "1x2": (2, 2, {}), "2x1 in one part": (2, 1, {"parallelism__exchange_parts": 1}), "2x1 in three": (2, 1, {"parallelism__exchange_parts": 3}),
           "2x1 always": (2, 1, {"parallelism__gradient_exchange": "always"}), "2x2": (4, 2, {})}
SHARED = {"TITAN_SHARE_GPU": "1"}


def layouts(m, shape=GPT_125M, names=tuple(LAYOUTS), env=None):
    """The same ids on every layout, with the other way to exchange, and in one part or several."""
    shape, = m.pick(shape)
    first = m.train(f"layout-{shape[1]}-1x1", shape, 4)
    tried, taken = {}, {}
    for name in names:
        ranks, pp, more = LAYOUTS[name]
        if ranks > (2 if m.rehearsal else m.gpus) and not (env and not m.rehearsal):
            continue
        with m.used_bytes(taken):
            run = m.train(f"layout-{shape[1]}-{name}".replace(" ", "-"), shape, 4, ranks=ranks, env=env, parallelism__pipeline_parallel_degree=pp, **more)
        m.same(first, run, 4)
        tried[name] = statistics.median(line["tps_total"] for line in m.steps_of(run)[1:])
        shutil.rmtree(run)
    return {"tokens_per_s": tried, "taken_bytes": taken.get("bytes")}


def two_ranks(m):
    """A minute that says whether NCCL can connect and the groups agree, before longer runs."""
    if m.rehearsal:
        raise Skip("the same as on one GPU")
    return layouts(m, SMALL, ("2x1", "1x2"))


def shared_gpu(m):
    """NCCL between ranks that share the one GPU: slow, and all of its kernels, channels and errors are real."""
    return layouts(m, SMALL, ("2x1", "1x2") if m.rehearsal else ("2x1", "1x2", "2x1 always", "2x2"), SHARED)


def lost_rank(m, env=None):
    """A rank is killed where no launcher sees it: the other one finds out while it waits for its GPU, names it and leaves."""
    shape, = m.pick(SMALL)
    m.use(m.device)
    settings = m.settings(shape, 10_000, m.work / "lost", comm__train_timeout_seconds=20, checkpoint__enable=False)
    argv = [harness.TRAIN, "run", str(CONFIG), *harness.flags(settings)]
    with contextlib.ExitStack() as stack:
        first, second = (stack.enter_context(running(rank)) for rank in harness.start_each(argv, [os.environ | (env or {})] * 2))
        for line in first.stdout:
            if line.startswith("step:"):
                break
        began = time.time()
        second.kill()
        _, errors = first.communicate()
    if first.returncode != 3 or not re.search(r"error: .*rank 1\b", errors):
        raise harness.Failure(f"exit code {first.returncode}: {errors[-1500:]}")
    return {"seconds": time.time() - began}


def lost_neighbour(m):
    if m.rehearsal:
        raise Skip("the same as on two GPUs")
    return lost_rank(m, SHARED)


def calibration(rows):
    """What `titan-train plan --device NAME --calibration FILE` takes of the rows of a report."""
    found = {}
    for row in rows:
        found |= row["figures"].get("calibration", {})
    return json.loads(json.dumps(found))


CHECKS = [
    Check(1, "facts: GPU, driver, clocks, memory, CUDA, NCCL, LibTorch", facts, 0, 40),
    Check(2, "libtitan_cuda.so: an NCCL group of one rank, connected at once", nccl_alone, 1, 30),
    Check(3, "NCCL between two processes of PyTorch on one GPU", two_processes, 1, 40),
    Check(4, "kernels over lists (AdamW, add) against single calls: equal bits", lists, 1, 30),
    Check(5, "attention: the kernel that is used, flash and cuDNN, twice: equal bits", attention, 1, 30),
    Check(6, "fp32, 20 steps: losses of the CPU to 1e-4; twice: equal bits", against_the_cpu, 0, 90),
    Check(7, "bf16, 125M: stopped and resumed, layers computed again: equal ids", resumes, 0, 80, 8),
    Check(8, "two or four ranks on one GPU over NCCL: equal ids on a small model", shared_gpu, 0, 100),
    Check(9, "a slice of 8B, 4 and 2 layers: seconds of a layer, and of head and loss; other kernels", slice_of_8b.speed, 0, 150),
    Check(10, "a table of kernels at 8B's shapes; copies to the host, pinned memory", table, 0, 90),
    Check(11, "eager PyTorch on the slice", slice_of_8b.eager, 0, 60),
    Check(12, "compiled PyTorch on the slice", slice_of_8b.compiled, 0, 120),
    Check(13, "8B's shapes, 16,384 tokens at once: stopped and resumed, computed again: equal ids", slice_of_8b.bits, 0, 150, 30),
    Check(14, "a trace of the GPU over some steps of the slice", slice_of_8b.trace, 0, 50),
    Check(15, "bf16, 1B: stopped and resumed, layers computed again: equal ids", resumes_1b, 0, 150, 40),
    Check(16, "saves: GB/s, stall of a save in the background", saves, 0, 120, 40),
    Check(17, "tokens/s, MFU, peak of memory beside plan (10 %); other kernels", speed, 0, 140),
    Check(18, "other addresses, single operations, two rows at once with layers kept or computed again: equal ids", memory, 0, 80, 8),
    Check(19, "two ranks on one GPU: one is killed, the other leaves", lost_neighbour, 0, 40),
    Check(20, "compute-sanitizer over two steps: no wrong access", slice_of_8b.sanitizer, 1, 80),
    Check(21, "two GPUs: equal ids on a small model", two_ranks, 2, 180),
    Check(22, "two GPUs: one rank is killed, the other leaves", lost_rank, 2, 60),
    Check(23, "two GPUs or more: equal ids on every layout and exchange", layouts, 2, 540, 8),
]
