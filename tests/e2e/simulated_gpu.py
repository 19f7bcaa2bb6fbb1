#!/usr/bin/env python3
"""titan-train with the real libtitan_cuda.so, LibTorch's own code for CUDA and its ProcessGroupNCCL on simulated GPUs (tests/simulated_gpu): streams and
NCCL do their work as late as the rules allow, or early, and the CPU's kernels compute. Every layout has the same bits; a missing wait changes them.
Without these kernels, LibTorch launches its own, which do nothing: what LibTorch refuses, and which kernels it chooses, can still be tested.

    simulated_gpu.py --gpu FOLDER [--only PART,...]
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import harness  # noqa: E402

os.environ.pop("CUDA_VISIBLE_DEVICES", None)  # the GPUs are stand-ins
CONFIG = harness.ROOT / "tests" / "e2e" / "small.toml"
parser = argparse.ArgumentParser()
parser.add_argument("--gpu", type=pathlib.Path, required=True, help="with libcuda.so.1 and titan-simulated-gpu.so")
parser.add_argument("--only", default="", help="parts by name")
given = parser.parse_args()
GPU = given.gpu.resolve()
BF16 = {"training__mixed_precision_param": "bfloat16"}
PP2 = {"parallelism__pipeline_parallel_degree": 2}
PARTS = {"parallelism__exchange_parts": 3}
LAUNCHES = (60, 72)  # of a layer, kept and computed again
OWN = ("swiglu_bf16_4", "swiglu_gradients_bf16_4", "rope_bf16_4", "logit_gradients_bf16_4", "norm_bf16_4", "norm_gradients_bf16_4", "leaf_squares")  # of element_kernels.cu
# Name: ranks, settings.
LAYOUTS = {
    "dp2": (2, {}),
    "dp4-always": (4, PARTS | {"parallelism__gradient_exchange": "always"}),
    "dp2-late": (2, PARTS | {"parallelism__gradient_exchange": "late"}),
    "pp2": (2, PP2),
    "dp3": (3, PARTS),
    "pp2-interleaved": (2, PP2 | {"parallelism__pipeline_parallel_schedule": "Interleaved1F1B"}),
    "pp2-dual": (2, PP2 | {"parallelism__pipeline_parallel_schedule": "DualPipeV"}),
    "pp4-zb": (4, {"parallelism__pipeline_parallel_degree": 4, "parallelism__pipeline_parallel_schedule": "ZB-H1"}),
    "pp2-zero-bubble": (2, PP2 | {"parallelism__pipeline_parallel_schedule": "ZBVZeroBubble"}),
    "pp2-dp2-parts": (4, PP2 | PARTS | {"parallelism__gradient_exchange": "always"}),
    "layers-again": (1, {"activation_checkpoint__mode": "full"}),
    "async": (1, {"checkpoint__async_mode": "async", "checkpoint__interval": 1}),
}


def words(work, ranks=1, device="cuda", **more):
    settings = {"training.device": device, "training.dataset": "tokens", "training.dataset_path": work / "tokens.bin", "training.steps": 4,
                "lr_scheduler.total_steps": 4, "lr_scheduler.warmup_steps": 1, "training.local_batch_size": 1, "training.global_batch_size": 4,
                "checkpoint.interval": 2, "metrics.log_freq": 1, "validation.enable": False, "job.threads_per_rank": 1}
    settings |= {key.replace("__", "."): value for key, value in more.items()}
    return [harness.TRAIN, "run", str(CONFIG), "--nproc", str(ranks), *harness.flags(settings)]


def machine(work, computes=True, **more):
    """The environment of a host with four GPUs."""
    files = tempfile.mkdtemp(dir=work)
    found = os.environ | {"LD_PRELOAD": str(GPU / "libcuda.so.1"), "LD_LIBRARY_PATH": str(GPU), "TITAN_SIMULATED_GPUS": "4",
                          "TITAN_SIMULATED_GPU_FOLDER": files} | {key: str(value) for key, value in more.items()}
    if computes:
        found |= {"TITAN_CUDA_MODULE": str(GPU / "titan-simulated-gpu.so"), "TITAN_SIMULATED_GPU_MODULE": str(harness.BIN / "libtitan_cuda.so")}
    return found


def run(work, ranks=1, host=None, **more):
    return subprocess.run(words(work, ranks, **more), capture_output=True, text=True, timeout=180, env=host or machine(work))


def trained(done):
    assert done.returncode == 0, done.stderr + done.stdout
    return done


def error_of(done, code):
    assert done.returncode == code, (done.returncode, done.stderr)
    lines = done.stderr.splitlines()
    errors = [i for i, line in enumerate(lines) if line.startswith("error: ")]
    assert len(errors) == 1, done.stderr
    text = "\n".join(lines[errors[0]:])
    assert "frame #" not in text and "\\x0a" not in text, text
    return text


def near(run, other, tolerance):
    rows, others = harness.step_lines(run), harness.step_lines(other)
    assert rows.keys() == others.keys(), (rows, others)
    for step, row in rows.items():
        for mine, theirs in zip(row, others[step]):
            assert abs(float(mine) - float(theirs)) <= tolerance * abs(float(theirs)), (step, row, others[step])


def same(folder, name, reference):
    assert harness.step_lines(folder / name) == harness.step_lines(folder / reference), name
    assert harness.checkpoint_id(folder / name, 4) == harness.checkpoint_id(folder / reference, 4), name


def reference(work):
    trained(run(work, device="cpu", job__dump_folder=work / "cpu"))
    trained(run(work, job__dump_folder=work / "one"))
    near(work / "one", work / "cpu", 1e-5)


def every_layout(work):
    for order in {}, {"TITAN_SIMULATED_GPU_EARLY": 1}:
        for name, (ranks, settings) in LAYOUTS.items():
            folder = name + ("-early" if order else "")
            trained(run(work, ranks, machine(work, **order), job__dump_folder=work / folder, **settings))
            same(work, folder, "one")


def tied_head(work):
    tied = {"model__tied_embeddings": True}
    trained(run(work, job__dump_folder=work / "tied", **tied))
    for name in "pp2", "pp2-dp2-parts":
        ranks, settings = LAYOUTS[name]
        trained(run(work, ranks, job__dump_folder=work / f"tied-{name}", **tied, **settings))
        same(work, f"tied-{name}", "tied")


def two_hosts(work):
    """Two GPUs each: exchange within nodes and between them."""
    argv = [word for word in words(work, job__dump_folder=work / "nodes", parallelism__gradient_exchange="node") if word not in ("--nproc", "1")]
    host = machine(work, TITAN_SIMULATED_GPUS=2)
    ranks = harness.start_each(argv, [host | {"CUDA_VISIBLE_DEVICES": str(first)} for first in (0, 0, 2, 2)], per_host=2)
    told = [rank.communicate(timeout=120)[1] for rank in ranks]
    assert not any(rank.returncode for rank in ranks), told
    same(work, "nodes", "one")


def six_gpus(work):
    """Two groups of three: an all-to-all among few, and swaps between groups."""
    batch = {"training__global_batch_size": 13}
    host = machine(work, TITAN_SIMULATED_GPUS=6)
    trained(run(work, 1, host, job__dump_folder=work / "thirteen", **batch))
    trained(run(work, 6, host, job__dump_folder=work / "six", **batch, **PARTS))
    same(work, "six", "thirteen")


def bfloat16(work):
    shared = BF16 | {"model__n_kv_heads": 1, "training__ema": 0.9}
    trained(run(work, device="cpu", job__dump_folder=work / "bf16-cpu", **shared))
    trained(run(work, job__dump_folder=work / "bf16", **shared))
    near(work / "bf16", work / "bf16-cpu", 1e-2)
    for name in "dp2", "pp2-dp2-parts":
        ranks, settings = LAYOUTS[name]
        trained(run(work, ranks, job__dump_folder=work / f"bf16-{name}", **shared, **settings))
        same(work, f"bf16-{name}", "bf16")


def element_kernels(work):
    """One kernel in place of several: the curve is that of the single operations up to roundings of the CPU's exp. Rows of 8 ranks are added in one pass."""
    for name, host in ("own", machine(work)), ("single", machine(work, TITAN_SINGLE_OPERATIONS=1)):
        trained(run(work, 1, host, job__dump_folder=work / f"elements-{name}", **BF16))
    near(work / "elements-own", work / "elements-single", 1e-3)
    names = work / "rows.txt"
    batch = {"training__global_batch_size": 12, "training__steps": 2, "checkpoint__interval": 2}
    trained(run(work, 1, job__dump_folder=work / "rows-one", **BF16, **batch))
    host = machine(work, TITAN_SIMULATED_GPUS=8, TITAN_SIMULATED_GPU_KERNELS=names)
    trained(run(work, 8, host, job__dump_folder=work / "rows-eight", parallelism__gradient_exchange="always", **BF16, **batch))
    assert harness.checkpoint_id(work / "rows-one", 2) == harness.checkpoint_id(work / "rows-eight", 2)
    assert "add_2_rows_bf16" in names.read_text(), names.read_text()


