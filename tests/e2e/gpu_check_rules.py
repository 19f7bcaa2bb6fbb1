"""What scripts/gpu-check does when a check goes wrong in ways that none of its own does here."""
import argparse
import contextlib
import importlib.machinery
import importlib.util
import io
import json
import pathlib
import shutil
import time
import unittest

import harness

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
        self.machine = self.module.Machine(argparse.Namespace(device="cpu"), self.work)

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

    def verdicts(self, *checks):
        """(exit code, {number: row}) of checks in this order."""
        out = self.work / "out.json"
        with contextlib.redirect_stdout(io.StringIO()):
            code = self.module.carry_out(argparse.Namespace(out=out), checks, self.machine)
        document = json.loads(out.read_text())
        self.assertEqual(document["failed"], sum(row["verdict"] == "failed" for row in document["checks"]))
        return code, {row["check"]: row for row in document["checks"]}

    def test_whatever_a_check_raises_the_others_run_and_the_table_is_written(self):
        def no_next(_):
            return next(iter(()))

        def not_here(_):
            raise self.module.Skip("no such thing here")

        check = self.module.Check
        code, rows = self.verdicts(check(1, "stops", no_next, 0), check(2, "asserts", lambda m: 1 / 0, 0), check(3, "skips", not_here, 0), check(4, "passes", lambda m: {"n": 1}, 0))
        self.assertEqual(code, 1)
        self.assertEqual([rows[n]["verdict"] for n in (1, 2, 3, 4)], ["failed", "failed", "skipped", "passed"])
        self.assertIn("StopIteration", rows[1]["reason"])
        self.assertIn("ZeroDivisionError", rows[2]["reason"])

    def test_a_run_that_hangs_ends_at_the_limit_and_leaves_no_process(self):
        def for_ever(m):
            m.train("long", self.module.TINY, 1_000_000, ranks=2)

        began = time.time()
        code, rows = self.verdicts(self.module.Check(1, "hangs", for_ever, 0, seconds=4), self.module.Check(2, "goes on", lambda m: {}, 0))
        self.assertLess(time.time() - began, 60)
        self.assertEqual((code, rows[1]["verdict"], rows[2]["verdict"]), (1, "failed", "passed"))
        self.assertIn("not done after 4 s", rows[1]["reason"])
        deadline = time.time() + 10  # ranks die with their launcher, but not in the same instant
        while self.trains() and time.time() < deadline:
            time.sleep(0.1)
        self.assertEqual(self.trains(), [])

    def test_one_gpu_is_done_in_half_an_hour(self):
        self.assertLessEqual(sum(check.seconds for check in self.module.CHECKS if check.gpus <= 1), 30 * 60)


if __name__ == "__main__":
    unittest.main()
