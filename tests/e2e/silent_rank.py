#!/usr/bin/env python3
"""A rank that stops answering ends the job within comm.train_timeout_seconds, by name; a dead one within 10 s."""

import os
import pathlib
import shutil
import signal
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import harness  # noqa: E402

CONFIG = harness.ROOT / "tests" / "e2e" / "small.toml"
TIMEOUT = 6


class SilentRank(unittest.TestCase):
    def setUp(self):
        self.work = harness.scratch("silent")
        harness.write_text(self.work / "text.txt", 4_000)

    def tearDown(self):
        shutil.rmtree(self.work, ignore_errors=True)

    def hit(self, rank, number, pp):
        run = self.work / f"run-{rank}-{number}"
        process = harness.start(CONFIG, 4, {"training.dataset_path": self.work / "text.txt", "job.dump_folder": run, "training.steps": 1_000_000, "comm.train_timeout_seconds": TIMEOUT,
                                            "parallelism.pipeline_parallel_degree": pp})
        deadline = time.time() + 60
        while not (run / "metrics.jsonl").exists() or '"step":3,' not in (run / "metrics.jsonl").read_text():
            self.assertLess(time.time(), deadline)
            time.sleep(0.05)
        ranks = harness.children(process.pid)
        self.assertEqual(len(ranks), 4)
        began = time.time()
        os.kill(ranks[rank], number)
        _, log = process.communicate(timeout=60)
        took = time.time() - began
        self.assertEqual(process.returncode, 3, log)
        self.assertRegex(log, f"rank {rank} ")
        self.assertFalse(any(map(harness.alive, ranks)), "a rank outlived the job")
        return took

    def test_a_stopped_rank_is_named(self):
        for rank, pp in ((2, 2), (0, 1)):
            with self.subTest(rank=rank, pp=pp):
                self.assertLess(self.hit(rank, signal.SIGSTOP, pp), TIMEOUT + 10)

    def test_a_killed_rank_is_named(self):
        for rank, pp in ((3, 4), (0, 2)):
            with self.subTest(rank=rank, pp=pp):
                self.assertLess(self.hit(rank, signal.SIGKILL, pp), 10)


if __name__ == "__main__":
    unittest.main(verbosity=2)
