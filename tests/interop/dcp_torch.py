#!/usr/bin/env python3
"""dcp_torch.py: PyTorch's own torch.distributed.checkpoint against titan-ckpt, in both directions. Needs torch 2.11.

1. torch writes: one process (awkward shapes, dtypes, transposed and sliced tensors, every kind of value), and two processes with
   DTensor (rows, columns, both, uneven, replicated, a rank without elements) and FSDP2 with AdamW. titan-dcp-dump reads them in
   pieces that cross shards: every tensor equals what torch had, bit by bit.
2. titan-ckpt writes: `convert --to dcp` of a checkpoint; `torch.distributed.checkpoint.load` takes it key by key, and the parameters
   and optimizer state equal what `titan-ckpt cat` says. A flipped bit is found by our verification.
3. torch writes the names of torchtitan 0.3.0: our names have the same values.
TITAN_BIN names the folder of the programs.
"""
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy
import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
import torch.multiprocessing as multiprocessing

BIN = pathlib.Path(os.environ.get("TITAN_BIN", pathlib.Path(__file__).resolve().parents[2] / "build" / "bin"))


def check(condition, message):
    if not condition:
        sys.exit(f"error: {message}")


def raw(tensor):
    return tensor.detach().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes() if tensor.numel() else b""


def dump(folder, piece):
    """Return {name: (dtype, shape, bytes)}, {name: text of a value}, [damage]."""
    with tempfile.TemporaryDirectory() as out:
        done = subprocess.run([BIN / "titan-dcp-dump", folder, out, str(piece)], capture_output=True, text=True)
        check(done.returncode == 0, f"titan-dcp-dump {folder}: {done.stderr}")
        tensors, values, damage = {}, {}, []
        lines = (pathlib.Path(out) / "index.txt").read_text().splitlines()
        check(lines[-1].startswith("end "), "the dump is cut off")
        for line in lines[:-1]:
            first, rest = line.split(" ", 1)
            if first == "value":
                name, text = rest.split(" ", 1)
                values[name] = text
            elif first == "damage":
                damage.append(rest)
            else:
                dtype, shape, name = rest.split(" ", 2)
                dims = [] if shape == "scalar" else [int(d) for d in shape.split(",")]
                tensors[name] = (dtype, dims, (pathlib.Path(out) / f"{first}.bin").read_bytes())
        return tensors, values, damage


def compare(folder, expected, what):
    for piece in (7, 1000, 1 << 20):
        tensors, _, damage = dump(folder, piece)
        check(damage == [], f"{what}: damage in a whole directory: {damage}")
        check(tensors.keys() == expected.keys(), f"{what}: other keys: {sorted(tensors.keys() ^ expected.keys())}")
        for name, tensor in expected.items():
            dtype, shape, data = tensors[name]
            check((f"torch.{dtype}", shape) == (str(tensor.dtype), list(tensor.shape)), f"{what}: {name} is {dtype} {shape}")
            check(data == raw(tensor), f"{what}: {name} has other bytes (pieces of {piece})")
    print(f"{what}: {len(expected)} tensors equal")


def one_process(work):
    generator = torch.Generator().manual_seed(1)
    big = torch.randn(37, 41, generator=generator)
    state = {
        "weight": big,
        "transposed": torch.randn(5, 9, generator=generator).t(),
        "view": big[3:20, 5:30],
        "parameter": torch.nn.Parameter(torch.randn(4, 3, generator=generator)),
        "bf16": torch.randn(11, 3, generator=generator).to(torch.bfloat16),
        "f16": torch.randn(3, 2, 5, 7, generator=generator).to(torch.float16),
        "f64": torch.randn(1, generator=generator, dtype=torch.float64),
        "i64": torch.arange(10),
        "i32": torch.arange(6, dtype=torch.int32).reshape(2, 3),
        "i16": torch.arange(4, dtype=torch.int16),
        "u8": torch.arange(200, dtype=torch.uint8),
        "bool": torch.tensor([True, False, True]),
        "c64": torch.randn(3, generator=generator, dtype=torch.complex64),
        "u16": torch.arange(5, dtype=torch.int32).to(torch.uint16),
        "f8": torch.randn(8, generator=generator).to(torch.float8_e4m3fn),
        "scalar": torch.tensor(2.5),
        "empty": torch.zeros(0, 4),
    }
    values = {"int": 5, "negative": -70000, "long": 2**40, "float": 0.1, "text": "ä", "none": None, "flag": True, "tuple": (0.9, 0.95),
              "list": [1e-3], "four": (1, 2, 3, 4), "bytes": b"ab\xff", "nested": {"a": 1, "b": {"c": [1, [2]]}}}
    folder = work / "one"
    dcp.save({**state, **values}, checkpoint_id=folder)
    compare(folder, state, "one process")
    read = dump(folder, 1000)[1]
    expected = {"int": "5", "negative": "-70000", "long": str(2**40), "float": "0.1", "text": "'ä'", "none": "None", "flag": "True",
                "tuple": "(0.9, 0.95)", "list": "[0.001]", "four": "(1, 2, 3, 4)", "bytes": "bytes of 3", "nested.a": "1", "nested.b.c": "[1, [2]]"}
    check(read == expected, f"values: {read}")
    print(f"one process: {len(expected)} values equal")