def heads_in_pieces(work):
    """So many heads and tokens that the backward of attention goes in three calls (heads_per_call_test). Without the promise of equal bits it is one: here the same."""
    wide = BF16 | {"model__n_layers": 1, "model__dim": 256, "model__n_heads": 32, "model__n_kv_heads": 8, "training__seq_len": 2048, "training__global_batch_size": 1,
                   "training__steps": 1, "checkpoint__interval": 1}
    for name, strict in ("three", True), ("once", False):
        trained(run(work, job__dump_folder=work / f"heads-{name}", debug__deterministic=strict, **wide))
    assert harness.step_lines(work / "heads-three") == harness.step_lines(work / "heads-once")
    assert harness.checkpoint_id(work / "heads-three", 1) == harness.checkpoint_id(work / "heads-once", 1)


def resumed(work):
    run_folder = {"job__dump_folder": work / "resumed"}
    trained(run(work, 2, training__steps=2, **run_folder))
    trained(run(work, 2, **run_folder, **PP2))
    same(work, "resumed", "one")
    assert "multiprocessors 132" in (work / "resumed" / "logs" / "rank-0.log").read_text()  # of what decides bits
    from_cpu = {"job__dump_folder": work / "from-cpu"}
    trained(run(work, device="cpu", training__steps=2, **from_cpu))
    said = trained(run(work, **from_cpu)).stderr
    assert "cpu in the checkpoint, Simulated GPU now" in said, said
    near(work / "from-cpu", work / "cpu", 1e-5)


