#!/usr/bin/env python3
"""make_dcp_corpus.py: writes the seeds of the DCP fuzz targets into corpus/, out of what torch itself writes. Needs torch.

Inputs that a fuzzer found are added by hand and kept.
"""
import copy
import io
import pathlib
import pickle
import struct
import tempfile
import zipfile

import torch
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint.metadata import ChunkStorageMetadata, MetadataIndex

HERE = pathlib.Path(__file__).resolve().parent / "corpus"


def archive(value):
    out = io.BytesIO()
    torch.save(value, out)
    return out.getvalue()


def data_pkl(value):
    return zipfile.ZipFile(io.BytesIO(archive(value))).read("archive/data.pkl")


class Evil:
    def __reduce__(self):
        import os
        return os.system, ("true",)


values = {"int": 5, "tuple": (0.9, 0.95), "list": [1e-3, None, True], "bytes": b"ab\xff", "dict": {"a": [1, {"b": 2}]}, "text": "\u00e4",
          "tensor": torch.arange(6, dtype=torch.bfloat16).reshape(2, 3), "float8": torch.zeros(4).to(torch.float8_e4m3fn),
          "parameter": torch.nn.Parameter(torch.zeros(2, 2)), "strided": torch.arange(6.0).reshape(2, 3).t(), "scalar": torch.tensor(2.5), "empty": torch.zeros(0, 4)}
pickles = {name: data_pkl(value) for name, value in values.items()}
pickles["evil"] = pickle.dumps(Evil(), protocol=4)
pickles["protocol0"] = pickle.dumps([1, "a"], protocol=0)
pickles["long"] = pickle.dumps(-(2**40), protocol=2)
P2, P4 = b"\x80\x02", b"\x80\x04"
pickles |= {
    "itself": P2 + b"]q\x00h\x00a.",
    "eval": P2 + b"cbuiltins\neval\nX\x01\x00\x00\x001\x85R.",
    "eval_stack_global": P4 + b"\x8c\x08builtins\x8c\x04eval\x93\x8c\x011\x85R.",
    "torch_load": P2 + b"ctorch\nload\nX\x01\x00\x00\x00f\x85R.",
    "inst": P2 + b"(X\x01\x00\x00\x001ios\nsystem\n.",
    "obj": P2 + b"(cos\nsystem\nX\x01\x00\x00\x001o.",
    "newobj": P2 + b"csubprocess\nPopen\nX\x01\x00\x00\x001\x85\x81.",
    "newobj_ex": P4 + b"csubprocess\nPopen\n)}\x92.",
    "ext": P2 + b"\x82\x01.",
    "build": P2 + b"cos\nenviron\n}b.",
    "persid": P2 + b"Px\n.",
    "long4": P2 + b"\x8b\xff\xff\xff\x7f.",
    "bytes8": P4 + b"\x8e" + b"\xff" * 8 + b".",
    "unicode8": P4 + b"\x8d" + b"\xff" * 7 + b"\x7f.",
    "no_stop": P2 + b"K\x05",
    "underflow": P2 + b"\x87.",
    "deep": P2 + b"]" * 70 + b"a" * 69 + b".",
    "marks": P2 + b"(" * 70 + b".",
    "memo": P2 + b"Nr\xff\xff\xff\xff.",
    "laughs": P2 + b"(NNNNNNNNNNt" + b"".join(b"q%c(" % i + b"h%c" % i * 10 + b"t" for i in range(12)) + b".",
    "one_text_often": P4 + b"\x8c\xff" + b"x" * 255 + b"\x94](" + b"h\x00" * 1000 + b"e.",
}
zips = {name: archive(value) for name, value in values.items()}
zips["cut_off"] = zips["int"][:-30]
with tempfile.TemporaryDirectory() as folder:
    dcp.save({"w": torch.zeros(2, 3), "n": {"step": torch.tensor(1.0), "lr": 0.1, "e": torch.zeros(0)}}, checkpoint_id=folder)
    metadata = {"reference": (pathlib.Path(folder) / ".metadata").read_bytes()}
metadata["escape"] = metadata["reference"].replace(b"__0_0.distcp", b"/etc/./../pw")
metadata["lost"] = metadata["reference"].replace(b"K\x02K\x03\x86", b"K\x02K\x04\x86", 1)


