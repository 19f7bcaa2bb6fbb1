#!/usr/bin/env python3
"""checkpoint.on_publish at the edges of a run: a command that a start missed, a stop at the end, a command that starts a run of its own."""

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


class Publishing(unittest.TestCase):
    def setUp(self):
        self.work = harness.scratch("publishing")
        self.addCleanup(shutil.rmtree, self.work, True)
        self.data = self.work / "text.txt"
        harness.write_text(self.data, 4_000)
        self.run = self.work / "run"
        self.seen = self.work / "seen"

    def keys(self, command, **overrides):
        return {"training.dataset_path": self.data, "job.dump_folder": self.run, "checkpoint.on_publish": command, **overrides}

    def lines(self):
        return self.seen.read_text().splitlines() if self.seen.exists() else []

    def wait_until(self, happens, process):
        deadline = time.time() + 60
        while not happens():
            self.assertLess(time.time(), deadline)
            self.assertIsNone(process.poll(), "the run ended early")
            time.sleep(0.02)

    def test_what_a_stop_at_the_end_cut_short_runs_at_the_next_start_once(self):
        process = harness.start(CONFIG, 2, self.keys(f"echo $TITAN_STEP >> {self.seen}; sleep 60; true"))
        self.addCleanup(process.kill)
        self.wait_until(self.lines, process)
        self.wait_until(lambda: "training completed" in (self.run / "logs" / "rank-0.log").read_text(), process)
        begin = time.time()
        process.send_signal(signal.SIGTERM)
        _, log = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 0, log)
        self.assertLess(time.time() - begin, 30)
        self.assertIn("checkpoint.on_publish for step 10 was ended: the run has ended; the next start runs the command for the newest step", log)
        self.assertFalse((self.run / "on_publish.done").exists())

        fails, works = f"echo fails $TITAN_STEP >> {self.seen}; exit 3", f"echo again $TITAN_STEP >> {self.seen}"
        _, log = harness.train(CONFIG, 2, self.keys(fails))
        self.assertIn("checkpoint.on_publish for step 10 failed: exit code 3", log)
        for command in (works, works):
            _, log = harness.train(CONFIG, 2, self.keys(command))
            self.assertTrue(log.startswith("note: nothing to do, complete: "), log)
        self.assertEqual(self.lines(), ["10", "fails 10", "again 10"])
        (self.run / "on_publish.done").unlink()
        ranks = harness.start_each(harness.command(CONFIG, 2, self.keys(works))[:3] + harness.flags(self.keys(works)), [dict(os.environ)] * 2)
        for rank in ranks:
            _, log = rank.communicate(timeout=60)
            self.assertEqual(rank.returncode, 0, log)
        self.assertEqual(self.lines()[3:], ["again 10"])
        # A run that goes on has it too, for the step that it goes on from.
        (self.run / "on_publish.done").unlink()
        harness.train(CONFIG, 1, self.keys(works, **{"training.steps": 400, "lr_scheduler.total_steps": 10}))
        self.assertEqual(self.lines()[4:], ["again 10", "again 400"])

    def test_a_step_of_another_folder_is_not_published_by_a_run_that_has_nothing_to_do(self):
        harness.train(CONFIG, 1, {"training.dataset_path": self.data, "job.dump_folder": self.work / "other"})
        _, log = harness.train(CONFIG, 1, self.keys(f"echo $TITAN_STEP >> {self.seen}"), extra=("--resume", f"{self.work / 'other'}@latest"))
        self.assertIn("nothing to do, complete", log)
        self.assertEqual(self.lines(), [])

    def test_whoever_starts_the_run_may_ignore_the_ends_of_its_children(self):
        for nproc in (1, 2):
            args = harness.command(CONFIG, nproc, self.keys("exit 5", **{"job.dump_folder": self.work / f"run-{nproc}"}))
            done = subprocess.run(args, capture_output=True, text=True, timeout=300, preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN))
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("checkpoint.on_publish for step 10 failed: exit code 5", done.stderr)

    def test_a_command_may_be_a_run_of_its_own(self):
        inner = self.work / "inner"
        command = " ".join(harness.command(CONFIG, 1, {"training.dataset_path": self.data, "job.dump_folder": inner, "training.steps": 1}))
        _, log = harness.train(CONFIG, 2, self.keys(command))
        self.assertNotIn("on_publish", log)
        self.assertEqual(harness.published_steps(inner), [1])

    def test_the_step_that_a_command_works_on_stays_until_it_is_over(self):
        # The first one works until other steps are there.
        skipped = f'grep -q "on_publish skips step" {self.run}/logs/rank-0.log'
        command = f"until [ $TITAN_STEP -gt 50 ] || {skipped}; do sleep 0.05; done; ls $TITAN_CHECKPOINT/manifest.json && echo $TITAN_STEP >> {self.seen}"
        _, log = harness.train(CONFIG, 1, self.keys(command, **{"checkpoint.interval": 1, "checkpoint.keep_latest_k": 1, "training.steps": 60}))
        self.assertNotIn("failed", log)
        self.assertIn("checkpoint.on_publish skips step", log)
        self.assertEqual(self.lines()[-1], "60")
        self.assertEqual(harness.published_steps(self.run), [60])


if __name__ == "__main__":
    unittest.main(verbosity=2)
