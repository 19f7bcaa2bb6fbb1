#!/usr/bin/env python3
"""make_own_corpus.py: writes the seeds of the fuzz targets of our own format into corpus/. Digests are zeros: the targets renew them.

Frames of compressed leaves come from tests/golden/format-1.1. Inputs that a fuzzer found are added by hand and kept.
"""
import json
import pathlib
import struct

HERE = pathlib.Path(__file__).resolve().parent
CORPUS, GOLDEN = HERE / "corpus", HERE.parent / "golden"
ZERO = "0" * 32
SIZES = {"float32": 4, "bfloat16": 2, "float16": 2, "float64": 8, "int64": 8, "int32": 4, "uint8": 1}


def row(offset, stored, raw, mask=0, reserved=0):
    return struct.pack("<QQQII", offset, stored, raw, mask, reserved) + bytes(32)


def golden_leaves():
    """(element size, chunk elements, leaf elements, row, stored bytes) of compressed leaves, a few of each form."""
    step, seen = GOLDEN / "format-1.1" / "step-00000014", {}
    manifest = json.loads((step / "manifest.json").read_text())
    for record in manifest["parameters"]:
        for tensor in [record["model"], *record["slots"].values()]:
            size = SIZES[tensor["dtype"]]
            for piece in tensor["pieces"]:
                if len(piece) < 6:
                    continue
                file = manifest["files"][piece[0]]
                data = (step / file["path"]).read_bytes()
                at = file["table_offset"] + 64 * piece[4]
                found = struct.unpack_from("<QQQI", data, at)
                seen.setdefault((found[3], found[2] == tensor["chunk"] * size, tensor["chunk"]), (size, tensor["chunk"], found[2] // size, data[at:at + 64], data[found[0]:found[0] + found[1]]))
    return seen


LR = json.dumps({"phases": [{"first": 1, "kind": "linear", "start": 0, "end": 0.001, "origin": 0, "length": 10}, {"first": 41, "kind": "cosine", "start": 1e-3, "end": 1e-4, "origin": 40, "length": 60.5}],
                 "accepted": {"peak": 0.001, "warmup_steps": 10, "total_steps": 100, "decay_ratio": None, "decay_type": "cosine", "min_lr_factor": 0.1}})
DATA = json.dumps({"samples": 104, "epoch_base": 0, "first_epoch": 0, "seed": "18364758544493064720", "shuffle": True, "seq_len": 64, "sample_stride": 64, "samples_per_epoch": 1000,
                   "kind": "text", "tokenizer": "byte", "files": [{"name": "c.txt", "bytes": 65001, "blocks": ZERO}]})
TRAIN = json.dumps({"step": 10, "tokens": 6656, "seed": "18446744073709551615", "origin": "", "wall_time_s": 12.25, "attempts": [
    {"number": 1, "started": "2026-01-02T03:04:05Z", "first_step": 1, "last_step": 10, "dp": 1, "pp": 1, "schedule": "1F1B", "version": "v", "environment": "cpu", "policy": "", "changed": [], "notes": ["a \"note\"\n"]}],
    "accepted": {"optimizer.lr": "0.001"}, "environment": {"blas": "openblas"}})


class Made:
    """A checkpoint of one rank: tensors [(name, shape, dtype, codec)], its shards as leaves and then the table."""

    def __init__(self, tensors, leaf=4, slots=("exp_avg",), jsons=(("lr_scheduler", LR), ("dataloader", DATA), ("train_state", TRAIN))):
        self.files, self.parameters, self.entries = {}, [], []
        frame = golden_leaves()[(0, True, 200)] if any(t[3] for t in tensors) else None
        shards = {"model": [bytearray(), []], "optimizer": [bytearray(), []]}
        raw_bytes = {"model": 0, "optimizer": 0}

        def stored(component, shape, dtype, codec, number):
            elements = 1
            for extent in shape:
                elements *= extent
            size, chunk, (data, rows) = SIZES[dtype], min(leaf, elements), shards[component]
            first, count, offset = len(rows), -(-elements // leaf), len(data)
            for i in range(count):
                raw = min(leaf, elements - i * leaf) * size
                bytes_ = frame[4] if codec else bytes((7 * number + 13 * i + k) % 251 for k in range(raw))
                rows.append(row(len(data), len(bytes_), raw))
                data += bytes_
            raw_bytes[component] += elements * size
            piece = [["model", "optimizer"].index(component), 0, count, offset, first] + [1] * codec
            return {"dtype": dtype, "chunk": chunk, "digest": ZERO, "pieces": [piece] if count else []}

        for number, (name, shape, dtype, codec) in enumerate(tensors):
            record = {"name": name, "shape": shape, "stage": 0, "model": stored("model", shape, dtype, codec, number)}
            if slots:
                record |= {"slots": {slot: stored("optimizer", shape, dtype, codec, number + 5) for slot in slots}, "optimizer_step": 10}
            self.parameters.append(record)
        components = []
        for component, (data, rows) in shards.items():
            if component == "optimizer" and not slots:
                continue
            path, table = f"{component}/shard-00000.h5", len(data)
            self.files[path] = bytes(data) + b"".join(rows)
            size = len(self.files[path])
            self.entries.append({"path": path, "role": "shard", "bytes": size, "table_offset": table, "table_rows": len(rows), "table": ZERO, "envelope": ZERO})
            components.append({"name": component, "digest": ZERO, "bytes": raw_bytes[component], "stored_bytes": size if rows else 0, "files": 1 if rows else 0})
        for component, text in jsons:
            self.files[component + ".json"] = text.encode()
            self.entries.append({"path": component + ".json", "role": "json", "bytes": len(text), "digest": ZERO})
            components.append({"name": component, "digest": ZERO, "bytes": len(text), "stored_bytes": len(text), "files": 1})
        zstd = any(t[3] for t in tensors)
        self.manifest = {"self_digest": ZERO, "format": {"name": "titan-checkpoint", "major": 1, "minor": int(zstd)}, "requires": ["zstd"] * zstd, "id": ZERO, "step": 10, "created": "2026-01-02T03:04:06Z",
                         "writer": "seed", "mesh": {"pp": 1, "dp": 1, "tp": 1}, "stage_cuts": [], "leaf_elements": leaf, "order": "row_major", "components": components, "files": self.entries,
                         "parameters": self.parameters, "config": {"model.dim": "4"}}

    def text(self, **changes):
        return json.dumps(self.manifest | changes, separators=(",", ":")).encode()

    def packed(self, manifest=None, holes=()):
        out = b""
        for path, data in [("manifest.json", manifest or self.text()), *self.files.items()]:
            whole = dict(holes).get(path, len(data))
            out += bytes([len(path)]) + path.encode() + struct.pack("<IQ", len(data), whole) + data
        return out


LLAMA = [("tok_embeddings.weight", [3, 4], "float32", 0), ("layers.0.attention.wq.weight", [4, 4], "float32", 0), ("layers.1.attention.wq.weight", [4, 4], "float32", 0), ("norm.weight", [4], "float32", 0)]
PLAIN = [("a", [2, 3], "float32", 0), ("b", [], "bfloat16", 0), ("e", [0, 7], "float32", 0)]
ZSTD = [("a", [400], "float32", 1), ("b", [3], "float32", 0)]


def claims(rows):
    """A manifest of a few hundred bytes over sparse files: `rows` leaves of one byte."""
    made = Made([("a", [2], "uint8", 0)], leaf=1, slots=())
    size = rows + 64 * rows
    made.manifest["files"][0] |= {"bytes": size, "table_offset": rows, "table_rows": rows}
    made.manifest["components"][0] |= {"bytes": rows, "stored_bytes": size}
    made.manifest["parameters"][0] |= {"shape": [rows]}
    made.manifest["parameters"][0]["model"]["pieces"] = [[0, 0, rows, 0, 0]]
    made.manifest["parameters"][0]["model"]["chunk"] = 1
    return made.packed(holes=[("model/shard-00000.h5", size)])


def receipt(files, items, rank=0):
    number = lambda value: struct.pack("<Q", value)  # noqa: E731
    text = lambda value: number(len(value)) + value.encode()  # noqa: E731
    out = b"TITANRC1" + number(rank) + number(len(files))
    for path, role, size, table_offset, rows in files:
        out += text(path) + number(role) + number(size) + number(table_offset) + number(rows) + bytes(48)
    out += number(len(items))
    for index, slot, piece, leaves in items:
        out += number(index) + text(slot) + b"".join(map(number, piece)) + number(leaves) + bytes(16 * leaves)
    return out


def write(folder, files):
    (CORPUS / folder).mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (CORPUS / folder / name).write_bytes(content)


def zstd_raw(content):
    """A zstd frame of one block that is not compressed."""
    return bytes.fromhex("28b52ffd") + b"\x20" + bytes([len(content)]) + struct.pack("<I", len(content) << 3 | 1)[:3] + content


def patch_record(stored, raw, tensor=0xFFFFFFFF, element=1, first=0):
    return struct.pack("<IIQII", tensor, element, first, raw, len(stored)) + bytes(32) + stored


def patch(records, files=(("model.safetensors", 104),), tensors=("t",), one_file=False, kind="hf"):
    """The target is the fuzz target's base, but for what the records say; digests of contents are wrong."""
    side = {"kind": kind, "id": ZERO}
    head = json.dumps({"format": "titan.patch/1", "writer": "w", "base": side, "target": side, "one_file": one_file, "step": 0, "files": [{"path": p, "bytes": b} for p, b in files], "tensors": [{"name": name, "bytes": 32} for name in tensors]}).encode()
    return b"TITANPCH" + struct.pack("<II", 1, 0) + b"".join(records) + head + bytes(16) + struct.pack("<Q", len(head)) + b"PCHTITAN"


def patches():
    text = json.dumps({"t": {"dtype": "BF16", "shape": [16], "data_offsets": [0, 32]}}, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    start = patch_record(b"\1" + struct.pack("<Q", len(text)) + text, 8 + len(text))
    bf16 = {"tensor": 0, "element": 2}
    size = (("model.safetensors", 40 + len(text)),)
    steps = zstd_raw(b"\x1b\0\0\0" + struct.pack("<H", 77))
    return {"equal": patch([start, patch_record(b"\0", 32, **bf16)], size), "plain": patch([start, patch_record(b"\1" + bytes(32), 32, **bf16)], size),
            "planes": patch([start, patch_record(b"\2" + zstd_raw(bytes(range(32))), 32, **bf16)], size), "steps": patch([start, patch_record(b"\3" + steps, 32, **bf16)], size),
            "one_file": patch([start, patch_record(b"\0", 32, **bf16)], size, one_file=True), "no_base": patch([start, patch_record(b"\0", 32, element=2)], size),
            "far": patch([start, patch_record(b"\0", 32, first=1 << 63, **bf16)], size), "odd": patch([start, patch_record(b"\0", 31, first=1, **bf16)], size), "many_steps": patch([start, patch_record(b"\3" + zstd_raw(b"\xff\xff\xff\xff" + bytes(4)), 32, **bf16)], size),
            "no_tensor": patch([start, patch_record(b"\0", 32, tensor=7, element=2)], size), "long_claim": patch([struct.pack("<IIQII", 0, 2, 0, 1 << 22, 1 << 22) + bytes(32)], size), "elements": patch([start, patch_record(b"\2" + zstd_raw(bytes(32)), 32, tensor=0, element=3)], size),
            "up": patch([start], (("../x", 10),)), "twice": patch([start], size * 2), "ours": patch([start], size, kind="titan"), "no_files": patch([], ()), "huge": patch([start], (("model.safetensors", 1 << 49),)), "short": patch([], size), "empty": b"", "mark": b"TITANPCH",
            "names": patch([], size, tensors=["t"] * 3000), "records": patch([start, start, start], size), "cut": patch([start], size)[:-9]}


def main():
    write("patch", patches())
    llama, plain, zstd = Made(LLAMA), Made(PLAIN), Made(ZSTD, leaf=200)
    bare = Made(PLAIN, slots=(), jsons=())
    golden = {f"golden_{step.parent.name}_{step.name[-2:]}": (step / "manifest.json").read_bytes() for step in sorted(GOLDEN.glob("format-1*/step-*"))}
    write("manifest", golden | {"llama": llama.text(), "plain": plain.text(), "zstd": zstd.text(), "bare": bare.text(), "newer": plain.text(format={"name": "titan-checkpoint", "major": 2, "minor": 0}),
                                "needs": plain.text(requires=["later"]), "column_major": plain.text(order="column_major"), "no_leaves": plain.text(leaf_elements=0), "huge_mesh": plain.text(mesh={"pp": 1 << 31, "dp": 1 << 31, "tp": 1}),
                                "derived": plain.text(derived_from={"id": ZERO, "step": 3, "path": "/a"}), "cut": plain.text()[:400], "deep": plain.text(x=[[[[[[[1]]]]]]])})
    write("json_members", {"lr": b"\0" + LR.encode(), "data": b"\1" + DATA.encode(), "train": b"\2" + TRAIN.encode(), "lr_empty": b"\0{}", "train_deep": b"\2" + b"[" * 80,
                           "lr_numbers": b"\0" + LR.replace("0.001", "1e999").encode(), "data_negative": b"\1" + DATA.replace("104", "-1").encode(), "train_twice": b"\2" + TRAIN.replace('"tokens"', '"step"').encode()})
    note = {"host": "node-1", "boot_id": "0b", "pid": 12, "since": "2026-01-02T03:04:05Z", "job_id": "7", "restart_count": 1, "heartbeat": 1.7e9}
    write("lock_note", {"note": json.dumps(note).encode() + b"\n", "tail": json.dumps(note).encode() + b'\n"heartbeat":1}', "empty": b"", "cut": json.dumps(note).encode()[:40], "ended": json.dumps(note | {"heartbeat": 0}).encode(),
                        "wrong": json.dumps(note | {"pid": -1, "restart_count": 1 << 40}).encode(), "deep": b"[" * 3000, "zeros": b"[[0." + b"0" * 760 + b"1"})
    shard = [("model/shard-00000.h5", 0, 300, 100, 3), ("optimizer/shard-00000.h5", 0, 600, 200, 6)]
    leaves = [(0, "", (0, 0, 2, 0, 0, 0), 2), (1, "", (0, 0, 1, 48, 2, 0), 1), (0, "exp_avg", (1, 0, 2, 0, 0, 0), 2), (1, "exp_avg", (1, 0, 1, 48, 2, 0), 1), (0, "exp_avg_sq", (1, 0, 2, 60, 3, 0), 2), (1, "exp_avg_sq", (1, 0, 1, 108, 5, 0), 1)]
    write("receipt", {"whole": receipt(shard, leaves), "empty": receipt([], []), "twice": receipt(shard, leaves + leaves[:1]), "missing": receipt(shard, leaves[1:]), "many": receipt([], [])[:-8] + struct.pack("<Q", 1 << 60),
                      "outside": receipt([("../x", 0, 300, 100, 3), shard[1]], leaves), "same_file": receipt([shard[0], shard[0]], leaves), "model": receipt(shard + [("model/model.h5", 2, 100, 0, 0)], leaves), "cut": receipt(shard, leaves)[:-7]})
    found = {}
    for (mask, full, _), (size, chunk, elements, line, stored) in golden_leaves().items():
        head = struct.pack("<BHH", size.bit_length() - 1 | 16, chunk - 1, elements - 1)
        found[f"mask{mask}_{'full' if full else 'short'}_{chunk}"] = head + struct.pack("<Q", 0) + line[8:] + stored
    head, line, stored = next((v[:5], v[5:69], v[69:]) for k, v in found.items() if k == "mask0_full_200")
    found |= {"other_mask": head + row(0, len(stored), 0, 1) + stored, "beyond": head + row(1 << 60, len(stored), 0) + stored, "cut": head + row(0, len(stored) - 3, 0) + stored[:-3],
              "large_claim": struct.pack("<BHH", 19, 0xFFFF, 0xFFFF) + row(0, len(stored), 0) + stored, "not_a_frame": head + row(0, 32, 0) + bytes(32)}
    write("compressed_leaf", found)
    rows = [row(4096, 64, 64), row(4160, 64, 64), row(4224, 64, 64), row(4288, 20, 20), row(4308, 4, 4)]
    write("leaf_table", {"raw_as_it_is": b"\0", "zstd_as_it_is": b"\1", "raw_decoded": b"\2", "zstd_decoded": b"\3", "rows": b"\0" + b"".join(rows), "zstd_rows": b"\3" + b"".join(rows),
                         "overlap": b"\1" + b"".join([rows[0]] * 5), "far": b"\1" + b"".join(row((1 << 64) - 8, (1 << 64) - 8, 64, 3) for _ in rows), "overlap_moved": b"\5" + b"".join([rows[0]] * 5), "masks": b"\7" + b"".join(row(4096, 64, 64, mask) for mask in range(5))})
    write("checkpoint_dir", {"llama": llama.packed(), "plain": plain.packed(), "zstd": zstd.packed(), "bare": bare.packed(), "no_manifest": plain.packed()[700:], "cut": llama.packed()[:-100],
                             "rows_16384": claims(1 << 14), "rows_900000": claims(900_000), "hole": plain.packed(holes=[("lr_scheduler.json", 1 << 40)])})


main()
