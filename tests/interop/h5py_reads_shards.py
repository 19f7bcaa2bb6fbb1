#!/usr/bin/env python3
"""Show that common HDF5 tools read a checkpoint's shard files: h5py and h5dump against the manifest's places.

usage: h5py_reads_shards.py CHECKPOINT... [--h5dump PROGRAM]

Per piece of the manifest: the dataset is there under its documented name, lies at the piece's offset, has the piece's length and
type, and h5py's values are the bytes read around HDF5. A compressed piece has the documented chunks and filters, its chunks lie where the
leaf table says, and h5py's values (decoded by hdf5plugin) are those of the leaves decoded here by hand. The leaf table has the documented
columns and agrees with the pieces. Nothing else is in the file. Needs h5py, hdf5plugin and numpy; exit 1 with a message at the first
difference.
"""
import argparse
import json
import pathlib
import subprocess
import sys

import h5py
import hdf5plugin
import numpy

SIZES = {"float32": 4, "bfloat16": 2, "float16": 2, "float64": 8, "int64": 8, "int32": 4, "uint8": 1}
ROW = numpy.dtype([("offset", "<u8"), ("stored_bytes", "<u8"), ("raw_bytes", "<u8"), ("filter_mask", "<u4"), ("reserved", "<u4"),
                   ("raw", "u1", (16,)), ("stored", "u1", (16,))])


def check(condition, message):
    if not condition:
        sys.exit(f"error: {message}")


def pieces_by_file(manifest):
    """Return {file index: [(dataset name, dtype, leaf lengths, offset, row, chunk of a compressed piece or 0)]}."""
    found = {}
    leaf = manifest["leaf_elements"]
    for record in manifest["parameters"]:
        elements = int(numpy.prod(record["shape"], dtype=numpy.uint64))
        tensors = [(record["name"], record["model"])] if "model" in record else []
        tensors += [(record["name"] + "." + slot, tensor) for slot, tensor in record.get("slots", {}).items()]
        for name, tensor in tensors:
            for file, first, count, offset, row, *codec in tensor["pieces"]:
                lengths = [min(leaf, elements - i * leaf) for i in range(first, first + count)]
                dataset = name.replace("%", "%25").replace("/", "%2F") + f"@{first}"
                found.setdefault(file, []).append((dataset, tensor["dtype"], lengths, offset, row, tensor["chunk"] if codec == [1] else 0))
    return found


def raw_values(data, dtype):
    """Return what h5py shows for the raw bytes of a dataset; it widens bfloat16 to float32."""
    if dtype == "bfloat16":
        return (numpy.frombuffer(data, "<u2").astype("<u4") << 16).view("<f4")
    return numpy.frombuffer(data, {"float16": "<f2", "uint8": "u1"}.get(dtype, numpy.dtype(dtype).newbyteorder("<")))


def same_values(found, expected):
    """Compare bits; where both are NaN the payload may differ, since HDF5's own widening of bfloat16 does not keep it."""
    if found.dtype != expected.dtype:
        return False
    bits = f"<u{expected.dtype.itemsize}"
    return bool(numpy.all((found.view(bits) == expected.view(bits)) | ((found != found) & (expected != expected))))


def decoded_leaf(stored, mask, size, chunk, length):
    """Undo shuffle and zstd by hand: byte j of element i lies at j x chunk + i."""
    if mask == 0:
        with h5py.File("frame", "w", driver="core", backing_store=False) as scratch:  # a zstd decoder: the filter alone, without shuffle
            frame = scratch.create_dataset("f", (chunk * size,), "u1", chunks=(chunk * size,), **hdf5plugin.Zstd())
            frame.id.write_direct_chunk((0,), stored, 0)
            planes = frame[:]
        stored = planes.reshape(size, chunk).T.tobytes()
    return stored[:length * size]


