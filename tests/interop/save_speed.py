#!/usr/bin/env python3
"""Saves and loads the state of a model with one of PyTorch's ways, and prints how long it took.

The state is what AdamW trains: the parameters of a Llama and two moments each, fp32. Every way ends with fsync of its
files and folder, as a checkpoint that outlives a power cut does. Prints one JSON line per save or load:
{"seconds", "bytes"}, of asynchronous saves also {"stall"}: seconds until the call came back.
"""
import argparse
import json
import os
import pathlib
import shutil
import sys
import time

import torch
import torch.distributed.checkpoint as dcp


def state(dim, layers, ffn, vocab):
    shapes = {"tok_embeddings.weight": (vocab, dim), "norm.weight": (dim,), "output.weight": (vocab, dim)}
    for i in range(layers):
        shapes |= {f"layers.{i}.attention.{w}.weight": (dim, dim) for w in ("wq", "wk", "wv", "wo")}
        shapes |= {f"layers.{i}.feed_forward.{w}.weight": (ffn, dim) if w != "w2" else (dim, ffn) for w in ("w1", "w2", "w3")}
        shapes |= {f"layers.{i}.{w}.weight": (dim,) for w in ("attention_norm", "ffn_norm")}
    return {slot + name: torch.randn(shape) for name, shape in shapes.items() for slot in ("", "exp_avg.", "exp_avg_sq.")}


def fsync(path):
    fd = os.open(path, os.O_RDONLY)
    os.fsync(fd)
    os.close(fd)


def fsync_tree(folder):
    for path in sorted(pathlib.Path(folder).rglob("*")):
        fsync(path)
    fsync(folder)


def drop(folder):
    for path in pathlib.Path(folder).rglob("*"):
        if path.is_file():
            fd = os.open(path, os.O_RDONLY)
            os.fsync(fd)
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(fd)


def save(way, tensors, folder, threads):
    if way == "dcp":
        dcp.save(tensors, storage_writer=dcp.FileSystemWriter(folder, thread_count=threads, sync_files=True), no_dist=True)
    elif way == "safetensors":
        import safetensors.torch

        safetensors.torch.save_file(tensors, f"{folder}/model.safetensors")
    else:
        torch.save(tensors, f"{folder}/state.pt")
    fsync_tree(folder)


def load(way, tensors, folder):
    if way == "dcp":
        dcp.load(tensors, storage_reader=dcp.FileSystemReader(folder), no_dist=True)
    elif way == "safetensors":
        import safetensors.torch

        for name, tensor in safetensors.torch.load_file(f"{folder}/model.safetensors").items():
            tensors[name].copy_(tensor)
    else:
        for name, tensor in torch.load(f"{folder}/state.pt", mmap=False).items():
            tensors[name].copy_(tensor)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("way", choices=("dcp", "dcp-async", "safetensors", "torch.save", "memcpy"))
    p.add_argument("folder")
    for name in ("dim", "layers", "ffn", "vocab", "threads"):
        p.add_argument("--" + name, type=int, required=True)
    p.add_argument("--times", type=int, default=2)
    p.add_argument("--load", action="store_true", help="load what was saved, from cold files")
    a = p.parse_args()
    torch.set_num_threads(a.threads)
    tensors = state(a.dim, a.layers, a.ffn, a.vocab)
    size = sum(tensor.nbytes for tensor in tensors.values())
    if a.way == "dcp-async":
        torch.distributed.init_process_group("gloo", store=torch.distributed.HashStore(), rank=0, world_size=1)
    copies = {name: torch.zeros_like(tensor) for name, tensor in tensors.items()} if a.way == "memcpy" else None
    for _ in range(a.times):
        shutil.rmtree(a.folder, ignore_errors=True)
        os.makedirs(a.folder)
        answer = {"bytes": size}
        begin = time.perf_counter()
        if a.way == "memcpy":
            for name, tensor in tensors.items():
                copies[name].copy_(tensor)
        elif a.way == "dcp-async":
            future = dcp.async_save(tensors, storage_writer=dcp.FileSystemWriter(a.folder, thread_count=a.threads, sync_files=True))
            answer["stall"] = time.perf_counter() - begin
            future.result()
            fsync_tree(a.folder)
        else:
            save(a.way, tensors, a.folder, a.threads)
        answer["seconds"] = time.perf_counter() - begin
        print(json.dumps(answer))
        if a.load and a.way in ("dcp", "safetensors", "torch.save"):
            drop(a.folder)
            begin = time.perf_counter()
            load(a.way, tensors, a.folder)
            print(json.dumps({"bytes": size, "load": time.perf_counter() - begin}))
    shutil.rmtree(a.folder)


if __name__ == "__main__":
    sys.exit(main())
