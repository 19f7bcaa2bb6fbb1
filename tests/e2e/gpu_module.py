#!/usr/bin/env python3
"""titan-train with training.device = cuda and a module whose GPU is the CPU (tests/shims/gpu_module.cpp): it trains through the module's interface
with the CPU's losses and ids, resumes from the CPU's checkpoint and back and reports the changed class, and each problem with GPUs is one clear
error before anything is trained.

    gpu_module.py --module PATH
"""
import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import harness  # noqa: E402

os.environ.pop("CUDA_VISIBLE_DEVICES", None)  # the GPUs are stand-ins
CONFIG = harness.ROOT / "tests" / "e2e" / "small.toml"
parser = argparse.ArgumentParser()
parser.add_argument("--module", type=pathlib.Path, required=True)
MODULE = parser.parse_args().module.resolve()


def words(work, device, **more):
    settings = {"training.device": device, "training.dataset": "tokens", "training.dataset_path": work / "tokens.bin", "training.steps": 4,
                "lr_scheduler.total_steps": 4, "lr_scheduler.warmup_steps": 1, "training.local_batch_size": 1, "training.global_batch_size": 4,
                "checkpoint.interval": 2, "debug.seed": 3, "metrics.log_freq": 1, "validation.enable": False, "job.threads_per_rank": 1,
                "comm.init_timeout_seconds": 120}
    settings |= {key.replace("__", "."): value for key, value in more.items()}
    return [harness.TRAIN, "run", str(CONFIG), *harness.flags(settings)]


def run(work, device, ranks=1, fake=None, **more):
    return subprocess.run([*words(work, device, **more), "--nproc", str(ranks)], capture_output=True, text=True, timeout=300,
                          env=os.environ | {"TITAN_CUDA_MODULE": str(MODULE)} | (fake or {}))


def run_hosts(work, device, hosts, **more):
    """A rank on each host, which differ by their environments; what that of the first says, as they all do."""
    ranks = harness.start_each(words(work, device, **more), [os.environ | {"TITAN_CUDA_MODULE": str(MODULE)} | host for host in hosts], per_host=1)
    told = [rank.communicate(timeout=300) for rank in ranks]
    assert len({rank.returncode for rank in ranks}) == 1, told
    return subprocess.CompletedProcess([], ranks[0].returncode, *told[0])


def trained(done):
    assert done.returncode == 0, done.stderr + done.stdout
    return done


def refused(done, text, code=2):
    assert done.returncode == code, (done.returncode, done.stderr)
    errors = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
    assert len(errors) == 1 and text in errors[0], done.stderr
    assert "step:" not in done.stdout, done.stdout


