"""What scripts/gpu-check asks LibTorch's Python package: the device, the switches of a deterministic run, times. `--device cpu` rehearses with small shapes."""
import json
import statistics
import sys
import time

import torch

DEVICE = "cpu" if "--device=cpu" in sys.argv else "cuda"
ON_GPU = DEVICE == "cuda"


def words():
    """What was given beside the device."""
    return [word for word in sys.argv[1:] if not word.startswith("--device=")]


def skip(why):
    print(why)
    sys.exit(77)


def need_gpu():
    if ON_GPU and not torch.cuda.is_available():
        skip("the Python package of LibTorch finds no GPU")


def strict(on=True):
    """The switches of a deterministic run, those of libtrain/engine/cuda/gpu_switches.cpp."""
    torch.use_deterministic_algorithms(on)
    torch.utils.deterministic.fill_uninitialized_memory = False
    torch.backends.cudnn.deterministic = on
    torch.backends.cudnn.benchmark = not on
    torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = (not on, True)  # (sums in bf16, split sums)
    torch.backends.cuda.matmul.fp32_precision = "ieee"


def wait():
    if ON_GPU:
        torch.cuda.synchronize()


def seconds(work, times=7):
    """The median of so many runs, the first two left out: what a call takes until the device is done."""
    spent = []
    for _ in range(times + 2):
        wait()
        began = time.perf_counter()
        work()
        wait()
        spent.append(time.perf_counter() - began)
    return statistics.median(spent[2:])


def queued(work, calls=10):
    """Seconds a call of several that stand behind each other: without the time of their launches."""
    return seconds(lambda: [work() for _ in range(calls)], 3) / calls if ON_GPU else seconds(work, 1)


def tell(figures):
    print(json.dumps(figures))