def own_kernels(work):
    """LibTorch's are launched, and do nothing: the weights stay. Memory comes from the driver, which gives zeros, so that no norm is a NaN."""
    names = work / "kernels.txt"
    host = machine(work, computes=False, TITAN_SIMULATED_GPU_KERNELS=names, PYTORCH_NO_CUDA_MEMORY_CACHING=1)
    trained(run(work, 1, host, job__dump_folder=work / "still", **BF16))
    launched = names.read_text()
    for kernel in "flash_fwd_kernel", "flash_bwd_dq_dk_dv", "FusedAdamMathFunctor", "GammaBeta", *OWN:
        assert kernel in launched, (kernel, launched)
    assert "layer_norm_grad_input" not in launched, launched
    trained(run(work, 1, host | {"TITAN_SINGLE_OPERATIONS": "1"}, job__dump_folder=work / "still-single", training__steps=1, **BF16))
    trained(run(work, 4, host, job__dump_folder=work / "still-stages", **BF16, **PP2))
    assert harness.checkpoint_id(work / "still", 4) == harness.checkpoint_id(work / "still-stages", 4)
    names.unlink()
    trained(run(work, 1, host, job__dump_folder=work / "still-math", training__attention="math", debug__deterministic=False, **BF16))
    assert "flash" not in names.read_text(), names.read_text()
    trained(run(work, 1, host, job__dump_folder=work / "still-norm", training__norm_type=1))