with tempfile.TemporaryDirectory() as work:
    work = pathlib.Path(work)
    harness.write_tokens(work / "tokens.bin", 40_000, 256)
    # The same bits as on the CPU, in both groups of tensors.
    trained(run(work, "cpu", job__dump_folder=work / "cpu"))
    one = trained(run(work, "cuda", 2, job__dump_folder=work / "cuda"))
    assert "not yet run on a GPU" in one.stderr, one.stderr
    two = trained(run(work, "cuda", 2, job__dump_folder=work / "stages", parallelism__pipeline_parallel_degree=2, debug__deterministic=False))
    assert "deterministic" not in one.stderr and "debug.deterministic = false gives up" in two.stderr, two.stderr
    for other in "cuda", "stages":
        assert harness.step_lines(work / "cpu") == harness.step_lines(work / other), other
        assert harness.checkpoint_id(work / "cpu", 4) == harness.checkpoint_id(work / other, 4), other
    # From the CPU to a GPU and back.
    for folder, device, says in ("cpu", "cuda", "cpu in the checkpoint, Fake GPU now"), ("cuda", "cpu", "Fake GPU in the checkpoint, cpu now"):
        done = trained(run(work, device, job__dump_folder=work / folder, training__steps=6, lr_scheduler__total_steps=4))
        told = done.stdout + done.stderr
        assert "device: " + says in told or "attention: " in told, told
    for shown, fake, ranks, more in (
            ("no CUDA device: there is no NVIDIA driver", {"TITAN_FAKE_DRIVER": "0"}, 1, {}),
            ("the NVIDIA driver is for CUDA 12.8, LibTorch needs CUDA 13", {"TITAN_FAKE_DRIVER": "12080"}, 1, {}),
            ("no CUDA device: the driver shows none", {"TITAN_FAKE_GPUS": ""}, 1, {}),
            ("3 ranks on this host, and 2 GPUs", {}, 3, {}),
            ("the GPUs of this host are not alike: A on GPU 0; B on GPU 1", {"TITAN_FAKE_GPUS": "A,B"}, 2, {}),
            ("was built for LibTorch 2.9.1", {"TITAN_FAKE_TORCH": "2.9.1"}, 1, {}),
            ("belongs to another build of titan-train", {"TITAN_FAKE_INTERFACE": "0"}, 1, {}),
            ("flash computes heads of at most 256 elements, and this model's have 512", {}, 1,
             {"training__mixed_precision_param": "bfloat16", "model__dim": 1024, "model__n_heads": 2}),
            ("computes in bfloat16 alone", {}, 1, {"training__attention": "flash", "training__mixed_precision_param": "float32"}),
            ("has no deterministic backward", {}, 1, {"training__attention": "cudnn", "training__mixed_precision_param": "bfloat16"}),
            ("model.sliding_window is not supported on a GPU yet", {}, 1, {"model__sliding_window": 8}),
            ("model.n_experts is not supported on a GPU yet", {}, 1, {"model__n_experts": 4, "model__experts_per_token": 2}),
            ("training.document_mask is not supported on a GPU yet", {}, 1, {"training__document_mask": True}),
            ("the ranks' GPUs are not alike: H0 on rank 0; H1 on rank 1", {"TITAN_FAKE_GPU_OF_RANK": "H"}, 2, {})):
        refused(run(work, "cuda", ranks, fake, job__dump_folder=work / "refused", **more), shown)
        assert not (work / "refused" / "checkpoint").exists() or "ranks'" in shown, shown
    refused(run(work, "cuda", 2, {}, job__dump_folder=work / "mesh", parallelism__pipeline_parallel_degree=3), "3")
    refused(run(work, "cuda", 1, {"TITAN_FAKE_FAULT": "device"}, job__dump_folder=work / "busy"),
            "GPU 0 of this host cannot be used: CUDA error: device is busy", code=3)
    # "auto" looks for a driver by its name alone; this one is any library.
    drivers = work / "drivers"
    drivers.mkdir()
    shutil.copy(MODULE, drivers / "libcuda.so.1")
    driver = {"LD_LIBRARY_PATH": str(drivers)}
    auto = trained(run(work, "auto", 2, driver, job__dump_folder=work / "auto"))
    assert "device Fake GPU" in auto.stderr and "not yet run on a GPU" in auto.stderr, auto.stderr
    assert harness.checkpoint_id(work / "cpu", 4) == harness.checkpoint_id(work / "auto", 4)
    refused(run(work, "auto", 3, driver, job__dump_folder=work / "refused"), 'training.device = "auto": 3 ranks on this host, and 2 GPUs')
    refused(run(work, "auto", 1, driver | {"TITAN_FAKE_DRIVER": "12080"}, job__dump_folder=work / "refused"), "the NVIDIA driver is for CUDA 12.8")
    alone = "there is an NVIDIA driver, and this run computes on the CPU: "
    for says, fake in ((None, {}), (None, driver | {"CUDA_VISIBLE_DEVICES": ""}), ("the driver shows no GPU", driver | {"TITAN_FAKE_GPUS": ""}),
                       ("this titan-train was built without CUDA", driver | {"TITAN_CUDA_MODULE": str(work / "none.so")})):
        done = trained(run(work, "auto", 1, fake, job__dump_folder=work / "none", training__steps=1, checkpoint__enable=False))
        assert "device cpu" in done.stderr and (alone + says in done.stderr if says else "driver" not in done.stderr), done.stderr
    # Hosts that differ: one rank on a GPU, one on the CPU.
    refused(run_hosts(work, "auto", [driver, {}], job__dump_folder=work / "mixed"), "the ranks' GPUs are not alike: Fake GPU on rank 0; cpu on rank 1")
    nccl = run(work, "cuda", 2, {"TITAN_FAKE_FAULT": "nccl"}, job__dump_folder=work / "nccl")
    assert nccl.returncode == 3 and "NCCL cannot connect rank" in nccl.stderr and "NCCL_DEBUG=INFO" in nccl.stderr, nccl.stderr
print("training.device = cuda by a module: the CPU's bits, both ways between devices, one error for each mistake")
