#!/usr/bin/env python3
"""Memory that a save needs beyond training: no second copy of the state, even while saves wait for the store."""

import os
import pathlib
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import harness  # noqa: E402

CONFIG = harness.ROOT / "tests" / "e2e" / "small.toml"
MIB = 1 << 20
MODEL = {"model.dim": 768, "model.ffn_dim": 2048, "model.n_layers": 4, "model.n_heads": 12, "model.vocab_size": 8192}  # 41 M parameters
STATE = 467 * MIB


class SaveMemory(unittest.TestCase):
    def setUp(self):
        self.work = harness.scratch("save-memory")
        harness.write_text(self.work / "text.txt", 4_000)

    def tearDown(self):
        shutil.rmtree(self.work, ignore_errors=True)

    def peak(self, name, **more):
        """Bytes of the rank that had most."""
        keys = {**MODEL, "training.dataset_path": self.work / "text.txt", "job.dump_folder": self.work / name, "training.steps": 4, "training.global_batch_size": 2, "checkpoint.keep_latest_k": 1,
                "checkpoint.interval": 1, **{key.replace("__", "."): value for key, value in more.items()}}
        with open(self.work / "log", "w") as log:
            process = subprocess.Popen(harness.command(CONFIG, 1, keys), stdout=log, stderr=log)
            _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        self.assertEqual(process.returncode, 0, (self.work / "log").read_text()[-4000:])
        shutil.rmtree(self.work / name)
        return usage.ru_maxrss * 1024

    def test_peaks(self):
        without = self.peak("none", checkpoint__enable=False)
        self.assertGreater(without, STATE)
        staging = 64 * MIB
        for name, allowed, more in (("sync", 256 * MIB, {"checkpoint__async_mode": "disabled"}),
                                    ("async", staging + 256 * MIB, {"checkpoint__async_mode": "async", "checkpoint__staging_bytes": staging}),
                                    ("async-all", STATE + 256 * MIB, {"checkpoint__async_mode": "async"})):
            with self.subTest(name=name):
                beyond = self.peak(name, **more) - without
                print(f"{name}: {beyond / MIB:.0f} MiB beyond training without saves, allowed {allowed / MIB:.0f}", flush=True)
                self.assertLessEqual(beyond, allowed)


if __name__ == "__main__":
    unittest.main(verbosity=2)