def traced(work):
    """LibTorch's profiler writes a step where that is asked for, and changes nothing."""
    file = work / "trace.json"
    trained(run(work, host=machine(work, TITAN_GPU_TRACE=file), job__dump_folder=work / "traced"))
    same(work, "traced", "one")
    assert any(event.get("name") == "aten::mm" for event in json.loads(file.read_text())["traceEvents"])


def launches(work):
    """Kernels of a layer in a micro-batch, forward and backward: docs/performance.md has them, and the host counts on 100 each way (kLaunchesOfLayer)."""
    for name, more, most in ("kept", {}, LAUNCHES[0]), ("computed again", {"activation_checkpoint__mode": "full"}, LAUNCHES[1]):
        counts = []
        for layers in 2, 4:
            file = work / f"launches-{layers}-{len(counts)}-{name[0]}"
            host = machine(work, computes=False, TITAN_SIMULATED_GPU_ZEROS=1, TITAN_SIMULATED_GPU_LAUNCHES=file)
            trained(run(work, 1, host, job__dump_folder=work / file.name.replace("launches", "counted"), checkpoint__enable=False, model__n_layers=layers, **BF16, **more))
            counts.append(int.from_bytes(file.read_bytes(), "little"))
        of_layer = (counts[1] - counts[0]) / 2 / 4 / 4  # layers, steps, micro-batches
        print(f"a layer that is {name}: {of_layer:.1f} launches a micro-batch, with its part of a step")
        assert of_layer <= most, (name, counts)


def segments_that_grow(work):
    """Tensors lie in them by default: the variable that asks for them is set before LibTorch reads it. The driver is asked for pieces, not for blocks."""
    for name, value, blocks in ("grow", "", False), ("fixed", "expandable_segments:False", True):
        file = work / f"asked-{name}"
        more = {"PYTORCH_CUDA_ALLOC_CONF": value} if value else {}
        trained(run(work, 1, machine(work, TITAN_SIMULATED_GPU_WAITS=file, **more), job__dump_folder=work / f"segments-{name}"))
        same(work, f"segments-{name}", "one")
        asked = set(file.read_text().splitlines())
        assert ("malloc" in asked, "map" in asked) == (blocks, not blocks), asked


def no_hidden_waits(work):
    """The host waits for its GPU in no call of the driver, however many steps there are: it looks at events, and hears its peers meanwhile."""
    for name in "one", "dp4-always", "pp2":
        ranks, settings = LAYOUTS.get(name, (1, {}))
        waits = []
        for steps in 5, 9:
            file = work / f"waits-{name}-{steps}"
            host = machine(work, computes=False, TITAN_SIMULATED_GPU_ZEROS=1, TITAN_SIMULATED_GPU_WAITS=file)
            trained(run(work, ranks, host, job__dump_folder=work / f"unheld-{name}-{steps}", training__steps=steps, checkpoint__enable=False, **BF16, **settings))
            waits.append(sorted(file.read_text().splitlines()))
        assert waits[0] == waits[1], (name, waits)


def host_keeps_pace(work):
    """The driver ends the process where the host is far ahead of it. Nor do the tensors that travel become more with the micro-batches."""
    for name, settings in ("one", {}), ("pp2", PP2), ("dp2-late", PARTS | {"parallelism__gradient_exchange": "late"}):
        trained(run(work, LAYOUTS.get(name, (1, 0))[0], job__dump_folder=work / f"far-{name}", training__steps=2, training__global_batch_size=24,
                    checkpoint__enable=False, **settings))
    wide = BF16 | {"model__dim": 256, "model__n_heads": 4, "model__ffn_dim": 256, "training__seq_len": 512, "training__local_batch_size": 4}
    (work / "far.bin").write_bytes((work / "tokens.bin").read_bytes() * 8)
    peaks = []
    for count in 4, 32:
        host = machine(work, computes=False, TITAN_SIMULATED_GPU_ZEROS=1)
        trained(run(work, 2, host, job__dump_folder=work / f"many-{count}", training__global_batch_size=4 * count, training__steps=3, checkpoint__enable=False,
                    training__dataset_path=work / "far.bin", **wide, **PP2))
        peaks.append(json.loads((work / f"many-{count}" / "metrics.jsonl").read_text().splitlines()[-1])["tensor_bytes"])
    assert peaks[1] < 1.1 * peaks[0], peaks