def check_compressed(where, found, raw, rows, dtype, lengths, chunk):
    """Check the chunks of one dataset against the rows of its leaves; return the decoded bytes and the number of frames."""
    check(found.chunks == (chunk,) and found.maxshape == (len(lengths) * chunk,), f"{where} has chunks {found.chunks}, greatest shape {found.maxshape}")
    creation = found.id.get_create_plist()
    filters = [creation.get_filter(i)[0] for i in range(creation.get_nfilters())]
    check(filters == [2, 32015], f"{where} has filters {filters}")
    data, frames = b"", 0
    for i, (length, row) in enumerate(zip(lengths, rows, strict=True)):
        info = found.id.get_chunk_info_by_coord((i * chunk,))
        stored = raw[row["offset"]:row["offset"] + row["stored_bytes"]]
        check((info.byte_offset, info.size, info.filter_mask) == (row["offset"], row["stored_bytes"], row["filter_mask"]), f"{where}: chunk {i} is {info}, its row {row}")
        check(row["raw_bytes"] == length * SIZES[dtype], f"{where}: row {row} of a leaf of {length}")
        data += decoded_leaf(stored, row["filter_mask"], SIZES[dtype], chunk, length)
        frames += int(row["filter_mask"] == 0)
    return data, frames


def check_shard(path, entry, pieces, h5dump):
    listing = subprocess.run([h5dump, "-H", path], capture_output=True, text=True, check=True).stdout
    raw = path.read_bytes()
    frames = 0
    with h5py.File(path, "r") as file:
        names = {dataset for dataset, *_ in pieces} | {"leaf_table"}
        names |= {"bfloat16"} if any(dtype == "bfloat16" for _, dtype, *_ in pieces) else set()
        check(set(file) == names, f"{path}: names {sorted(file)}, expected {sorted(names)}")
        table = file["leaf_table"]
        check(table.dtype == ROW and table.shape == (entry["table_rows"],), f"{path}: leaf_table has type {table.dtype}, shape {table.shape}")
        check(table.id.get_offset() == entry["table_offset"], f"{path}: leaf_table at {table.id.get_offset()}")
        rows = table[:]
        for dataset, dtype, lengths, offset, row, chunk in pieces:
            where = f"{path}: dataset {dataset}"
            check(f'DATASET "{dataset}"' in listing, f"{where} is not in h5dump's listing")
            found = file[dataset]
            check(found.shape == (sum(lengths),), f"{where} has shape {found.shape}, expected {(sum(lengths),)}")
            if chunk:
                check(rows[row]["offset"] == offset, f"{where} begins at {rows[row]['offset']}, expected {offset}")
                data, decoded = check_compressed(where, found, raw, rows[row:row + len(lengths)], dtype, lengths, chunk)
                check(same_values(found[:], raw_values(data, dtype)), f"{where} has other values than its leaves")
                frames += decoded
                continue
            check(found.id.get_offset() == offset, f"{where} lies at {found.id.get_offset()}, expected {offset}")
            expected = raw_values(raw[offset:offset + sum(lengths) * SIZES[dtype]], dtype)
            check(same_values(found[:], expected), f"{where} has other values than its bytes")
            for i, length in enumerate(lengths):
                size = length * SIZES[dtype]
                mine = rows[row + i]
                check((mine["offset"], mine["stored_bytes"], mine["raw_bytes"], mine["filter_mask"]) == (offset, size, size, 0),
                      f"{where}: row {row + i} of the leaf table is {mine}")
                offset += size
    return len(pieces), frames


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkpoint", nargs="+", type=pathlib.Path)
    parser.add_argument("--h5dump", default="h5dump")
    args = parser.parse_args()
    shards = datasets = frames = 0
    for checkpoint in args.checkpoint:
        manifest = json.loads((checkpoint / "manifest.json").read_text(encoding="utf-8"))
        for index, pieces in sorted(pieces_by_file(manifest).items()):
            entry = manifest["files"][index]
            counts = check_shard(checkpoint / entry["path"], entry, pieces, args.h5dump)
            datasets, frames = datasets + counts[0], frames + counts[1]
            shards += 1
    check(datasets > 0, "no dataset was checked")
    print(f"h5py {h5py.version.version} and h5dump read {datasets} datasets in {shards} shards, {frames} compressed leaves")


if __name__ == "__main__":
    main()
