#!/usr/bin/env python3
"""make_dcp_corpus.py: writes the seeds of the DCP fuzz targets into corpus/, out of what torch itself writes. Needs torch.

Inputs that a fuzzer found are added by hand and kept.
"""
import io
import pathlib
import pickle
import tempfile
import zipfile

import torch
import torch.distributed.checkpoint as dcp

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
pickles["itself"] = b"\x80\x02]q\x00h\x00a."
zips = {name: archive(value) for name, value in values.items()}
zips["cut_off"] = zips["int"][:-30]
with tempfile.TemporaryDirectory() as folder:
    dcp.save({"w": torch.zeros(2, 3), "n": {"step": torch.tensor(1.0), "lr": 0.1, "e": torch.zeros(0)}}, checkpoint_id=folder)
    metadata = {"reference": (pathlib.Path(folder) / ".metadata").read_bytes()}
metadata["escape"] = metadata["reference"].replace(b"__0_0.distcp", b"/etc/./../pw")
metadata["lost"] = metadata["reference"].replace(b"K\x02K\x03\x86", b"K\x02K\x04\x86", 1)

for kind, files in (("pickle", pickles | metadata), ("zip", zips), ("metadata", metadata)):
    (HERE / kind).mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (HERE / kind / name).write_bytes(content)