def sharded_rank(rank, port, folder):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), RANK=str(rank), WORLD_SIZE="2", LOCAL_RANK="0")
    torch.set_num_threads(1)
    dist.init_process_group("gloo", store=dist.TCPStore("127.0.0.1", port), rank=rank, world_size=2)
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import Replicate, Shard, distribute_tensor
    mesh = init_device_mesh("cpu", (2,))
    full = full_tensors()
    state = {"rows": distribute_tensor(full["rows"], mesh, [Shard(0)]),
             "columns": distribute_tensor(full["columns"], mesh, [Shard(1)]),
             "middle": distribute_tensor(full["middle"], mesh, [Shard(1)]),
             "one_row": distribute_tensor(full["one_row"], mesh, [Shard(0)]),   # the second rank has nothing
             "copies": distribute_tensor(full["copies"], mesh, [Replicate()])}
    dcp.save(state, checkpoint_id=folder / "dtensor")

    from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict, get_optimizer_state_dict
    from torch.distributed.fsdp import fully_shard
    torch.manual_seed(5)
    model = torch.nn.Sequential(torch.nn.Linear(13, 7), torch.nn.Linear(7, 131, bias=False))
    for layer in (*model, model):
        fully_shard(layer, mesh=mesh)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for _ in range(3):
        model(torch.randn(4, 13)).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
    flat = StateDictOptions(flatten_optimizer_state_dict=True)
    state = {**get_model_state_dict(model), "optimizer": get_optimizer_state_dict(model, optimizer, options=flat)}
    dcp.save(state, checkpoint_id=folder / "fsdp")
    whole = StateDictOptions(full_state_dict=True, cpu_offload=True, flatten_optimizer_state_dict=True)
    from torch.distributed.checkpoint.state_dict import get_state_dict
    weights, moments = get_state_dict(model, optimizer, options=whole)
    if rank == 0:
        tensors = {**weights, **{f"optimizer.{k}": v for k, v in moments.items() if isinstance(v, torch.Tensor)}}
        torch.save(tensors, folder / "fsdp.pt")
    dist.barrier()
    # A thread of torch's is at times still there when the interpreter ends, which then aborts; both ranks are done here.
    sys.stdout.flush()
    os._exit(0)


def full_tensors():
    generator = torch.Generator().manual_seed(2)
    return {"rows": torch.randn(131, 9, generator=generator), "columns": torch.randn(6, 31, generator=generator), "middle": torch.randn(4, 5, 3, generator=generator),
            "one_row": torch.randn(1, 8, generator=generator), "copies": torch.randn(7, generator=generator).to(torch.bfloat16)}


def two_processes(work):
    store = dist.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)  # its port is ours until the ranks have ended
    multiprocessing.spawn(sharded_rank, args=(store.port, work), nprocs=2)
    compare(work / "dtensor", full_tensors(), "two processes, DTensor")
    compare(work / "fsdp", torch.load(work / "fsdp.pt"), "two processes, FSDP2 with AdamW")


def flipped_bit(work):
    folder = work / "one"
    file = folder / "__0_0.distcp"
    data = bytearray(file.read_bytes())
    pattern = raw(torch.arange(10))
    data[data.index(pattern) + 17] ^= 4
    file.write_bytes(data)
    loaded = {"i64": torch.zeros(10, dtype=torch.int64)}
    dcp.load(loaded, checkpoint_id=folder)
    check(not torch.equal(loaded["i64"], torch.arange(10)), "the flipped bit is nowhere")
    with tempfile.TemporaryDirectory() as out:
        done = subprocess.run([BIN / "titan-dcp-dump", folder, out, "1000000"], capture_output=True, text=True)
    check(done.returncode == 12 and "item i64" in done.stderr and "does not match its CRC" in done.stderr, f"reading: {done.returncode} {done.stderr}")
    done = subprocess.run([BIN / "titan-ckpt", "verify", folder], capture_output=True, text=True)
    check(done.returncode == 1 and "i64" in done.stdout, f"verify: {done.returncode} {done.stdout} {done.stderr}")
    print("a flipped bit: torch loads it, titan-ckpt names it")


