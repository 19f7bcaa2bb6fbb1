#!/usr/bin/env python3
"""Resumes from a disk with a bad sector, and which files a run keeps open of the step that it resumed from."""

import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time
import unittest
import unittest.mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import harness  # noqa: E402

CONFIG = harness.ROOT / "tests" / "e2e" / "small.toml"

# A bad sector: preloaded, it fails every read of the files whose real path ends in TITAN_BAD_FILE, on the rank TITAN_BAD_RANK or on all.
BAD_SECTOR = r"""
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>
static int bad(int fd) {
  char link[64], path[4096] = "";
  const char *file = getenv("TITAN_BAD_FILE"), *only = getenv("TITAN_BAD_RANK"), *rank = getenv("RANK");
  if (!file || (only && (!rank || strcmp(rank, only)))) return 0;
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  const long size = readlink(link, path, sizeof path - 1);
  const long tail = (long)strlen(file);
  if (size < tail || strcmp(path + size - tail, file)) return 0;
  errno = EIO;
  return 1;
}
ssize_t pread64(int fd, void* out, size_t bytes, off64_t at) { return bad(fd) ? -1 : syscall(SYS_pread64, fd, out, bytes, at); }
ssize_t pread(int fd, void* out, size_t bytes, off_t at) { return pread64(fd, out, bytes, at); }
"""


class ReadErrors(unittest.TestCase):
    def setUp(self):
        self.work = harness.scratch("read-errors")
        self.data = self.work / "text.txt"
        harness.write_text(self.data, 4_000)
        self.run_dir = self.work / "run"
        source, self.shim = self.work / "bad.c", self.work / "bad.so"
        source.write_text(BAD_SECTOR)
        subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", self.shim, source], check=True)

    def tearDown(self):
        shutil.rmtree(self.work, ignore_errors=True)

    def train(self, *extra, nproc=1, expect=0, bad=None, rank=None, **overrides):
        merged = {"training.dataset_path": self.data, "job.dump_folder": self.run_dir}
        merged.update({key.replace("__", "."): value for key, value in overrides.items()})
        env = {"LD_PRELOAD": str(self.shim), "TITAN_BAD_FILE": bad} if bad else {}
        if rank is not None:
            env["TITAN_BAD_RANK"] = str(rank)
        with unittest.mock.patch.dict(os.environ, env):
            return harness.train(CONFIG, nproc, merged, extra, expect)

    def saved(self):
        self.train(nproc=2, training__steps=12, checkpoint__interval=2, debug__stop_at_step=6, expect=75)
        self.assertEqual(harness.published_steps(self.run_dir), [2, 4, 6])

    def test_a_bad_sector_stops_the_start_and_the_hint_names_the_key(self):
        self.saved()
        for bad in ("step-00000006/model/shard-00000.h5", "step-00000006/manifest.json", "step-00000006/train_state.json"):
            with self.subTest(bad=bad):
                _, err = self.train(nproc=2, training__steps=12, bad=bad, expect=3)
                self.assertIn("Input/output error", err)
                self.assertIn('checkpoint.on_read_error = "fallback"', err)
        self.assertEqual(harness.published_steps(self.run_dir), [2, 4, 6])

    def test_fallback_passes_over_the_step_when_a_second_reader_agrees_and_the_run_reaches_the_same_end(self):
        self.saved()
        whole = self.work / "whole"
        shutil.copytree(self.run_dir, whole)
        self.train(nproc=2, training__steps=12, checkpoint__interval=2, job__dump_folder=whole)
        for bad, nproc in (("step-00000006/model/shard-00000.h5", 1), ("step-00000006/optimizer/shard-00001.h5", 2), ("step-00000006/manifest.json", 2)):
            with self.subTest(bad=bad, nproc=nproc):
                run = self.work / f"run-{nproc}-{pathlib.Path(bad).name}"
                shutil.copytree(self.run_dir, run)
                _, err = self.train(nproc=nproc, training__steps=12, checkpoint__interval=2, job__dump_folder=run, checkpoint__on_read_error="fallback", bad=bad)
                self.assertIn("step 6 cannot be read and is skipped", err)
                self.assertIn("step-00000004", err)
                self.assertEqual(harness.checkpoint_id(run, 12), harness.checkpoint_id(whole, 12))
                # Its number was saved again: the old one lies aside, with all its bytes.
                aside = [p for p in (run / "checkpoint").iterdir() if p.name.startswith(".damaged-step-00000006-")]
                self.assertEqual(len(aside), 1)
                old = sorted(p.relative_to(self.run_dir / "checkpoint/step-00000006") for p in (self.run_dir / "checkpoint/step-00000006").rglob("*"))
                self.assertEqual(sorted(p.relative_to(aside[0]) for p in aside[0].rglob("*")), old)

    def test_what_another_rank_can_read_is_not_passed_over(self):
        self.saved()
        _, err = self.train(nproc=2, training__steps=12, checkpoint__on_read_error="fallback", bad="step-00000006/model/shard-00000.h5", rank=0, expect=3)
        self.assertIn("a second reader could read the same place", err)
        self.assertEqual(harness.published_steps(self.run_dir), [2, 4, 6])

    def test_plan_says_what_a_start_would_do(self):
        self.saved()
        with unittest.mock.patch.dict(os.environ, {"LD_PRELOAD": str(self.shim), "TITAN_BAD_FILE": "step-00000006/manifest.json"}):
            args = [harness.TRAIN, "plan", str(CONFIG), *harness.flags({"training.dataset_path": self.data, "job.dump_folder": self.run_dir, "training.steps": 12})]
            stop = subprocess.run(args, capture_output=True, text=True)
            self.assertEqual(stop.returncode, 3, stop.stderr)
            fallback = subprocess.run([*args, "--checkpoint.on_read_error=fallback"], capture_output=True, text=True)
            self.assertEqual(fallback.returncode, 0, fallback.stderr)
            self.assertIn("step 6 cannot be read and is skipped", fallback.stdout + fallback.stderr)

    def test_a_running_job_holds_nothing_open_of_the_step_that_it_was_resumed_from(self):
        self.train(training__steps=100000, debug__stop_at_step=6, expect=75)
        process = harness.start(CONFIG, 2, {"training.dataset_path": self.data, "job.dump_folder": self.run_dir, "training.steps": 100000, "checkpoint.interval": 1000})
        try:
            deadline = time.time() + 120
            metrics = self.run_dir / "metrics.jsonl"
            while time.time() < deadline and process.poll() is None and '"step":9,' not in metrics.read_text():
                time.sleep(0.05)
            ranks = harness.children(process.pid)
            self.assertEqual(len(ranks), 2)
            for rank in ranks:
                names = [os.readlink(fd) for fd in pathlib.Path(f"/proc/{rank}/fd").iterdir() if fd.is_symlink()]
                self.assertGreater(len(names), 3)
                self.assertEqual([name for name in names if "/step-" in name], [])
        finally:
            process.send_signal(signal.SIGTERM)
            _, log = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 75, log)


if __name__ == "__main__":
    unittest.main()
