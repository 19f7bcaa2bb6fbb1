#!/usr/bin/env python3
"""cuda_module.py --bin FOLDER: libtitan_cuda.so opens with all its symbols, and a run on a host without a GPU ends with one clear error (2)
before anything is written. Skipped (77) where there is a driver."""
import argparse
import ctypes
import pathlib
import subprocess
import sys
import tempfile

parser = argparse.ArgumentParser()
parser.add_argument("--bin", type=pathlib.Path, required=True)
folder = parser.parse_args().bin.resolve()
try:
    ctypes.CDLL("libcuda.so.1")
    print("not run: there is an NVIDIA driver")
    sys.exit(77)
except OSError:
    pass

assert b"libtorch_cuda.so" not in (folder / "titan-train-engine").read_bytes(), "titan-train-engine itself loads no CUDA"
module = ctypes.CDLL(str(folder / "libtitan_cuda.so"))
module.titan_cuda_try.restype = ctypes.c_bool
text = ctypes.create_string_buffer(4096)
assert not module.titan_cuda_try(0, text, ctypes.c_size_t(len(text))), text.value
assert text.value.startswith(b"NCCL cannot connect rank 0 with the group of this rank alone: "), text.value

with tempfile.TemporaryDirectory() as work:
    work = pathlib.Path(work)
    (work / "text.txt").write_text("a text of the titan. " * 100)
    words = [folder / "titan-train", "run", "--training.device=cuda", "--training.dataset_path=text.txt", "--job.dump_folder=run",
             "--model.dim=64", "--model.n_layers=1", "--model.n_heads=2", "--model.vocab_size=256", "--training.seq_len=32"]
    (work / "run.toml").write_text("")
    words.insert(2, "run.toml")
    for more in [], ["--nproc", "2"]:
        done = subprocess.run([*words, *more], cwd=work, capture_output=True, text=True, timeout=120)
        assert done.returncode == 2, (done.returncode, done.stderr)
        lines = [line for line in done.stderr.splitlines() if line]
        assert lines[0].startswith('error: training.device = "cuda": no CUDA device: '), done.stderr
        assert lines[1].strip().startswith("hint: ") and len(lines) == 2, done.stderr
        assert not (work / "run").exists(), "a refused start leaves nothing behind"
    # auto is the CPU here, and says nothing of GPUs.
    done = subprocess.run([*(str(word).replace("device=cuda", "device=auto") for word in words), "--training.steps=1", "--training.local_batch_size=1",
                           "--checkpoint.no_enable"], cwd=work, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and "CUDA" not in done.stderr, done.stderr
print("libtitan_cuda.so opens and says that there is no CUDA device")
