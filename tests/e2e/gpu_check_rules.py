"""How scripts/gpu-check reacts to checks that fail in ways that its own checks do not."""
import argparse
import contextlib
import importlib.machinery
import importlib.util
import io
import json
import pathlib
import shutil
import sys
import time
import unittest

import harness

sys.path.insert(0, str(harness.ROOT / "tests" / "gpu"))
from checks import CHECKS  # noqa: E402
from machine import TINY, Check, Skip  # noqa: E402

PATH = harness.ROOT / "scripts" / "gpu-check"


def load():
    loader = importlib.machinery.SourceFileLoader("gpu_check", str(PATH))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


class Rules(unittest.TestCase):
    def setUp(self):
        self.module = load()
        self.work = harness.scratch("gpu-check-rules")
        self.out = self.work / "out.json"
        self.machine = self.module.Machine(argparse.Namespace(device="cpu", out=self.out), self.work)

    def tearDown(self):
        shutil.rmtree(self.work, ignore_errors=True)

    def trains(self):
        """Processes that train in this folder."""
        found = []
        for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
            with contextlib.suppress(OSError):
                if str(self.work).encode() in path.read_bytes():
                    found.append(path.parent.name)
        return found

    def call(self, *checks, budget=10_000):
        """One call, as the command makes it. Returns the numbers of the checks that are left."""
        report = self.module.Report(self.out, "cpu")
        with contextlib.redirect_stdout(io.StringIO()):
            return [check.number for check in self.module.call(report.to_do(checks), self.machine, report, budget)]

    def rows(self):
        document = json.loads(self.out.read_text())
        self.assertEqual(document["failed"], sum(row["verdict"] == "failed" for row in document["checks"]))
        return {row["check"]: row for row in document["checks"]}

    def verdicts(self, *checks):
        """{number: row} of checks in this order."""
        self.assertEqual(self.call(*checks), [])
        return self.rows()

    def test_whatever_a_check_raises_the_others_run_and_the_table_is_written(self):
        def no_next(_):
            return next(iter(()))

        def not_here(_):
            raise Skip("no such thing here")

        rows = self.verdicts(Check(1, "stops", no_next, 0), Check(2, "asserts", lambda m: 1 / 0, 0), Check(3, "skips", not_here, 0), Check(4, "passes", lambda m: {"n": 1}, 0))
        self.assertEqual([rows[n]["verdict"] for n in (1, 2, 3, 4)], ["failed", "failed", "skipped", "passed"])
        self.assertIn("StopIteration", rows[1]["reason"])
        self.assertIn("ZeroDivisionError", rows[2]["reason"])

    def test_a_run_that_hangs_ends_at_the_limit_and_leaves_no_process(self):
        def for_ever(m):
            m.train("long", TINY, 1_000_000, ranks=2)

        began = time.time()
        rows = self.verdicts(Check(1, "hangs", for_ever, 0, seconds=4), Check(2, "goes on", lambda m: {}, 0))
        self.assertLess(time.time() - began, 60)
        self.assertEqual((rows[1]["verdict"], rows[2]["verdict"]), ("failed", "passed"))
        self.assertIn("not done after 4 s", rows[1]["reason"])
        deadline = time.time() + 60  # ranks die with their launcher, but not in the same instant
        while self.trains() and time.time() < deadline:
            time.sleep(0.1)
        self.assertEqual(self.trains(), [])

    def test_a_call_that_is_cut_off_keeps_what_it_did_and_the_next_one_goes_on(self):
        tried = []

        class Cut(BaseException):
            """What no check catches, as a kill."""

        def cut(m):
            tried.append("cut")
            if len(tried) == 1:
                raise Cut
            return {}

        def note(m):
            tried.append("noted")
            return {"calibration": {"compute_share": 0.5}}

        checks = Check(1, "before", lambda m: {"n": 1}, 0), Check(2, "cut off", cut, 0), Check(3, "behind", note, 0)
        with self.assertRaises(Cut):
            self.call(*checks)
        rows = self.rows()
        self.assertEqual([rows[n]["verdict"] for n in (1, 2)], ["passed", "begun"])
        self.assertEqual(self.call(*checks), [])
        self.assertEqual(tried, ["cut", "noted", "cut"])
        self.assertEqual([row["verdict"] for row in self.rows().values()], ["passed"] * 3)
        self.assertEqual(json.loads(self.out.read_text())["calibration"], {"compute_share": 0.5})
        with self.assertRaisesRegex(ValueError, "no report of this script on this device"):
            self.module.Report(self.out, "cuda")

    def test_what_is_beyond_the_budget_is_left_and_what_is_shorter_comes_first(self):
        done = lambda m: {}  # noqa: E731
        checks = Check(1, "fits", done, 0, 50), Check(2, "too long", done, 0, 200), Check(3, "fits too", done, 0, 40)
        self.assertEqual(self.call(*checks, budget=100), [2])
        self.assertEqual(sorted(self.rows()), [1, 3])
        self.assertEqual(self.call(*checks, budget=210), [])

    def test_what_needs_more_gpus_is_skipped_and_not_left(self):
        self.machine.rehearsal, self.machine.gpus = False, 1
        self.assertEqual(self.call(Check(1, "of two", lambda m: {}, 2, 200, 0), budget=100), [])
        self.assertEqual(self.rows()[1]["verdict"], "skipped")
        self.assertEqual([check.number for check in CHECKS if check.seconds > 570], [], "a call of ten minutes can begin each")

    def test_one_gpu_is_done_in_three_calls_even_at_all_limits(self):
        left = [check.seconds for check in CHECKS if check.gpus <= 1]
        for _ in range(3):
            rest, later = 570, []
            for seconds in left:
                if seconds <= rest:
                    rest -= seconds
                else:
                    later.append(seconds)
            left = later
        self.assertEqual(left, [])

    def test_a_check_without_room_on_the_disk_is_skipped_alone(self):
        self.machine.rehearsal, self.machine.gpus = False, 1
        checks = Check(1, "much", lambda m: {}, 0, gib=1 << 40), Check(2, "little", lambda m: {}, 0, gib=0)
        rows = self.verdicts(*checks)
        self.assertEqual([rows[n]["verdict"] for n in (1, 2)], ["skipped", "passed"])
        self.assertIn("GiB free", rows[1]["reason"])


if __name__ == "__main__":
    unittest.main()
