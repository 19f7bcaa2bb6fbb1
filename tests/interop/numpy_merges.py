#!/usr/bin/env python3
"""Checks that `titan-ckpt merge` gives the bits that numpy computes in fp64, for any layouts of the sources.

(TITAN_BIN names the folder of the programs.)
"""
import functools
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy

PROGRAMS = pathlib.Path(os.environ["TITAN_BIN"])
LAYOUTS = [["dp=1"], ["dp=2", "pp=2", "compression=zstd"], ["dp=3", "leaf=100"], ["pp=2"]]
STEPS = [10, 20, 40, 50]


def ckpt(*words):
    done = subprocess.run([PROGRAMS / "titan-ckpt", *map(str, words)], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"error: titan-ckpt {' '.join(map(str, words))}: {done.stderr}")
    return done.stdout


@functools.cache  # of a source it is asked for again
def tensor(folder, checkpoint, name):
    ckpt("cat", checkpoint, name, "-o", folder / "x.npy")
    return numpy.load(folder / "x.npy")


def expected_weights(kind):
    n = len(STEPS)
    if kind == "mean":
        return [1 / n] * n
    if kind == "ema":
        return [0.8**3, 0.2 * 0.8**2, 0.2 * 0.8, 0.2]
    decay = {"linear": lambda p: 1 - p, "1-sqrt": lambda p: 1 - p**0.5, "cosine": lambda p: (1 + numpy.cos(numpy.pi * p)) / 2}[kind]
    length = (STEPS[-1] - STEPS[0]) * n / (n - 1)
    behind = [decay((step - STEPS[0]) / length) for step in STEPS] + [0]
    return [a - b for a, b in zip(behind, behind[1:])]


def main():
    with tempfile.TemporaryDirectory(prefix="titan-merge-") as name:
        folder, compared = pathlib.Path(name), 0
        for i, step in enumerate(STEPS):
            for run, layout in (("run", LAYOUTS[0]), ("other", LAYOUTS[i])):
                subprocess.run([PROGRAMS / "titan-make-checkpoint", folder / run / "checkpoint", f"step={step}", f"seed={step}", *layout], check=True, capture_output=True)
        for kind in ("mean", "linear", "1-sqrt", "cosine", "ema"):
            flags = ["--ema", "0.8"] if kind == "ema" else ["--weights", kind]
            report = json.loads(ckpt("merge", f"{folder}/run@10..50", "-o", folder / kind, *flags, "--json"))
            other = json.loads(ckpt("merge", f"{folder}/other@10..50", "-o", folder / f"{kind}-other", *flags, "--json"))
            if report["id"] != other["id"]:
                sys.exit(f"error: {kind}: other layouts give another id")
            weights = [source["weight"] for source in report["sources"]]
            if not numpy.allclose(weights, expected_weights(kind), rtol=0, atol=1e-12):
                sys.exit(f"error: {kind}: the weights are {weights}, expected {expected_weights(kind)}")
            for row in json.loads((folder / kind / "manifest.json").read_text())["parameters"]:
                total = 0
                for weight, step in zip(weights, STEPS):
                    total = total + numpy.float64(weight) * tensor(folder, f"{folder}/run@{step}", row["name"]).astype("float64")
                if not numpy.array_equal(tensor(folder, folder / kind, row["name"]).view("uint32"), total.astype("float32").view("uint32")):
                    sys.exit(f"error: {kind}: {row['name']} has other bits than numpy's sum")
                compared += 1
    print(f"{compared} tensors equal, bit for bit")


if __name__ == "__main__":
    main()