def memory(work):
    """The peak that LibTorch's allocator for CUDA counts is plan's within 10 %: its kernels ask for what they need, and compute nothing."""
    gpt = {"model__n_layers": 12, "model__dim": 768, "model__n_heads": 12, "model__ffn_dim": 2048, "model__vocab_size": 50304, "training__seq_len": 1024}
    less = {"activation_checkpoint__mode": "full", "training__loss_chunk": 128, "training__local_batch_size": 4}
    host = machine(work, computes=False, TITAN_SIMULATED_GPU_ZEROS=1)
    (work / "long.bin").write_bytes((work / "tokens.bin").read_bytes() * 4)
    for name, settings in ("large", {}), ("large-less", less):
        shared = BF16 | gpt | settings | {"training__dataset_path": work / "long.bin", "training__steps": 3, "checkpoint__enable": False}
        trained(run(work, 1, host, job__dump_folder=work / name, **shared))
        peak = json.loads((work / name / "metrics.jsonl").read_text().splitlines()[-1])["tensor_bytes"]
        planned = subprocess.run([word if word != "run" else "plan" for word in words(work, job__dump_folder=work / "planned", **shared)] + ["--json"],
                                 capture_output=True, text=True, check=True)
        estimate = json.loads(planned.stdout)["stages"][0]["memory"]["total_estimate"]
        assert abs(peak / estimate - 1) < 0.1, (name, peak, estimate)


def mistakes(work):
    few = machine(work, TITAN_SIMULATED_GPU_BYTES=30_000_000)
    text = error_of(run(work, 1, few, job__dump_folder=work / "few", training__seq_len=512, training__local_batch_size=4), 3)
    assert "rank 0 has no memory left: tensors hold" in text and "CUDA out of memory" in text and "for activations" in text, text
    text = error_of(run(work, 5, machine(work), job__dump_folder=work / "five", training__global_batch_size=5), 2)
    assert "5 ranks on this host, and 4 GPUs" in text, text
    text = error_of(run(work, 1, machine(work, TITAN_SIMULATED_GPUS=0), job__dump_folder=work / "none"), 2)
    assert "no CUDA device" in text, text
    text = error_of(run(work, 2, machine(work, TITAN_SIMULATED_NCCL="refuses"), job__dump_folder=work / "refuses"), 3)
    assert "NCCL cannot connect rank" in text and "NCCL_DEBUG=INFO" in text, text
    text = error_of(run(work, 2, machine(work, TITAN_SIMULATED_NCCL="stops"), job__dump_folder=work / "stops", comm__train_timeout_seconds=8), 3)
    # Whichever rank comes to the limit first: the other one loses it, and that is no cause.
    assert "no transfer between GPUs has come to its end for 8 s, though all ranks give signs of life" in text, text
    assert "NCCL_DEBUG=INFO" in text and "CUDA_MODULE_LOADING=EAGER" in text and "gone" not in text, text

    began = time.monotonic()
    text = error_of(run(work, 2, machine(work, TITAN_SIMULATED_NCCL="breaks"), job__dump_folder=work / "breaks", comm__train_timeout_seconds=60), 3)
    assert "NCCL, group dp/0" in text and "remote process" in text and time.monotonic() - began < 30, text


