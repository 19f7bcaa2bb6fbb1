#!/usr/bin/env python3
"""check_libraries.py PROGRAM: fails when PROGRAM loads LibTorch, CUDA, libpython or a shared HDF5, or libraries by the dozen, or at fixed addresses."""
import subprocess
import sys

FORBIDDEN = ("torch", "c10", "hdf5", "cuda", "nccl", "gloo", "python", "mpi", "curl")
MOST = 12  # C and C++ runtime, zlib, zstd and the like

with open(sys.argv[1], "rb") as program:
    kind = int.from_bytes(program.read(18)[16:], sys.byteorder)
if kind != 3:  # ET_DYN
    sys.exit(f"is not position-independent: ELF type {kind}, expected 3")
found = subprocess.run(["ldd", sys.argv[1]], capture_output=True, text=True)
if "not a dynamic executable" in found.stderr or "statically linked" in found.stdout:
    print("statically linked: loads nothing")
    sys.exit(0)
if found.returncode != 0:
    sys.exit(found.stderr)
lines = found.stdout.splitlines()
names = [line.split()[0] for line in lines if line.strip()]
bad = [name for name in names if any(word in name.lower() for word in FORBIDDEN)]
print("\n".join(names))
if not any("libc.so" in name for name in names):
    sys.exit("ldd listed no C library: this test checks nothing")
if bad:
    sys.exit(f"loads {', '.join(bad)}")
if len(names) > MOST:
    sys.exit(f"loads {len(names)} libraries, at most {MOST} expected")
