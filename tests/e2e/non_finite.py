#!/usr/bin/env python3
"""A non-finite gradient on one rank of DP 2 x PP 2: what each policy reports, and that the run then equals, bit for bit, one that was told
to exclude the same samples."""

import os
import pathlib
import shutil
import sys
import time
import unittest
import unittest.mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import harness  # noqa: E402

CONFIG = harness.ROOT / "tests" / "e2e" / "small.toml"
STEPS = 10
TENSOR = "layers.1.attention.wq.weight"  # of the first stage; rank 1 owns it


class NonFinite(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.work = harness.scratch("non-finite")
        cls.data = cls.work / "text.txt"
        harness.write_text(cls.data, 4_000)
        cls.train("told", 1, **{"training.exclude_samples": "32-39", "checkpoint.interval": 1})
        cls.lines = harness.step_lines(cls.work / "told")
        cls.ids = {step: harness.checkpoint_id(cls.work / "told", step) for step in (4, STEPS)}

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.work, ignore_errors=True)

    @classmethod
    def settings(cls, run, nproc, overrides):
        merged = {"training.dataset_path": cls.data, "job.dump_folder": cls.work / run, "training.steps": STEPS, "lr_scheduler.total_steps": STEPS,
                  "checkpoint.keep_latest_k": 0}
        if nproc == 4:
            merged["parallelism.pipeline_parallel_degree"] = 2
        return merged | overrides

    @classmethod
    def train(cls, run, nproc, expect=0, spoil="", **overrides):
        os.environ.pop("TITAN_SPOIL_GRADIENT", None)
        if spoil:
            os.environ["TITAN_SPOIL_GRADIENT"] = f"{1 if nproc == 4 else 0}:{spoil}:{TENSOR}" if ":" not in spoil else spoil
        try:
            return harness.train(CONFIG, nproc, cls.settings(run, nproc, overrides), expect=expect)[1]
        finally:
            os.environ.pop("TITAN_SPOIL_GRADIENT", None)

    def logs(self, run):
        return [path.read_text() for path in sorted((self.work / run / "logs").glob("rank-*.log"))]

    def found(self, run):
        return [event for event in harness.events(self.work / run) if event["event"] == "non_finite"]

    def count_of_found(self, run):
        """While the file grows: its last line may be half there."""
        path = self.work / run / "metrics.jsonl"
        return path.read_text().count('"event":"non_finite"') if path.exists() else 0

    def expect_as_told(self, run):
        self.assertEqual(harness.checkpoint_id(self.work / run, STEPS), self.ids[STEPS])
        self.assertEqual(harness.step_lines(self.work / run), self.lines)

    def test_abort_says_where_and_leaves_the_checkpoint(self):
        log = self.train("abort", 4, 3, "3:32-39:output.weight", **{"checkpoint.interval": 2})
        self.assertIn("step 5: non-finite gradient norm; nothing was updated or saved", log)
        self.assertIn("output.weight (stage 1)", log)
        self.assertEqual(log.count("error: "), 1, log)
        for text in self.logs("abort"):
            self.assertIn("step 5: non-finite gradient norm", text)
        self.assertEqual(harness.published_steps(self.work / "abort"), [2, 4])
        # The way out that does not wait for the policy: the samples are left out by name.
        self.assertIn("training.exclude_samples", self.train("abort", 1, 13, **{"training.exclude_samples": "32-39"}))
        harness.train(CONFIG, 1, self.settings("abort", 1, {"training.exclude_samples": "32-39"}), ("--allow", "training.exclude_samples"))
        self.assertEqual(harness.checkpoint_id(self.work / "abort", STEPS), self.ids[STEPS])

    def test_skip_is_told_by_all_and_goes_on_as_told(self):
        self.train("skip", 4, 0, "32-39", **{"training.on_nonfinite": "skip", "checkpoint.interval": 2, "metrics.status_file": "status.prom"})
        self.expect_as_told("skip")
        self.assertRegex((self.work / "skip" / "status.prom").read_text(), r"(?m)^titan_skips_total\{.*\} 1$")
        for text in self.logs("skip"):
            self.assertIn(f"step 5: non-finite gradient norm (samples 32 to 39); the first gradient by name that is not finite: {TENSOR} "
                          "(layer 1, stage 0); these samples are skipped", text)
        (event,) = self.found("skip")
        self.assertEqual({key: event[key] for key in ("step", "value", "tensor", "layer", "stage", "action", "first_sample", "last_sample")},
                         {"step": 5, "value": "nan", "tensor": TENSOR, "layer": 1, "stage": 0, "action": "skip", "first_sample": 32, "last_sample": 39})

    def test_skips_in_a_row_have_an_end(self):
        log = self.train("row", 1, 3, "32-63", **{"training.on_nonfinite": "skip", "training.max_skips": 2})
        self.assertIn("2 in a row were skipped (training.max_skips)", log)
        self.assertEqual([event["first_sample"] for event in self.found("row")], [32, 40, 48])

    def test_a_kill_between_skip_and_save_changes_nothing(self):
        self.train("killed", 1, 75, **{"training.on_nonfinite": "skip", "debug.stop_at_step": 4})
        os.environ["TITAN_SPOIL_GRADIENT"] = f"1:32-39:{TENSOR}"
        try:
            endless = {"training.steps": 1_000_000, "checkpoint.interval": 1_000_000, "training.on_nonfinite": "skip"}
            process = harness.start(CONFIG, 4, self.settings("killed", 4, endless))
        finally:
            del os.environ["TITAN_SPOIL_GRADIENT"]
        deadline = time.time() + 60
        while self.count_of_found("killed") == 0:
            self.assertLess(time.time(), deadline)
            self.assertIsNone(process.poll())
            time.sleep(0.02)
        for pid in [*harness.children(process.pid), process.pid]:
            harness.kill(pid)
        process.communicate()
        self.assertEqual(harness.published_steps(self.work / "killed"), [4])
        self.train("killed", 4, 0, "32-39", **{"training.on_nonfinite": "skip"})
        self.expect_as_told("killed")

    def test_rollback_goes_back_and_on_as_told(self):
        rollback = {"training.on_nonfinite": "rollback", "checkpoint.interval": 3, "checkpoint.async_mode": "async"}
        self.train("back", 4, 0, "32-39", **rollback)
        self.expect_as_told("back")
        for text in self.logs("back"):
            self.assertIn("went back to step 3, these samples are left out", text)
        (event,) = self.found("back")
        self.assertEqual((event["step"], event["from_step"], event["action"], event["stage"]), (3, 5, "rollback", 0))

    def test_a_stop_while_steps_are_skipped_or_taken_back_saves_what_is_there(self):
        for policy, kept in (("skip", [10]), ("rollback", [9, 10])):  # step 10 is whole after each time that the run goes back
            with self.subTest(policy=policy):
                run = f"stopped-{policy}"
                keys = {"training.steps": 1_000_000, "lr_scheduler.total_steps": STEPS, "checkpoint.interval": 1_000 if policy == "skip" else 9,
                        "training.on_nonfinite": policy, "training.max_skips": 1_000_000, "training.max_rollbacks": 1_000_000}
                os.environ["TITAN_SPOIL_GRADIENT"] = f"0:80-999999999:{TENSOR}"  # all steps from 11 on
                try:
                    process = harness.start(CONFIG, 1, self.settings(run, 1, keys))
                finally:
                    del os.environ["TITAN_SPOIL_GRADIENT"]
                deadline = time.time() + 60
                while self.count_of_found(run) < 3:
                    self.assertLess(time.time(), deadline)
                    self.assertIsNone(process.poll())
                    time.sleep(0.02)
                self.addCleanup(process.kill)
                begin = time.time()
                process.terminate()
                _, log = process.communicate(timeout=60)
                self.assertEqual(process.returncode, 75, log)
                self.assertLess(time.time() - begin, 30, log)
                self.assertIn(harness.published_steps(self.work / run)[-1], kept, log)
                self.train(run, 1, 0, **{"training.steps": 12, "lr_scheduler.total_steps": STEPS})

    def test_a_rollback_takes_no_other_checkpoint_that_lies_there(self):
        other = self.work / "told" / "checkpoint" / "step-00000004"
        swap = f'rm -rf "$TITAN_CHECKPOINT" && cp -r "{other}" "$TITAN_CHECKPOINT"'
        # A step rests, so that the command has ended long before step 200.
        with unittest.mock.patch.dict(os.environ, harness.paced(40)):
            log = self.train("swapped", 2, 13, f"1:1592-1599:{TENSOR}", **{"training.on_nonfinite": "rollback", "training.steps": 400, "checkpoint.interval": 100,
                                                                           "checkpoint.async_mode": "disabled", "checkpoint.on_publish": swap, "metrics.log_freq": 1})
        (saved,) = [event for event in harness.events(self.work / "swapped") if event["event"] == "save_commit"]
        self.assertEqual(saved["step"], 100)
        self.assertIn(f"step-00000100 is another checkpoint than the one that was known there: expected id {saved['id']}, found {self.ids[4]}", log)
        for text in self.logs("swapped"):
            self.assertIn(f"found {self.ids[4]}", text)

    def test_what_is_left_out_ahead_is_stored_and_kept(self):
        ahead = {"checkpoint.interval": 1, "training.exclude_samples": "32-39"}
        self.train("ahead", 4, 75, **ahead, **{"debug.stop_at_step": 4})
        self.assertEqual(harness.checkpoint_id(self.work / "ahead", 4), self.ids[4])
        shown = harness.ckpt("inspect", f"{self.work / 'ahead'}@4")
        self.assertEqual(shown["format_version"], "1.2")
        self.assertEqual(shown["data"]["excluded"], [{"first": 32, "count": 8}])
        self.assertTrue(harness.ckpt("verify", f"{self.work / 'ahead'}@4")["ok"])
        self.assertEqual(harness.ckpt("inspect", f"{self.work / 'told'}@5")["format_version"], "1.0")
        # Without the key the row differs, and is shown; the ranges of a rollback have no row and need no permission.
        self.assertIn("training.exclude_samples", self.train("ahead", 1, 13))
        self.train("ahead", 1, **ahead)
        self.expect_as_told("ahead")

    def test_rollback_stops_without_a_checkpoint_and_after_its_limit(self):
        log = self.train("none", 1, 3, "0-7", **{"training.on_nonfinite": "rollback"})
        self.assertIn("there is no checkpoint to go back to", log)
        log = self.train("often", 1, 3, "32-47", **{"training.on_nonfinite": "rollback", "checkpoint.interval": 2, "training.max_rollbacks": 1})
        self.assertIn("the run went back 1 times (training.max_rollbacks)", log)


if __name__ == "__main__":
    unittest.main()
