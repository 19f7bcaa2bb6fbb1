#!/usr/bin/env python3
"""parquet_rows.py: scripts/parquet-to-jsonl writes the rows that pyarrow wrote, in order; 77 where there is no pyarrow."""
import json
import pathlib
import subprocess
import sys
import tempfile

try:
    import pyarrow
    import pyarrow.parquet
except ImportError:
    sys.exit(77)

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "parquet-to-jsonl"
ROWS = [{"id": i, "text": f"caf\u00e9 {i}\nline" if i % 3 else None, "tags": ["a", "b"][: i % 3]} for i in range(2500)]


def run(*arguments):
    return subprocess.run([sys.executable, SCRIPT, *map(str, arguments)], capture_output=True, text=True)


def main():
    with tempfile.TemporaryDirectory() as folder:
        one, two = pathlib.Path(folder) / "1.parquet", pathlib.Path(folder) / "2.parquet"
        pyarrow.parquet.write_table(pyarrow.Table.from_pylist(ROWS[:2000]), one, compression="zstd", row_group_size=300)
        pyarrow.parquet.write_table(pyarrow.Table.from_pylist(ROWS[2000:]), two, compression="snappy")
        done = run(one, two)
        assert [json.loads(line) for line in done.stdout.splitlines()] == ROWS, done.stderr
        done = run(one, "--columns", "text")
        assert [json.loads(line) for line in done.stdout.splitlines()] == [{"text": row["text"]} for row in ROWS[:2000]], done.stderr
        assert (run(one, "--columns", "body").returncode, run(SCRIPT).returncode) == (2, 2)
    print("the rows are those that were written")


if __name__ == "__main__":
    main()
