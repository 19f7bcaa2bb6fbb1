#!/usr/bin/env python3
"""A complete run is read completely before it is reported as complete: a damaged step is trained again, to the same id."""

import pathlib
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import harness  # noqa: E402

CONFIG = harness.ROOT / "tests" / "e2e" / "small.toml"
DAMAGE = harness.ROOT / "tests" / "cli" / "tools" / "damage"


class CompleteRuns(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.work = harness.scratch("complete")
        cls.data = cls.work / "text.txt"
        harness.write_text(cls.data, 4_000)
        cls.run_folder = cls.work / "run"
        harness.train(CONFIG, 1, cls.settings(cls.run_folder))
        cls.id = harness.checkpoint_id(cls.run_folder, 4)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.work, ignore_errors=True)

    @classmethod
    def settings(cls, run, **more):
        return {"training.dataset_path": cls.data, "job.dump_folder": run, "training.steps": 4, "lr_scheduler.total_steps": 8, "checkpoint.interval": 2, **more}

    def hurt(self, name):
        run = self.work / name
        shutil.copytree(self.run_folder, run)
        subprocess.run([sys.executable, str(DAMAGE), "leaf", str(run / "checkpoint" / "step-00000004"), "norm.weight.exp_avg", "0"], check=True)
        return run

    def check_trained_again(self, run, log):
        self.assertRegex(log, r"step 4 is damaged, trying the next older: .*norm\.weight\.exp_avg")
        self.assertIn("resume at step 2", log)
        self.assertEqual(harness.checkpoint_id(run, 4), self.id)
        aside = [p.name for p in (run / "checkpoint").iterdir() if p.name.startswith(".damaged-step-00000004-")]
        self.assertEqual(len(aside), 1, "the damaged step lies aside, marked")
        self.assertRegex(log, r"the damaged step 4 lies in .*\.damaged-step-00000004-")
        self.assertTrue(harness.ckpt("verify", run)["ok"])

    def test_a_whole_one_says_complete(self):
        _, log = harness.train(CONFIG, 2, self.settings(self.run_folder))
        self.assertIn("complete: ", log)
        self.assertEqual(harness.published_steps(self.run_folder), [2, 4])

    def test_a_flipped_bit_in_the_last_step_is_found_and_trained_again(self):
        run = self.hurt("bit")
        _, log = harness.train(CONFIG, 2, self.settings(run))
        self.check_trained_again(run, log)

    def test_so_do_ranks_of_another_launcher(self):
        run = self.hurt("torchrun")
        environment = {"PATH": "/usr/bin:/bin", "RANK": "0", "WORLD_SIZE": "1", "LOCAL_RANK": "0", "LOCAL_WORLD_SIZE": "1", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(harness.free_port())}
        done = subprocess.run(harness.command(CONFIG, 1, self.settings(run)), capture_output=True, text=True, timeout=120, env=environment)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.check_trained_again(run, done.stderr)

    def test_the_only_step_cannot_be_fallen_back_from(self):
        run = self.hurt("only")
        shutil.rmtree(run / "checkpoint" / "step-00000002")
        _, log = harness.train(CONFIG, 1, self.settings(run), expect=12)
        self.assertRegex(log, r"error: no step in .* can be resumed")
        self.assertNotIn("complete: ", log)

    def test_what_no_resume_reads_changes_nothing(self):
        run = self.work / "derived"
        shutil.copytree(self.run_folder, run)
        model = run / "checkpoint" / "step-00000004" / "model" / "model.h5"
        subprocess.run([sys.executable, str(DAMAGE), "byte", str(model), "-3"], check=True)
        _, log = harness.train(CONFIG, 1, self.settings(run))
        self.assertIn("complete: ", log)

    def test_a_run_that_saves_nothing_makes_no_folder_for_it(self):
        run = self.work / "nothing"
        harness.train(CONFIG, 2, self.settings(run, **{"checkpoint.enable": False}))
        self.assertTrue((run / "metrics.jsonl").exists())
        self.assertFalse((run / "checkpoint").exists())


if __name__ == "__main__":
    unittest.main(verbosity=2)
