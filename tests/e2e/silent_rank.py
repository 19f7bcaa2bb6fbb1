#!/usr/bin/env python3
"""A rank that stops answering ends the job within comm.train_timeout_seconds, by name; a dead one long before: within seconds, and 30 s on a busy machine."""

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
TIMEOUT = 6
TORCHRUN = harness.ROOT / ".deps" / "venv" / "bin" / "torchrun"


class SilentRank(unittest.TestCase):
    def setUp(self):
        self.work = harness.scratch("silent")
        harness.write_text(self.work / "text.txt", 4_000)

    def tearDown(self):
        shutil.rmtree(self.work, ignore_errors=True)

    def hit(self, rank, number, pp):
        run = self.work / f"run-{rank}-{number}"
        process = harness.start(CONFIG, 4, {"training.dataset_path": self.work / "text.txt", "job.dump_folder": run, "training.steps": 1_000_000, "comm.train_timeout_seconds": TIMEOUT if number == signal.SIGSTOP else 60,
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

    def test_ranks_0_and_1_killed_at_once_are_named(self):
        """The lowest survivor speaks, or our launcher, which knows more."""
        for pp in (1, 2):
            for launcher in ("own", "torchrun"):
                with self.subTest(pp=pp, launcher=launcher):
                    self.lose_two(launcher, pp)

    def lose_two(self, launcher, pp):
        run = self.work / f"two-{launcher}-{pp}"
        words = ["--nproc", "4"] if launcher == "own" else []
        before = [TORCHRUN, "--standalone", "--local-addr=127.0.0.1", "--no-python", "--nproc-per-node=4"] if launcher == "torchrun" else []
        overrides = {"training.dataset_path": self.work / "text.txt", "job.dump_folder": run, "training.steps": 1_000_000, "comm.train_timeout_seconds": 60, "parallelism.pipeline_parallel_degree": pp}
        process = subprocess.Popen([*map(str, before), harness.TRAIN, "run", str(CONFIG), *words, *harness.flags(overrides)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                                   start_new_session=True)
        deadline = time.time() + 60
        while not (run / "metrics.jsonl").exists() or '"step":3,' not in (run / "metrics.jsonl").read_text():
            self.assertLess(time.time(), deadline)
            time.sleep(0.05)
        ranks = {}
        for pid in harness.children(process.pid):
            variables = dict(text.split("=", 1) for text in pathlib.Path(f"/proc/{pid}/environ").read_text().split("\0") if "=" in text)
            ranks[int(variables["RANK"])] = pid
        self.assertEqual(sorted(ranks), [0, 1, 2, 3])
        began = time.time()
        harness.kill_together([ranks[0], ranks[1]])
        log = process.communicate(timeout=60)[1]
        self.assertLess(time.time() - began, 30)
        errors = [line for line in log.splitlines() if line.startswith("error: ")]
        if launcher == "own":
            self.assertEqual(errors, [f"error: ranks 0, 1 (pids {ranks[0]}, {ranks[1]}) were killed by signal 9 (SIGKILL)"], log)
            self.assertEqual(process.returncode, 3)
        else:
            self.assertTrue(any("ranks 0, 1 are gone" in line and "noticed by rank 2" in line for line in errors), log)
            self.assertRegex(log, r"rank +: 2 \(local_rank: 2\)\n +exitcode +: 3 ")
        self.assertFalse(any(map(harness.alive, ranks.values())), "a rank outlived the job")

    def test_a_job_that_was_stopped_as_a_whole_goes_on(self):
        """What nobody did meanwhile is no rank's fault: 20 s with a limit of 8 s."""
        ids = []
        for stopped in (False, True):
            run = self.work / f"whole-{stopped}"
            process = harness.start(CONFIG, 2, {"training.dataset_path": self.work / "text.txt", "job.dump_folder": run, "training.steps": 300, "lr_scheduler.total_steps": 300,
                                                "comm.train_timeout_seconds": 8, "checkpoint.interval": 300, "parallelism.pipeline_parallel_degree": 2, "metrics.log_freq": 1},
                                    variables=harness.paced(20) if stopped else None)
            if stopped:
                deadline = time.time() + 60
                while not (run / "metrics.jsonl").exists() or '"step":3,' not in (run / "metrics.jsonl").read_text():
                    self.assertLess(time.time(), deadline)
                    time.sleep(0.01)
                job = [process.pid, *harness.children(process.pid)]
                for pid in job:
                    os.kill(pid, signal.SIGSTOP)
                self.assertNotIn('"step":300,', (run / "metrics.jsonl").read_text(), "stopped too late: the test proves nothing")
                time.sleep(20)
                for pid in job:
                    os.kill(pid, signal.SIGCONT)
            _, log = process.communicate(timeout=120)
            self.assertEqual(process.returncode, 0, log)
            ids.append(harness.checkpoint_id(run, 300))
        self.assertEqual(ids[0], ids[1])

    def test_a_stopped_rank_is_named(self):
        for rank, pp in ((2, 2), (0, 1)):
            with self.subTest(rank=rank, pp=pp):
                self.assertLess(self.hit(rank, signal.SIGSTOP, pp), TIMEOUT + 30)

    def test_a_killed_rank_is_named(self):
        for rank, pp in ((3, 4), (0, 2)):
            with self.subTest(rank=rank, pp=pp):
                self.assertLess(self.hit(rank, signal.SIGKILL, pp), 30)


if __name__ == "__main__":
    unittest.main(verbosity=2)
