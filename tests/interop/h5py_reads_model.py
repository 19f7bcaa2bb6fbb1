#!/usr/bin/env python3
"""Shows that h5py (with hdf5plugin) reads every parameter by name and full shape from model/model.h5, for several layouts, raw and zstd.

usage: h5py_reads_model.py         (TITAN_BIN names the folder of titan-ckpt and titan-make-checkpoint)

Each tensor must equal what `titan-ckpt cat` writes, whole and in slices; with a shard taken away exactly its elements are NaN.
The folder of the checkpoint is not the working folder, and it is moved before it is read.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import h5py
import hdf5plugin  # noqa: F401: registers zstd
import numpy

BIN = pathlib.Path(os.environ["TITAN_BIN"])
LAYOUTS = ["dp=1 pp=1 leaf=256", "dp=3 pp=1 leaf=100", "dp=4 pp=2 leaf=37", "dp=2 pp=3 leaf=13 dtype=bf16", "dp=13 pp=1 leaf=7"]


def check(condition, message):
    if not condition:
        sys.exit(f"error: {message}")


def cat(step, name, work):
    out = work / "x.npy"
    subprocess.run([BIN / "titan-ckpt", "cat", step, name, "-o", out], check=True, capture_output=True)
    return numpy.load(out)


def owners(manifest, parameter):
    """The index of the file that holds each element, in the tensor's shape."""
    total = int(numpy.prod(parameter["shape"], dtype=numpy.int64))
    flat = numpy.full(total, -1)
    for file, first, count, *_ in parameter["model"]["pieces"]:
        flat[first * manifest["leaf_elements"]:(first + count) * manifest["leaf_elements"]] = file
    return flat.reshape(parameter["shape"])


def read(step, name):
    with h5py.File(step / "model" / "model.h5", "r") as file:
        return file[name][()]


def check_layout(layout, work):
    subprocess.run([BIN / "titan-make-checkpoint", work / "made", *layout.split()], check=True, capture_output=True)
    (work / "made").rename(work / "moved")
    (step,) = (work / "moved").glob("step-*")
    raw = check_step(f"{layout} raw", step, work)
    # Compressed, and for another mesh than it was written by.
    other = work / "compressed" / step.name
    other.parent.mkdir()
    mesh = ["--dp", "3", "--pp", "2", "--compression", "zstd"]
    subprocess.run([BIN / "titan-ckpt", "reshard", step, other, *mesh], check=True, capture_output=True)
    codecs = {piece[5] if len(piece) > 5 else 0 for p in json.loads((other / "manifest.json").read_text())["parameters"] for piece in p["model"]["pieces"]}
    check(codecs == {1}, f"{layout}: codecs {codecs} after reshard --compression zstd")
    return [raw, check_step(f"{layout} resharded zstd", other, work)] + check_missing(layout, step, work)


def check_step(layout, step, work):
    manifest = json.loads((step / "manifest.json").read_text())
    tensors = {parameter["name"]: cat(step, parameter["name"], work) for parameter in manifest["parameters"]}
    with h5py.File(step / "model" / "model.h5", "r") as file:
        check(set(file) == set(tensors), f"{layout}: names {sorted(file)}")
        for name, expected in tensors.items():
            found = file[name]
            check(found.is_virtual and found.shape == expected.shape, f"{layout}: {name} has shape {found.shape}")
            check(numpy.array_equal(found[()].astype("float32"), expected), f"{layout}: {name} differs from titan-ckpt cat")
            check(numpy.array_equal(found[3:11].astype("float32"), expected[3:11]), f"{layout}: {name}[3:11] differs")
            check(numpy.array_equal(found[..., 2:5].astype("float32"), expected[..., 2:5]), f"{layout}: {name}[..., 2:5] differs")
    return len(tensors)


def check_missing(layout, step, work):
    manifest = json.loads((step / "manifest.json").read_text())
    tensors = {parameter["name"]: cat(step, parameter["name"], work) for parameter in manifest["parameters"]}
    shards = [file["path"] for file in manifest["files"] if file["path"].startswith("model/shard-")]
    gone = manifest["files"].index(next(file for file in manifest["files"] if file["path"] == shards[-1]))
    (step / shards[-1]).unlink()
    missing = 0
    for parameter in manifest["parameters"]:
        name = parameter["name"]
        found, away = read(step, name), owners(manifest, parameter) == gone
        check(numpy.array_equal(numpy.isnan(found), away), f"{layout}: {name}: not exactly the elements of {shards[-1]} are NaN")
        check(numpy.array_equal(found[~away].astype("float32"), tensors[name][~away]), f"{layout}: {name}: other elements changed")
        missing += int(away.sum())
    check(missing > 0, f"{layout}: no element was missing")
    return [missing]


def main():
    tensors = 0
    for layout in LAYOUTS:
        with tempfile.TemporaryDirectory() as folder:
            raw, zstd, missing = check_layout(layout, pathlib.Path(folder))
            tensors += raw + zstd
            print(f"{layout}: {raw} tensors equal raw, {zstd} zstd; {missing} elements NaN without the last shard")
    print(f"h5py {h5py.version.version} (HDF5 {h5py.version.hdf5_version}): {tensors} tensors")


if __name__ == "__main__":
    main()
