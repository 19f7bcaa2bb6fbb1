#!/usr/bin/env python3
"""Shows that numpy loads what `titan-ckpt cat -o` writes, with the values that h5py finds in the shards.

usage: numpy_reads_cat.py RUN...     (every step of each RUN; TITAN_BIN names the folder of titan-ckpt)
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import h5py
import hdf5plugin  # noqa: F401: lets h5py read compressed shards
import numpy


def main():
    program = str(pathlib.Path(os.environ["TITAN_BIN"]) / "titan-ckpt")
    compared = 0
    for step in [step for run in sys.argv[1:] for step in sorted(pathlib.Path(run).glob("step-*"))]:
        manifest = json.loads((step / "manifest.json").read_text())
        for parameter in manifest["parameters"]:
            stored = {parameter["name"]: parameter["model"], **{f"{parameter['name']}.{slot}": s for slot, s in parameter.get("slots", {}).items()}}
            for name, tensor in stored.items():
                parts = []
                for file, first, *_ in tensor["pieces"]:
                    with h5py.File(step / manifest["files"][file]["path"]) as shard:
                        parts.append(numpy.asarray(shard[f"{name.replace('%', '%25').replace('/', '%2F')}@{first}"][:], dtype="float32"))
                expected = numpy.concatenate(parts).reshape(parameter["shape"]) if parts else numpy.zeros(parameter["shape"], "float32")
                with tempfile.TemporaryDirectory() as folder:
                    out = pathlib.Path(folder) / "x.npy"
                    subprocess.run([program, "cat", str(step), name, "-o", str(out)], check=True, capture_output=True)
                    found = numpy.load(out)
                if found.shape != expected.shape or not numpy.array_equal(found.astype("float32"), expected, equal_nan=True):
                    sys.exit(f"error: {step.name} {name}: numpy reads other values than h5py")
                compared += 1
    if compared == 0:
        sys.exit(f"error: no tensor in {sys.argv[1:]}")
    print(f"{compared} tensors equal")


if __name__ == "__main__":
    main()