def bound_gpus(work):
    """A batch system shows each task its own GPU alone, or the same one to all."""
    argv = [word for word in words(work, job__dump_folder=work / "bound") if word not in ("--nproc", "1")]
    files = machine(work, TITAN_SIMULATED_GPUS=1)
    for numbers, code in (("0", "0"), 2), (("0", "1"), 0):
        ranks = harness.start_each(argv, [files | {"CUDA_VISIBLE_DEVICES": number} for number in numbers])
        told = [rank.communicate(timeout=60)[1] for rank in ranks]
        assert [rank.returncode for rank in ranks] == [code] * 2, told
        assert code == 0 or "ranks 0-1 have one GPU (GPU-00" in told[0], told
    same(work, "bound", "one")
    # Nor may one of them compute in another way.
    two = machine(work, TITAN_SIMULATED_GPUS=2)
    ranks = harness.start_each(argv, [two, two | {"CUBLAS_WORKSPACE_CONFIG": ":16:8"}])
    told = [rank.communicate(timeout=60)[1] for rank in ranks]
    assert [rank.returncode for rank in ranks] == [13] * 2 and "cublas_workspace: not set on rank 0, :16:8 on rank 1" in told[0], told


def shared_gpu(work):
    """For tests on a machine with one GPU: all ranks on it, each a host of its own for NCCL, which refuses two of one host."""
    one = machine(work, TITAN_SIMULATED_GPUS=1)
    text = error_of(run(work, 2, one, job__dump_folder=work / "refused"), 2)
    assert "2 ranks on this host, and 1 GPU" in text, text
    trained(run(work, 2, one | {"TITAN_SHARE_GPU": "1"}, job__dump_folder=work / "shared"))
    same(work, "shared", "one")


def sick_gpu(work):
    """CUDA says the same error for good. No thread of LibTorch aborts the process before it is told, whatever the cluster asks for."""
    asked = {name: 1 for name in ("NCCL_ASYNC_ERROR_HANDLING", "TORCH_NCCL_BLOCKING_WAIT", "TORCH_NCCL_ENABLE_MONITORING")}
    host = machine(work, TITAN_SIMULATED_GPU_EVENTS=60, **asked)
    done = run(work, 2, host, job__dump_folder=work / "sick", training__steps=1000, lr_scheduler__total_steps=1000)
    assert done.returncode == 3 and "SIGABRT" not in done.stderr and "frame #" not in done.stderr, done.stderr
    assert "CUDA error: an illegal memory access was encountered" in done.stderr, done.stderr


def lost_rank(work):
    """No launcher sees that a rank is killed: the other one does, while it waits for its GPU."""
    argv = [word for word in words(work, job__dump_folder=work / "lost", training__steps=100_000, lr_scheduler__total_steps=100_000, **PP2)
            if word not in ("--nproc", "1")]
    ranks = harness.start_each(argv, [machine(work)] * 2)
    for line in ranks[0].stdout:
        if line.startswith("step: ") and int(line.split()[1]) >= 3:
            break
    killed = time.monotonic()
    ranks[1].kill()
    _, said = ranks[0].communicate(timeout=60)
    ranks[1].communicate()
    assert ranks[0].returncode == 3 and "rank 1" in said and time.monotonic() - killed < 30, (ranks[0].returncode, said)


PARTS_OF_TEST = (every_layout, tied_head, two_hosts, six_gpus, bfloat16, element_kernels, heads_in_pieces, resumed, own_kernels, traced, launches, segments_that_grow, no_hidden_waits, host_keeps_pace, memory, mistakes,
                 bound_gpus, shared_gpu, sick_gpu, lost_rank)
named = given.only.split(",") if given.only else [part.__name__ for part in PARTS_OF_TEST]
with tempfile.TemporaryDirectory() as folder:
    place = pathlib.Path(folder)
    harness.write_tokens(place / "tokens.bin", 40_000, 256)
    for part in (reference, *(part for part in PARTS_OF_TEST if part.__name__ in named)):
        began = time.monotonic()
        part(place)
        print(f"{part.__name__}: {time.monotonic() - began:.1f} s")
print("the real module on simulated GPUs: same bits on every layout, in any order that CUDA allows")