def changed(change):
    """The reference with something else in it, as torch itself would pickle it."""
    value = pickle.loads(metadata["reference"])
    value = copy.deepcopy(value)
    change(value, value.state_dict_metadata["w"], value.storage_data)
    return pickle.dumps(value)


def cut(sizes):
    def change(_, tensor, storage):
        info = storage.pop(MetadataIndex("w", torch.Size([0, 0]), 0))
        tensor.chunks, at = [], [0, 0]
        for number, (offsets, size) in enumerate(sizes):
            tensor.chunks.append(ChunkStorageMetadata(torch.Size(offsets), torch.Size(size)))
            other = copy.deepcopy(info)
            other.relative_path, other.offset = f"__{number}_0.distcp", at[0]
            storage[MetadataIndex("w", torch.Size(offsets), number)] = other
    return change


def set_info(**values):
    return lambda _, tensor, storage: [setattr(info, name, value) for info in storage.values() for name, value in values.items()]


metadata |= {name: changed(change) for name, change in {
    "sharded": cut([([0, 0], [1, 2]), ([0, 2], [1, 1]), ([1, 0], [1, 3])]),
    "overlapping": cut([([0, 0], [2, 2]), ([0, 1], [2, 2])]),
    "uncovered": cut([([0, 0], [1, 3])]),
    "outside": cut([([1, 0], [2, 3])]),
    "empty_chunks": cut([([0, 0], [2, 3]), ([2, 0], [0, 3])]),
    "same_place": set_info(offset=0),
    "huge_place": set_info(offset=2**63 - 1, length=2**63 - 1),
    "negative_place": set_info(offset=-1),
    "parent_path": set_info(relative_path="a/../../b"),
    "transformed": set_info(transform_descriptors=["stream.zstd/1"]),
    "huge_shape": lambda _, tensor, storage: setattr(tensor, "size", torch.Size([2**40, 2**40])),
    "unknown_item": lambda _, tensor, storage: storage.pop(MetadataIndex("w", torch.Size([0, 0]), 0)),
    "extra_item": lambda _, tensor, storage: storage.update({MetadataIndex("x"): storage[MetadataIndex("w", torch.Size([0, 0]), 0)]}),
    "no_storage": lambda value, tensor, storage: setattr(value, "storage_data", None),
    "sparse": lambda _, tensor, storage: setattr(tensor.properties, "layout", torch.sparse_coo),
}.items()}


def directory(state, change=lambda data: data):
    with tempfile.TemporaryDirectory() as folder:
        dcp.save(state, checkpoint_id=folder)
        content = (pathlib.Path(folder) / ".metadata").read_bytes()
        return struct.pack("<I", len(content)) + content + change((pathlib.Path(folder) / "__0_0.distcp").read_bytes())


W = "norm.weight"
RUN = {W: torch.arange(4.0), "optimizer": {f"state.{W}.exp_avg": torch.ones(4), f"state.{W}.exp_avg_sq": torch.ones(4), f"state.{W}.step": torch.tensor(10.0),
                                           f"param_groups.{W}.lr": 1e-3},
       "lr_scheduler": {"last_epoch": 10}, "train_state": {"step": torch.tensor(10), "ntokens_seen": torch.tensor(320)}, "dataloader": {"world_size": 2}}
directories = {
    "model": directory({"tok_embeddings.weight": torch.arange(6.0).reshape(2, 3), W: torch.arange(3, dtype=torch.bfloat16)}),
    "run": directory(RUN),
    "strided": directory({"layers.0.attention.wq.weight": torch.arange(6.0).reshape(2, 3).t()}),
    "flipped": directory({W: torch.arange(4.0)}, lambda data: data[:704] + bytes([data[704] ^ 1]) + data[705:]),
    "cut_off": directory({W: torch.arange(4.0)}, lambda data: data[:-1]),
}

for kind, files in (("pickle", pickles | {"reference": metadata["reference"]}), ("zip", zips), ("metadata", metadata), ("dcp_dir", directories)):
    (HERE / kind).mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        if not (HERE / kind / name).exists():  # some bytes are random
            (HERE / kind / name).write_bytes(content)
