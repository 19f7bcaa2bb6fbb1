#!/usr/bin/env python3
"""A run that titan-ckpt reshards several times, to other meshes, stages and compressions, ends like an untouched one."""

import pathlib
import shutil
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import harness  # noqa: E402

CONFIG = harness.ROOT / "tests" / "e2e" / "small.toml"
STEPS = 12


class Resharded(unittest.TestCase):
    def setUp(self):
        self.work = harness.scratch("resharded")
        self.data = self.work / "text.txt"
        harness.write_text(self.data, 4_000)
        self.train("plain", 1, steps=STEPS)
        self.lines = harness.step_lines(self.work / "plain")
        self.id = harness.checkpoint_id(self.work / "plain", STEPS)

    def tearDown(self):
        shutil.rmtree(self.work, ignore_errors=True)

    def train(self, run, nproc, steps=STEPS, expect=0, **overrides):
        merged = {"training.dataset_path": self.data, "job.dump_folder": self.work / run, "training.steps": steps}
        merged.update({key.replace("__", "."): value for key, value in overrides.items()})
        return harness.train(CONFIG, nproc, merged, (), expect)

    def reshard(self, run, step, new, *flags):
        """Takes a step of one run folder over into another, new one."""
        (self.work / new / "checkpoint").mkdir(parents=True)
        report = harness.ckpt("reshard", f"{self.work / run}@{step}", self.work / new / "checkpoint" / f"step-{step:08}", *flags)
        self.assertEqual(report["id"], harness.checkpoint_id(self.work / run, step))
        self.assertEqual(harness.ckpt("verify", self.work / new)["ok"], True)
        return report

    def expect_plain_from(self, run, step):
        self.assertEqual(harness.checkpoint_id(self.work / run, STEPS), self.id)
        self.assertEqual(harness.step_lines(self.work / run), {n: line for n, line in self.lines.items() if n > step})

    def test_on_the_new_layout_it_equals_the_run_never_touched(self):
        self.train("a", 2, expect=75, debug__stop_at_step=4)
        self.reshard("a", 4, "b", "--dp", "2", "--pp", "2")
        self.train("b", 4, expect=75, parallelism__pipeline_parallel_degree=2, debug__stop_at_step=8)
        self.reshard("b", 8, "c", "--dp", "3", "--pp", "1")
        self.train("c", 3)
        self.expect_plain_from("c", 8)

    def test_on_another_layout_than_it_was_resharded_for(self):
        self.train("a", 1, expect=75, debug__stop_at_step=5)
        self.reshard("a", 5, "b", "--dp", "5", "--pp", "2", "--stages", "E|t*2L")
        self.train("b", 2)
        self.expect_plain_from("b", 5)

    def test_with_compression_switched_on_and_off_in_between(self):
        self.train("a", 2, expect=75, debug__stop_at_step=3)
        on = self.reshard("a", 3, "b", "--dp", "1", "--pp", "2", "--compression", "zstd")
        self.assertEqual(on["decoded"], 0)
        self.train("b", 2, expect=75, parallelism__pipeline_parallel_degree=2, debug__stop_at_step=6, checkpoint__compression="zstd")
        moved = self.reshard("b", 6, "c", "--dp", "3")
        self.assertEqual((moved["after"]["compression"], moved["decoded"], moved["encoded"]), ("zstd", 0, 0))
        self.reshard("c", 6, "d", "--dp", "2", "--pp", "1", "--compression", "none")
        self.train("d", 2)
        self.expect_plain_from("d", 6)


if __name__ == "__main__":
    unittest.main(verbosity=2)
