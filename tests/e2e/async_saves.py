#!/usr/bin/env python3
"""checkpoint.async_mode: saves behind the steps that follow are those of a run that waits for them, and stops lose nothing."""

import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import harness  # noqa: E402

CONFIG = harness.ROOT / "tests" / "e2e" / "small.toml"
TRIES = int(os.environ.get("TITAN_ASYNC_STOPS", "10"))


class AsyncSaves(unittest.TestCase):
    def setUp(self):
        self.work = harness.scratch("async-saves")
        harness.write_text(self.work / "text.txt", 4_000)

    def tearDown(self):
        shutil.rmtree(self.work, ignore_errors=True)

    def keys(self, run, **more):
        return {"training.dataset_path": self.work / "text.txt", "job.dump_folder": self.work / run, "checkpoint.keep_latest_k": 0, "checkpoint.interval": 2, **{key.replace("__", "."): value for key, value in more.items()}}

    def commits(self, run):
        return {event["step"]: event for event in harness.events(self.work / run) if event["event"] == "save_commit"}

    def test_ids_are_those_of_synchronous_saves(self):
        harness.train(CONFIG, 2, self.keys("sync", debug__seed=3))
        expected = {step: event["id"] for step, event in self.commits("sync").items()}
        self.assertEqual(sorted(expected), [2, 4, 6, 8, 10])
        cases = {"async": {}, "async_with_pinned_mem": {"checkpoint__staging_bytes": 0}, "zstd": {"checkpoint__compression": "zstd"}}
        for run, more in cases.items():
            with self.subTest(run=run):
                mode = run if run.startswith("async") else "async"
                log = harness.train(CONFIG, 2, self.keys(run, debug__seed=3, checkpoint__async_mode=mode, **more))[1]
                self.assertEqual({step: event["id"] for step, event in self.commits(run).items()}, expected)
                self.assertEqual(harness.published_steps(self.work / run), [2, 4, 6, 8, 10])
                self.assertEqual(harness.leftovers(self.work / run), [])
                self.assertEqual(log.count(" saved: "), 5)
                for event in self.commits(run).values():
                    for cost in ("snapshot_s", "stall_s", "write_s", "publish_s", "durable_s", "gb_per_s"):
                        self.assertGreaterEqual(event[cost], 0, event)

    def test_times_decide_when_and_never_what(self):
        harness.train(CONFIG, 2, self.keys("sync", debug__seed=3, checkpoint__interval=1))
        expected = {step: event["id"] for step, event in self.commits("sync").items()}
        self.assertEqual(sorted(expected), list(range(1, 11)))
        # Each is stopped behind step 7 and goes on on another layout; "auto" looks for its cost at the first step of a start.
        cases = {"continuous": {1, 7, 8, 10}, "auto": {1, 7, 8, 10}, "1h": {7, 10}}
        for mode in ("disabled", "async"):
            for interval, certain in cases.items():
                with self.subTest(mode=mode, interval=interval):
                    run = f"{mode}-{interval}"
                    keys = self.keys(run, debug__seed=3, checkpoint__async_mode=mode, **{"checkpoint.interval": interval, "checkpoint.mtbf_seconds": 1e9})
                    harness.train(CONFIG, 2, {**keys, "debug.stop_at_step": 7}, expect=75)
                    harness.train(CONFIG, 1, keys)
                    saved = self.commits(run)
                    self.assertEqual({step: event["id"] for step, event in saved.items()}, {step: expected[step] for step in saved})
                    if interval == "continuous":
                        self.assertLessEqual(certain, set(saved))
                        self.assertTrue(mode == "async" or len(saved) == 10, saved.keys())
                    else:
                        self.assertEqual(set(saved), certain)

    def test_a_stop_at_any_moment_ends_in_75_with_the_newest_step(self):
        chance = random.Random(15)
        keys = {"training__steps": 1_000_000, "checkpoint__async_mode": "async", "model__dim": 128, "model__ffn_dim": 256, "checkpoint__keep_latest_k": 2}
        for attempt in range(TRIES):
            run = "stop"
            path = self.work / run / "metrics.jsonl"
            process = harness.start(CONFIG, 2, self.keys(run, **keys))
            deadline = time.time() + 60
            while '"save_begin"' not in (path.read_text() if path.exists() else ""):
                self.assertIsNone(process.poll(), "the run ended early")
                self.assertLess(time.time(), deadline)
                time.sleep(0.01)
            time.sleep(chance.random() * 0.3)
            process.send_signal(signal.SIGTERM)
            _, log = process.communicate(timeout=60)
            self.assertEqual(process.returncode, 75, log)
            newest = max(harness.step_lines(self.work / run))
            self.assertEqual(harness.published_steps(self.work / run)[-1], newest, log)
            self.assertEqual(harness.leftovers(self.work / run), [], f"try {attempt}")
            self.assertTrue(harness.ckpt("verify", f"{self.work / run}@{newest}")["ok"])
            shutil.rmtree(self.work / run)

    def test_a_refusal_of_the_store_is_told_and_the_run_goes_on_or_ends(self):
        shim = harness.BIN / "titan-fail-calls.so"
        for word, code, steps in (("continue", 0, [2, 6, 8, 10]), ("stop", 3, [2])):
            with self.subTest(on_save_error=word):
                run = self.work / word
                plan = {"UNDER": run, "LOG": self.work / "shim.log", "RANK": 1, "CALL": "pwrite", "MATCH": "step-00000004.tmp-", "K": 1, "DO": 28, "STICKY": 0}
                environment = dict(os.environ, LD_PRELOAD=str(shim), **{"TITAN_SHIM_" + key: str(value) for key, value in plan.items()})
                keys = self.keys(word, checkpoint__async_mode="async", checkpoint__on_save_error=word)
                done = subprocess.run(harness.command(CONFIG, 2, keys), capture_output=True, text=True, timeout=100, env=environment)
                self.assertEqual(done.returncode, code, done.stderr)
                self.assertIn("step 4 could not be saved", done.stderr)
                self.assertEqual(harness.published_steps(run), steps)
                self.assertEqual(harness.leftovers(run), [])


if __name__ == "__main__":
    unittest.main(verbosity=2)
