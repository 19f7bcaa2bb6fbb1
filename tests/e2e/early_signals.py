#!/usr/bin/env python3
"""Stop signals at any moment of a start: a process with a handler prints a line and ends with 130 or 143. No timing: moments are recognised by what a process waits for."""

import os
import pathlib
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
STOPS = {signal.SIGINT: (130, "interrupted"), signal.SIGTERM: (143, "stopped by SIGTERM"), signal.SIGHUP: (143, "stopped by SIGHUP"), signal.SIGUSR1: (143, "stopped by SIGUSR1")}


def catches(pid, number):
    """Whether the process has a handler for the signal; the loader of its libraries runs before any can be set."""
    try:
        caught = re.search(r"^SigCgt:\s*(\w+)", pathlib.Path(f"/proc/{pid}/status").read_text(), re.M).group(1)
    except (FileNotFoundError, ProcessLookupError, AttributeError):
        return False
    return bool(int(caught, 16) >> (number - 1) & 1)


class EarlySignals(unittest.TestCase):
    def setUp(self):
        self.work = harness.scratch("early")
        self.data = self.work / "text.txt"
        harness.write_text(self.data, 4_000)
        self.run = self.work / "run"
        self.keys = {"training.dataset_path": self.data, "job.dump_folder": self.run}

    def tearDown(self):
        shutil.rmtree(self.work, ignore_errors=True)

    def start(self, words, **variables):
        return subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env={**os.environ, **variables}, start_new_session=True)

    def wait_until(self, happens):
        deadline = time.time() + 60
        while not happens():
            self.assertLess(time.time(), deadline)
            time.sleep(0.001)

    def test_01_a_start_that_waits_for_its_configuration(self):
        for verb in ("run", "plan", "config"):
            for number, (code, said) in STOPS.items():
                with self.subTest(verb=verb, signal=number):
                    fifo = self.work / f"{verb}-{number}.toml"
                    os.mkfifo(fifo)
                    process = self.start([harness.TRAIN, verb, str(fifo)])
                    self.hold_open(fifo)
                    process.send_signal(number)
                    _, log = process.communicate(timeout=60)
                    os.close(self.held)
                    self.assertEqual(process.returncode, code, log)
                    self.assertTrue(log.startswith(f"error: {said}\n"), log)
                    if verb == "run":
                        self.assertIn(f"  hint: nothing is lost: no rank had started; the same command continues: {harness.TRAIN} run {fifo}\n", log)

    def hold_open(self, fifo):
        """Until somebody reads it, who then waits for more."""
        def opened():
            try:
                self.held = os.open(fifo, os.O_WRONLY | os.O_NONBLOCK)
                return True
            except OSError:
                return False
        self.wait_until(opened)

    def test_02_before_main(self):
        # titan-train's own main begins in a millisecond; the engine's waits for LibTorch's constructors.
        fifo = self.work / "nobody-writes.toml"  # where main waits, if the signal comes late
        os.mkfifo(fifo)
        _, *words = harness.command(fifo, 2, self.keys)
        for number, (code, said) in STOPS.items():
            with self.subTest(signal=number):
                process = self.start([harness.TRAIN + "-engine", *words])
                self.wait_until(lambda: catches(process.pid, number))
                process.send_signal(number)
                _, log = process.communicate(timeout=60)
                self.assertEqual(process.returncode, code, log)
                self.assertEqual(log.count("error: "), 1, log)
                self.assertTrue(log.startswith(f"error: {said}\n"), log)

    def test_03_a_rank_of_another_launcher(self):
        for number, (code, _) in STOPS.items():
            with self.subTest(signal=number):
                fifo = self.work / f"rank-{number}.toml"
                os.mkfifo(fifo)
                words = [harness.TRAIN, "run", str(fifo), *harness.flags(self.keys)]
                process = self.start(words, RANK="0", WORLD_SIZE="1", MASTER_ADDR="127.0.0.1", MASTER_PORT=str(harness.free_port()), OMP_NUM_THREADS="7")
                self.wait_until(lambda: catches(process.pid, number))
                process.send_signal(number)
                self.hold_open(fifo)
                os.write(self.held, CONFIG.read_bytes())
                os.close(self.held)
                _, log = process.communicate(timeout=60)
                self.assertEqual(process.returncode, code, log)
                self.assertEqual(re.findall("^error: .*", log, re.M), ["error: rank 0 was stopped by a signal before it began"], log)

    def test_04_at_any_moment_of_a_start(self):
        for milliseconds in (0, 10, 50, 100, 150, 200, 250, 300, 350, 400, 500, 600):
            for number in (signal.SIGINT, signal.SIGTERM):
                with self.subTest(milliseconds=milliseconds, signal=number):
                    shutil.rmtree(self.run, ignore_errors=True)
                    process = self.start(harness.command(CONFIG, 2, self.keys))
                    time.sleep(milliseconds / 1000)
                    caught = catches(process.pid, number)
                    process.send_signal(number)
                    _, log = process.communicate(timeout=60)
                    if not caught and process.returncode == -number:
                        continue  # its libraries were being loaded
                    self.assertIn(process.returncode, (0, 75, STOPS[number][0]), log)
                    self.assertRegex(log, r"error: |Ctrl-C: |SIGTERM: |complete|was stopped by a signal|stopped before the first step|, then stopping \(")
                    self.assertLessEqual(log.count("error: "), 1, log)
                    self.assertEqual(harness.half_saved(self.run), [], log)

    def test_05_titan_ckpt(self):
        harness.train(CONFIG, 1, {**self.keys, "debug.stop_at_step": 2}, expect=75)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP) * 10:
            with self.subTest(signal=number):
                process = self.start([harness.CKPT, "strip", f"{self.run}@2", str(self.work / "out")])
                self.wait_until(lambda: catches(process.pid, number) or process.poll() is not None)
                process.send_signal(number)
                _, log = process.communicate(timeout=60)
                if process.returncode == 0:
                    shutil.rmtree(self.work / "out")
                else:
                    self.assertEqual(process.returncode, STOPS[number][0], log)
                    self.assertEqual(log, f"error: {STOPS[number][1]}\n")
                self.assertEqual([path.name for path in self.work.iterdir() if path.name.startswith("out")], [])

    def test_06_a_rank_that_waits_for_another(self):
        for rank in ("0", "1"):
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                with self.subTest(rank=rank, signal=number):
                    shutil.rmtree(self.run, ignore_errors=True)
                    words = [harness.TRAIN, "run", str(CONFIG), *harness.flags(self.keys)]
                    process = self.start(words, RANK=rank, WORLD_SIZE="2", MASTER_ADDR="127.0.0.1", MASTER_PORT=str(harness.free_port()))
                    log_file = self.run / "logs" / f"rank-{rank}.log"
                    self.wait_until(log_file.exists)
                    time.sleep(0.5)  # into the rendezvous; right before it is as good
                    process.send_signal(number)
                    _, log = process.communicate(timeout=60)
                    self.assertEqual(process.returncode, STOPS[number][0], log)
                    self.assertRegex(log, f"error: rank {rank} was stopped by a signal (while it was|before it began)")
                    self.assertNotIn("after the first step", log)


if __name__ == "__main__":
    unittest.main(verbosity=2)
