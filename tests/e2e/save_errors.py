#!/usr/bin/env python3
"""checkpoint.on_save_error: what a run does when the store refuses a save."""

import errno
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import harness  # noqa: E402

CONFIG = harness.ROOT / "tests" / "e2e" / "small.toml"
SHIM = harness.BIN / "titan-fail-calls.so"
RANKS = 2


class SaveErrors(unittest.TestCase):
    def setUp(self):
        self.work = harness.scratch("save-errors")
        harness.write_text(self.work / "text.txt", 4_000)
        self.run_folder = self.work / "run"

    def tearDown(self):
        shutil.rmtree(self.work, ignore_errors=True)

    def train(self, expect, overrides, error=errno.ENOSPC, call="pwrite", match="/optimizer/", k=1, sticky=False, rank="1"):
        """Two ranks; a call on a file of a save fails on one of them. Returns the log and the lines of the shim that say so."""
        plan = {"UNDER": self.run_folder, "LOG": self.work / "shim.log", "RANK": rank, "CALL": call, "MATCH": match, "K": k, "DO": error, "STICKY": int(sticky)}
        environment = dict(os.environ, LD_PRELOAD=str(SHIM), **{"TITAN_SHIM_" + key: str(value) for key, value in plan.items()})
        settings = {"training.dataset_path": self.work / "text.txt", "job.dump_folder": self.run_folder, "training.steps": 6, "checkpoint.interval": 2, "checkpoint.keep_latest_k": 1}
        done = subprocess.run(harness.command(CONFIG, RANKS, {**settings, **overrides}), capture_output=True, text=True, timeout=300, env=environment)
        self.assertEqual(done.returncode, expect, done.stderr)
        log = self.work / "shim.log"
        self.assertIn("FIRED", log.read_text() if log.exists() else "", "nothing failed: the test proves nothing")
        return done.stderr

    def failed_events(self):
        return [event["step"] for event in harness.events(self.run_folder) if event["event"] == "save_failed"]

    def whole_steps(self):
        steps = harness.published_steps(self.run_folder)
        self.assertTrue(all(harness.ckpt("verify", f"{self.run_folder}@{step}")["ok"] for step in steps))
        return steps

    def test_stop_ends_the_run_where_it_is_asked_for(self):
        log = self.train(3, {"checkpoint.on_save_error": "stop", "checkpoint.async_mode": "disabled"})
        self.assertRegex(log, r"error: step 2 could not be saved")
        self.assertIn("disk full", log)
        self.assertRegex(log, "hint: nothing is saved yet; free some space")
        self.assertEqual(self.whole_steps(), [])
        self.assertEqual(self.failed_events(), [])

    def test_the_state_in_memory_is_saved_before_a_save_beside_training_ends_the_run(self):
        stop = {"checkpoint.on_save_error": "stop"}
        log = self.train(3, stop)
        self.assertRegex(log, r"error: step 2 could not be saved")
        (step,) = self.whole_steps()
        self.assertGreater(step, 1)
        self.assertIn(f"hint: your work is safe up to step {step}; free some space", log)
        self.assertEqual(max(harness.step_lines(self.run_folder)), step)
        # A stop that meets the failure saves its own step, and all is well.
        shutil.rmtree(self.run_folder)
        log = self.train(75, stop | {"debug.stop_at_step": 3})
        self.assertIn("saving step 3 in its place", log)
        self.assertEqual(self.whole_steps(), [3])
        # Nor does a second failure hide the first.
        shutil.rmtree(self.run_folder)
        log = self.train(3, stop, sticky=True)
        self.assertRegex(log, r"error: step 2 could not be saved")
        self.assertIn("could not be saved either", log)
        self.assertEqual(self.whole_steps(), [])

    def test_a_line_of_metrics_that_the_store_refuses_waits(self):
        """Nor does a line that takes long hold up the ranks beyond their deadline."""
        for error in (errno.ENOSPC, "slow:8000"):
            with self.subTest(error=error):
                log = self.train(0, {"checkpoint.interval": 6, "comm.train_timeout_seconds": 4}, error, match="metrics.jsonl", k=3, rank="0")
                self.assertEqual("metrics.jsonl cannot be written, and waits in memory: " in log, error == errno.ENOSPC, log)
                self.assertEqual(sorted(harness.step_lines(self.run_folder)), [1, 2, 3, 4, 5, 6])
                self.assertEqual(self.whole_steps(), [6])
                shutil.rmtree(self.run_folder)
                (self.work / "shim.log").unlink()

    def test_lines_that_are_never_taken_end_no_run(self):
        """A full disk for metrics.jsonl beside a checkpoint folder with room; and a store for it that stands still."""
        for error in (errno.ENOSPC, "slow:12000"):
            with self.subTest(error=error):
                log = self.train(0, {"checkpoint.keep_latest_k": 0}, error, match="metrics.jsonl", k=3, sticky=error == errno.ENOSPC, rank="0")
                self.assertEqual(log.count("a checkpoint is saved without the newest lines of metrics.jsonl, which wait in memory: "), 1, log)
                self.assertEqual(self.whole_steps(), [2, 4, 6])
                self.assertNotIn("could not be saved", log)
                shutil.rmtree(self.run_folder)
                (self.work / "shim.log").unlink()

    def test_ranks_wait_for_one_whose_store_stands_still_as_long_as_a_save_may_take(self):
        """Beside training, without staging: that rank cannot change its weights before they are written."""
        log = self.train(0, {"comm.train_timeout_seconds": 4, "checkpoint.staging_bytes": 0, "checkpoint.keep_latest_k": 0}, "slow:8000")
        self.assertEqual(self.whole_steps(), [2, 4, 6])
        self.assertNotIn("could not be saved", log)

    def test_lines_that_are_not_durable_are_a_failure_of_the_save(self):
        log = self.train(3, {"checkpoint.interval": 6, "checkpoint.on_save_error": "stop"}, match="metrics.jsonl", k=3, sticky=True, rank="0")
        self.assertRegex(log, "error: step 6 could not be saved")
        self.assertIn("disk full", log)
        self.assertEqual(self.whole_steps(), [])
        self.assertEqual(log.count("error: "), 1, log)
        self.assertNotIn("gone", log)

    def test_without_the_key_a_run_goes_on_without_the_step_and_saves_the_next(self):
        for error in (errno.ENOSPC, errno.EDQUOT, errno.EIO):
            with self.subTest(error=errno.errorcode[error]):
                shutil.rmtree(self.run_folder, ignore_errors=True)
                (self.work / "shim.log").unlink(missing_ok=True)
                log = self.train(0, {"checkpoint.keep_latest_k": 0}, error)
                self.assertRegex(log, r" E r0 step 2 could not be saved; caused by: .*/optimizer/")
                self.assertIn("training continues without step 2: 1 of 3 failures in a row that end the run (checkpoint.max_save_failures); nothing is saved yet", log)
                self.assertEqual(self.whole_steps(), [4, 6])
                self.assertEqual(self.failed_events(), [2])
                self.assertEqual(sorted(harness.step_lines(self.run_folder)), [1, 2, 3, 4, 5, 6])
                self.assertEqual(harness.leftovers(self.run_folder), [])

    def test_after_a_failure_the_run_saves_before_its_turn_once_the_store_answers(self):
        plan = {"UNDER": self.run_folder, "LOG": self.work / "shim.log", "RANK": "1", "CALL": "pwrite", "MATCH": "step-00000001.tmp-", "K": 1, "DO": errno.ENOSPC, "STICKY": 0}
        settings = {"training.dataset_path": self.work / "text.txt", "job.dump_folder": self.run_folder, "training.steps": 1_000_000, "lr_scheduler.total_steps": 1_000_000,
                    "checkpoint.interval": 1_000_000, "checkpoint.enable_first_step_checkpoint": True, "metrics.log_freq": 1_000_000}
        process = subprocess.Popen(harness.command(CONFIG, RANKS, settings), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True,
                                   env=dict(os.environ, LD_PRELOAD=str(SHIM), **{"TITAN_SHIM_" + key: str(value) for key, value in plan.items()}))
        deadline = time.time() + 100
        while not harness.published_steps(self.run_folder):
            self.assertIsNone(process.poll())
            self.assertLess(time.time(), deadline)
            time.sleep(0.2)
        early = harness.published_steps(self.run_folder)
        process.send_signal(signal.SIGTERM)
        _, log = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 75, log)
        self.assertEqual(self.failed_events(), [1])
        self.assertLess(log.index("training continues without step 1: 1 of 3 failures"), log.index(f"step {early[0]} saved"))
        self.assertEqual(self.whole_steps()[:1], early)

    def test_a_rank_0_that_cannot_publish_goes_on_too(self):
        self.train(0, {"checkpoint.on_save_error": "continue", "checkpoint.keep_latest_k": 0}, errno.EIO, "fsync", "step-00000002.tmp-", rank="0")
        self.assertEqual(self.whole_steps(), [4, 6])

    def test_nothing_is_deleted_after_a_save_that_failed(self):
        # The newest step is 2 when the save of 4 fails; it must be there until 6 is.
        log = self.train(0, {"checkpoint.on_save_error": "continue"}, match="step-00000004.tmp-")
        self.assertLess(log.index("training continues without step 4"), log.index("retention removed step-00000002"))
        self.assertLess(log.index("step 6 saved"), log.index("retention removed step-00000002"))
        self.assertEqual(self.whole_steps(), [6])

    def test_the_last_save_and_the_one_of_a_stop_are_tried_once_more(self):
        log = self.train(0, {"checkpoint.on_save_error": "continue"}, match="step-00000006.tmp-")
        self.assertIn("trying step 6 once more in 1 s: there is no later save", log)
        self.assertEqual(self.whole_steps(), [6])
        shutil.rmtree(self.run_folder)
        self.train(75, {"checkpoint.on_save_error": "continue", "debug.stop_at_step": 3}, match="step-00000003.tmp-")
        self.assertEqual(self.whole_steps(), [3])

    def test_a_last_save_that_fails_again_and_again_ends_with_3(self):
        log = self.train(3, {"checkpoint.on_save_error": "continue", "checkpoint.keep_latest_k": 0}, match="step-00000006.tmp-", sticky=True)
        self.assertRegex(log, "error: step 6 could not be saved")
        self.assertRegex(log, "hint: your work is safe up to step 4; free some space")
        self.assertEqual(self.whole_steps(), [2, 4])
        self.assertEqual(self.failed_events(), [6] * 4)

    def test_too_many_failures_in_a_row_end_a_run_that_goes_on(self):
        settings = {"checkpoint.on_save_error": "continue", "checkpoint.interval": 1, "checkpoint.keep_latest_k": 0, "training.steps": 1_000_000, "lr_scheduler.total_steps": 1_000_000}
        for mode, most in (("disabled", 1), ("async", 2)):
            with self.subTest(mode=mode):
                began = time.time()
                log = self.train(3, {**settings, "checkpoint.async_mode": mode, "checkpoint.max_save_failures": most}, sticky=True)
                self.assertRegex(log, r"error: step \d+ could not be saved")
                failed = self.failed_events()
                self.assertEqual(len(failed) > 0, most > 1)
                if most > 1:
                    self.assertGreater(time.time() - began, 10, "failures of the same seconds are one")
                    self.assertIn(f"{len(failed) + 1} tries in a row have failed (checkpoint.max_save_failures = {most})", log)
                self.assertEqual(self.whole_steps(), [])
                self.assertEqual(harness.leftovers(self.run_folder), [])
                shutil.rmtree(self.run_folder)

    def test_an_error_that_no_later_save_mends_stops_all_the_same(self):
        log = self.train(3, {"checkpoint.on_save_error": "continue", "checkpoint.async_mode": "disabled"}, errno.EACCES)
        self.assertIn("Permission denied", log)
        self.assertEqual(self.whole_steps(), [])

    def test_what_cannot_be_read_back_is_not_published(self):
        log = self.train(0, {"checkpoint.on_save_error": "continue", "checkpoint.keep_latest_k": 0}, errno.EIO, "pread", "step-00000002.tmp-")
        self.assertRegex(log, r"step 2 could not be saved; caused by: .* was written and cannot be read back")
        self.assertEqual(self.whole_steps(), [4, 6])
        self.assertEqual(harness.leftovers(self.run_folder), [])

    def test_what_failed_beside_a_save_is_said(self):
        log = self.train(0, {"checkpoint.keep_latest_k": 0}, errno.EIO, "fdatasync", "/latest.tmp", rank="0")
        self.assertRegex(log, r" W r0 .*latest\.tmp: fdatasync")
        self.assertEqual(self.whole_steps(), [2, 4, 6])


if __name__ == "__main__":
    unittest.main(verbosity=2)
