#!/usr/bin/env python3
"""titan-train as a user without the necessary rights: one error for every path, naming the owner and the missing right. If no
other user can be made, or he cannot reach the program, a SKIP line says why."""

import os
import pathlib
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import harness  # noqa: E402

CONFIG = harness.ROOT / "tests" / "e2e" / "small.toml"
AS_NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
NOBODY = r"user nobody \(uid 65534\)"


class Rights(unittest.TestCase):
    def setUp(self):
        self.work = harness.scratch("rights")
        self.work.chmod(0o755)
        self.config = self.work / "small.toml"
        shutil.copy(CONFIG, self.config)
        self.data = self.work / "text.txt"
        harness.write_text(self.data, 4_000)
        self.run = self.work / "run"

    def tearDown(self):
        shutil.rmtree(self.work, ignore_errors=True)

    def refused(self, code, *texts, run=None, verb="run", **overrides):
        merged = {"training.dataset_path": self.data, "job.dump_folder": run or self.run, "training.steps": 4, "lr_scheduler.total_steps": 10}
        merged.update({key.replace("__", "."): value for key, value in overrides.items()})
        words = [*AS_NOBODY, harness.TRAIN, verb, str(self.config), "--nproc", "2", *harness.flags(merged)]
        done = subprocess.run(words, capture_output=True, text=True, timeout=120, cwd="/")
        self.assertEqual(done.returncode, code, done.stderr)
        for text in texts:
            self.assertRegex(done.stderr, text)
        self.assertEqual(done.stderr.count("error: "), 1, done.stderr)
        self.assertNotIn("no log file", done.stderr, "one error, and no warning about what follows from it")

    def test_01_a_run_folder_that_he_may_not_make(self):
        theirs = self.work / "theirs"
        theirs.mkdir()
        self.refused(3, f"error: the run folder {theirs}/new cannot be made\n",
                     rf"hint: the folder {theirs} belongs to root \(uid 0\), mode rwxr-xr-x: {NOBODY} may not make or remove anything in it", run=theirs / "new")
        self.assertEqual(list(theirs.iterdir()), [])

    def test_02_another_users_run(self):
        harness.train(CONFIG, 1, {"training.dataset_path": self.data, "job.dump_folder": self.run, "training.steps": 2, "lr_scheduler.total_steps": 10})
        self.refused(3, f"error: the folder {self.run} cannot be locked\n",
                     rf"hint: the file {self.run}/run.lock belongs to root \(uid 0\), mode rw-r--r--: {NOBODY} may not write it")
        self.run.chmod(0o700)
        self.refused(3, f"error: the run's checkpoints in {self.run}/checkpoint cannot be listed\n",
                     rf"hint: the folder {self.run} belongs to root \(uid 0\), mode rwx------: {NOBODY} may not pass through it")

    def test_03_data_and_a_configuration_that_he_may_not_read(self):
        self.data.chmod(0o600)
        self.refused(2, "error: cannot read data file", rf"hint: the file {self.data} belongs to root \(uid 0\), mode rw-------: {NOBODY} may not read it")
        self.config.chmod(0o600)
        self.refused(2, "error: cannot read the configuration file", rf"hint: the file {self.config} belongs to root \(uid 0\), mode rw-------: {NOBODY} may not read it")

    def test_04_a_run_folder_behind_a_link_that_leads_nowhere(self):
        dead, loop = self.work / "dead", self.work / "loop"
        dead.symlink_to("/mnt/nothere")
        loop.symlink_to("loop")
        for verb in ("plan", "run"):
            for run in (dead, dead / "r1"):
                self.refused(3, f"hint: {dead} is a link to /mnt/nothere, which does not exist: is it mounted", run=run, verb=verb)
            self.refused(3, f"hint: {loop} is a link that leads to itself", run=loop, verb=verb)

    def test_05_plan_names_the_folder_as_it_was_typed(self):
        (self.work / "theirs").mkdir()
        (self.work / "linked").symlink_to("theirs")
        for verb in ("plan", "run"):
            self.refused(3, f"hint: the folder {self.work}/linked belongs to root", run=self.work / "linked" / "new", verb=verb)

    def test_06_a_data_folder_that_he_may_not_enter(self):
        locked = self.work / "lk"
        locked.mkdir(mode=0o000)
        theirs = f"hint: the folder {locked} belongs to root \\(uid 0\\), mode ---------: {NOBODY} may not "
        for verb in ("plan", "run"):
            self.refused(2, "cannot list folder", theirs + "list it", training__dataset_path=locked, verb=verb)
            self.refused(2, "cannot look at", theirs + "pass through it", training__dataset_path=locked / "text.txt", verb=verb)

    def test_07_a_colleague_of_the_group_goes_on_where_the_umask_lets_him(self):
        settings = {"training.dataset_path": self.data, "job.dump_folder": self.run, "training.steps": 2, "lr_scheduler.total_steps": 10,
                    "checkpoint.on_publish": "true", "metrics.enable_tensorboard": True, "profiling.enable_profiling": True, "profiling.profile_freq": 1}
        before = os.umask(0o002)
        try:
            harness.train(CONFIG, 2, settings)
            modes = {path: path.stat().st_mode & 0o777 for path in [self.run, *self.run.rglob("*")]}
            members = [path for path in modes if path.is_file() and path.is_relative_to(self.run / "checkpoint") and path.name not in ("latest", "run.lock")]
            self.assertEqual({path: oct(mode) for path, mode in modes.items() if mode != (0o775 if path.is_dir() else 0o444 if path in members else 0o664)}, {})
            words = ["setpriv", "--reuid=65534", "--regid=0", "--clear-groups", harness.TRAIN, "run", str(self.config), "--nproc", "2"]
            done = subprocess.run([*words, *harness.flags({**settings, "training.steps": 4})], capture_output=True, text=True, timeout=120, cwd="/")
            self.assertEqual(done.returncode, 0, done.stderr)
        finally:
            os.umask(before)


if __name__ == "__main__":
    try:
        probe = subprocess.run([*AS_NOBODY, harness.TRAIN, "--version"], capture_output=True, text=True, cwd="/")
        reason = probe.stderr.strip() if probe.returncode != 0 else ""
    except OSError as error:
        reason = str(error)
    if reason:
        print(f"SKIP: {' '.join(AS_NOBODY)} {harness.TRAIN} --version: {reason}")
        sys.exit(0)
    unittest.main(verbosity=2)