def cat(checkpoint, name):
    with tempfile.TemporaryDirectory() as out:
        subprocess.run([BIN / "titan-ckpt", "cat", checkpoint, name, "-o", f"{out}/x.npy"], check=True, capture_output=True)
        return torch.from_numpy(numpy.load(f"{out}/x.npy"))


def load_everything(folder):
    """What dcp.load gives for every key, asked for as a trainer would: nested, and torch has to unflatten by planner_data."""
    metadata = dcp.FileSystemReader(folder).read_metadata()
    nested = {}
    for key, entry in metadata.state_dict_metadata.items():
        place, path = nested, metadata.planner_data[key]
        for part in path[:-1]:
            place = place.setdefault(part, {})
        place[path[-1]] = torch.zeros(entry.size, dtype=entry.properties.dtype) if type(entry).__name__ == "TensorStorageMetadata" else None
    dcp.load(nested, checkpoint_id=folder)
    state = {}
    for key in metadata.state_dict_metadata:
        place = nested
        for part in metadata.planner_data[key]:
            place = place[part]
        state[key] = place
    return state


def equal_by_torch(source, folder, step):
    """Every tensor that dcp.load finds in `folder` is that of our checkpoint `source` at `step`. Returns (state, count of tensors)."""
    state, count = load_everything(folder), 0
    for key, value in state.items():
        if not isinstance(value, torch.Tensor):
            continue
        if key.endswith(".step"):
            check(value.item() == step, f"{key} is {value}")
            continue
        check(torch.equal(value, cat(source, key.removeprefix("optimizer.state."))), f"{key} differs")
        count += 1
    check(state["lr_scheduler.last_epoch"] == step and state["train_state.step"] == step, "step")
    check(state["lr_scheduler._last_lr"] == [state["optimizer.param_groups.norm.weight.lr"]], "lr")
    return state, count


def ours(work):
    subprocess.run([BIN / "titan-make-checkpoint", work / "run", "--step", "10", "--dp", "2", "--pp", "2"], check=True, capture_output=True)
    source = work / "run" / "step-00000010"
    config = work / "titan.toml"
    config.write_text("[optimizer]\nbeta1 = 0.9\nbeta2 = 0.95\neps = 1e-8\nweight_decay = 0.1\n")
    folder = work / "step-10"
    done = subprocess.run([BIN / "titan-ckpt", "convert", source, folder, "--to", "dcp", "--config", config], capture_output=True, text=True)
    check(done.returncode == 0, f"convert: {done.stderr}")
    state, count = equal_by_torch(source, folder, 10)
    check(state["optimizer.param_groups.norm.weight.betas"] == (0.9, 0.95), "betas")
    print(f"ours: dcp.load gives {len(state)} keys, {count} tensors equal")
    tensors, _, damage = dump(folder, 1000)
    check(damage == [] and len(tensors) > count, "our own reading of it")
    done = subprocess.run([BIN / "titan-ckpt", "diff", source, folder], capture_output=True, text=True)
    check(done.returncode == 0, f"diff: {done.returncode} {done.stdout} {done.stderr}")


def newer_names(work):
    """The names of torchtitan 0.3.0's debugmodel, as its own state_dict has them."""
    generator = torch.Generator().manual_seed(3)
    shapes = {"tok_embeddings.weight": (131, 16), "norm.weight": (16,), "lm_head.weight": (131, 16)}
    for layer in ("layers.0.", "layers.1."):
        shapes.update({layer + "attention.qkv_linear.wq.weight": (16, 16), layer + "attention.qkv_linear.wk.weight": (8, 16),
                       layer + "attention.qkv_linear.wv.weight": (8, 16), layer + "attention.wo.weight": (16, 16), layer + "attention_norm.weight": (16,),
                       layer + "ffn_norm.weight": (16,), layer + "feed_forward.w1.weight": (48, 16), layer + "feed_forward.w2.weight": (16, 48),
                       layer + "feed_forward.w3.weight": (48, 16)})
    state = {name: torch.randn(shape, generator=generator) for name, shape in shapes.items()}
    dcp.save(state, checkpoint_id=work / "newer" / "step-7")
    done = subprocess.run([BIN / "titan-ckpt", "convert", work / "newer" / "step-7", work / "renamed", "--to", "titan"], capture_output=True, text=True)
    check(done.returncode == 0 and "21 written, 7 renamed" in done.stdout, f"convert: {done.stdout} {done.stderr}")
    for name, tensor in state.items():
        ours = name.replace(".qkv_linear.", ".").replace("lm_head.", "output.")
        check(torch.equal(cat(work / "renamed", ours), tensor), f"{ours} is not {name}")
    print(f"torchtitan 0.3.0's names: {len(state)} tensors equal")


def main():
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        one_process(work)
        two_processes(work)
        ours(work)
        newer_names(work)
        flipped_bit(work)


if __name__ == "__main__":
    main()
