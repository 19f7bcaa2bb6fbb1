#!/usr/bin/env python3
"""checkpoint.async_mode: background saves equal those of a run that waits for its saves, and stops lose nothing."""

import os
import pathlib
import random
import re
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

    def test_ids_and_lines_are_those_of_synchronous_saves(self):
        harness.train(CONFIG, 2, self.keys("sync", debug__seed=3))
        expected, lines = {step: event["id"] for step, event in self.commits("sync").items()}, harness.step_lines(self.work / "sync")
        self.assertEqual(sorted(expected), [2, 4, 6, 8, 10])
        pipeline = {"parallelism__pipeline_parallel_degree": 2}
        cases = {  # ranks, shard files of a step (one of six ranks owns nothing), keys
            "async": (2, 4, {}),
            "async_with_pinned_mem": (2, 4, {"checkpoint__staging_bytes": 0}),
            "zstd": (2, 4, {"checkpoint__compression": "zstd", "checkpoint__files_per_host": 1}),
            "one rank": (1, 2, {}),
            "own files": (6, 10, {"checkpoint__files_per_host": 0, **pipeline}),
            "shared files": (4, 2, {"checkpoint__files_per_host": 1, **pipeline}),
            "shared files, no staging": (3, 4, {"checkpoint__files_per_host": 2, "checkpoint__staging_bytes": 0}),
            "shared files, sync": (4, 4, {"checkpoint__files_per_host": 2, "checkpoint__async_mode": "disabled", "checkpoint__verify_after_write": "all", **pipeline}),
        }
        for name, (ranks, files, more) in cases.items():
            with self.subTest(run=name):
                run = name.replace(" ", "-")
                keys = {"checkpoint__async_mode": run if run.startswith("async") else "async", **more}
                # Stopped and gone on with.
                harness.train(CONFIG, ranks, self.keys(run, debug__seed=3, debug__stop_at_step=6, **keys), expect=75)
                harness.train(CONFIG, ranks, self.keys(run, debug__seed=3, **keys))
                self.assertEqual({step: event["id"] for step, event in self.commits(run).items()}, expected)
                self.assertEqual(harness.step_lines(self.work / run), lines)
                self.assertEqual(harness.published_steps(self.work / run), [2, 4, 6, 8, 10])
                self.assertEqual(harness.leftovers(self.work / run), [])
                self.assertEqual(len(list((self.work / run / "checkpoint" / "step-00000010").glob("*/shard-*.h5"))), files)
                self.assertTrue(harness.ckpt("verify", f"{self.work / run}@10")["ok"])
                for event in self.commits(run).values():
                    for cost in ("snapshot_s", "stall_s", "write_s", "publish_s", "durable_s", "gb_per_s"):
                        self.assertGreaterEqual(event[cost], 0, event)

    def step_in_its_place(self, log):
        """The step that was in memory when the failed save of step 4 was noticed."""
        step = int(re.search(r"saving step (\d+) in its place", log)[1])
        self.assertIn(step, (4, 5, 6), log)
        return step

    def test_a_writer_that_dies_or_fails_ends_a_save_into_shared_files(self):
        shim = harness.BIN / "titan-fail-calls.so"
        # 28: no space. The maker is rank 0, rank 3 only writes.
        for do, said in (("kill", "rank 3"), ("28", "(rank 3)")):
            with self.subTest(do=do):
                run = self.work / do
                plan = {"UNDER": run, "LOG": self.work / "shim.log", "RANK": 3, "CALL": "pwrite", "MATCH": "step-00000004.tmp-", "K": 1, "DO": do, "STICKY": 0}
                environment = dict(os.environ, LD_PRELOAD=str(shim), **{"TITAN_SHIM_" + key: str(value) for key, value in plan.items()})
                keys = self.keys(do, checkpoint__async_mode="async", checkpoint__files_per_host=1, checkpoint__on_save_error="stop")
                done = subprocess.run(harness.command(CONFIG, 4, keys), capture_output=True, text=True, timeout=100, env=environment)
                self.assertEqual(done.returncode, 3, done.stderr)
                self.assertIn(said, done.stderr[done.stderr.index("error: "):])
                self.assertEqual(harness.published_steps(run), [2] if do == "kill" else [2, self.step_in_its_place(done.stderr)])
                harness.train(CONFIG, 2, keys)
                self.assertEqual(harness.published_steps(run)[-1], 10)
                self.assertEqual(harness.leftovers(run), [])

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
        # One run that is stopped and goes on: every third time while it loads, else in steps, staging, writing, publishing or validation.
        chance = random.Random(15)
        keys = {"training__steps": 1_000_000, "checkpoint__async_mode": "async", "model__dim": 128, "model__ffn_dim": 256, "checkpoint__keep_latest_k": 2, "validation__enable": True, "validation__freq": 3, "validation__steps": 4}
        run = self.work / "stop"
        newest = 0
        for attempt in range(TRIES):
            loads = attempt % 3 == 2
            path, words = (run / "logs" / "rank-0.log", "loading ") if loads else (run / "metrics.jsonl", '"save_begin"')
            seen = path.read_text().count(words) if path.exists() else 0
            process = harness.start(CONFIG, 2, self.keys("stop", **{**keys, "checkpoint__staging_bytes": chance.choice([0, 1 << 20, 1 << 30])}))
            deadline = time.time() + 60
            while (path.read_text() if path.exists() else "").count(words) <= seen:
                self.assertIsNone(process.poll(), "the run ended early")
                self.assertLess(time.time(), deadline)
                time.sleep(0.002)
            time.sleep(chance.random() * (0.03 if loads else 0.3))
            process.send_signal(signal.SIGTERM)
            _, log = process.communicate(timeout=60)
            self.assertEqual(process.returncode, 75, log)
            self.assertIn(" W r0 SIGTERM: ", log)
            steps = max(harness.step_lines(run))
            self.assertGreaterEqual(steps, newest)
            newest = steps
            self.assertEqual(harness.published_steps(run)[-1], newest, log)
            self.assertEqual(harness.half_saved(run), [], f"try {attempt}")
            self.assertTrue(harness.ckpt("verify", f"{run}@{newest}")["ok"])

    def test_a_refusal_of_the_store_is_told_and_the_run_goes_on_or_ends(self):
        shim = harness.BIN / "titan-fail-calls.so"
        for word, code in (("continue", 0), ("stop", 3)):
            with self.subTest(on_save_error=word):
                run = self.work / word
                plan = {"UNDER": run, "LOG": self.work / "shim.log", "RANK": 1, "CALL": "pwrite", "MATCH": "step-00000004.tmp-", "K": 1, "DO": 28, "STICKY": 0}
                environment = dict(os.environ, LD_PRELOAD=str(shim), **{"TITAN_SHIM_" + key: str(value) for key, value in plan.items()})
                keys = self.keys(word, checkpoint__async_mode="async", checkpoint__on_save_error=word)
                done = subprocess.run(harness.command(CONFIG, 2, keys), capture_output=True, text=True, timeout=100, env=environment)
                self.assertEqual(done.returncode, code, done.stderr)
                self.assertIn("step 4 could not be saved", done.stderr)
                steps = harness.published_steps(run)
                if word == "continue":
                    self.assertEqual(steps, [2, 6, 8, 10])
                else:  # and what is in memory by then
                    self.assertEqual(steps, [2, self.step_in_its_place(done.stderr)])
                self.assertEqual(harness.leftovers(run), [])


if __name__ == "__main__":
    unittest.main(verbosity=2)
