#!/usr/bin/env python3
"""Two hundred saves in a row: memory and open files of a rank do not grow."""

import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import harness  # noqa: E402

CONFIG = harness.ROOT / "tests" / "e2e" / "small.toml"
SAVES = 200
EARLY, LATE = range(50, 90), range(160, 200)


def figures(pid):
    """Anonymous and file memory in kB, open files."""
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+)", status).group(1)), len(os.listdir(f"/proc/{pid}/fd"))


class ManySaves(unittest.TestCase):
    def setUp(self):
        self.work = harness.scratch("many-saves")
        harness.write_text(self.work / "text.txt", 4_000)

    def tearDown(self):
        shutil.rmtree(self.work, ignore_errors=True)

    def test_memory_and_files_stay(self):
        for mode in ("disabled", "async"):
            with self.subTest(mode=mode):
                run = self.work / mode
                keys = {"training.dataset_path": self.work / "text.txt", "job.dump_folder": run, "training.steps": SAVES, "checkpoint.interval": 1, "checkpoint.keep_latest_k": 2,
                        "checkpoint.async_mode": mode, "metrics.log_freq": 1}
                with open(self.work / "log", "w") as log:
                    process = subprocess.Popen(harness.command(CONFIG, 1, keys), stdout=log, stderr=log, env=os.environ | harness.paced(40))
                seen, metrics, saved = [], run / "metrics.jsonl", 0
                while process.poll() is None:
                    ranks = harness.children(process.pid)
                    with open(metrics, "rb") if metrics.exists() else open(os.devnull, "rb") as file:
                        saved = file.read().count(b'"save_commit"')
                    try:
                        seen += [(saved, *figures(rank)) for rank in ranks]
                    except (OSError, AttributeError):
                        pass  # it has just ended
                    time.sleep(0.005)
                self.assertEqual(process.returncode, 0, (self.work / "log").read_text()[-4000:])
                early, late = ([row for row in seen if row[0] in span] for span in (EARLY, LATE))
                self.assertTrue(len(early) > 5 and len(late) > 5, f"too few looks: {len(early)}, {len(late)}")
                memory = [statistics.median(row[1] for row in rows) for rows in (early, late)]
                files = [min(row[2] for row in rows) for rows in (early, late)]
                print(f"{mode}: {memory[0]:.0f} kB -> {memory[1]:.0f} kB, {files[0]} -> {files[1]} open files", flush=True)
                self.assertLessEqual(memory[1], 1.02 * memory[0])
                self.assertLessEqual(files[1], files[0])


if __name__ == "__main__":
    unittest.main(verbosity=2)
