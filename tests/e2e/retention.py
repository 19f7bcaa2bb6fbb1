#!/usr/bin/env python3
"""Damaged, pinned and linked steps under retention: no step that a resume needs is ever lost."""

import contextlib
import os
import pathlib
import shutil
import subprocess
import sys
import unittest
import unittest.mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import harness  # noqa: E402

CONFIG = harness.ROOT / "tests" / "e2e" / "small.toml"
DAMAGE = str(harness.ROOT / "tests" / "cli" / "tools" / "damage")


class Retention(unittest.TestCase):
    def setUp(self):
        self.work = harness.scratch("retention")
        self.data = self.work / "text.txt"
        harness.write_text(self.data, 4_000)
        self.run = self.work / "run"
        self.steps = self.run / "checkpoint"

    def tearDown(self):
        shutil.rmtree(self.work, ignore_errors=True)

    def train(self, stop=0, expect=None, nproc=1, **overrides):
        merged = {"training.dataset_path": self.data, "job.dump_folder": self.run, "training.steps": 12, "checkpoint.interval": 2}
        if stop:
            merged["debug.stop_at_step"] = stop
        merged.update({key.replace("__", "."): value for key, value in overrides.items()})
        code = expect if expect is not None else (75 if stop else 0)
        return harness.train(CONFIG, nproc, merged, (), code)[1]

    @contextlib.contextmanager
    def preloaded(self, source, **environment):
        shim = self.work / (source + ".so")
        subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", shim, harness.ROOT / "tests" / "shims" / source, "-ldl"], check=True)
        with unittest.mock.patch.dict(os.environ, {"LD_PRELOAD": str(shim), **environment}):
            yield

    def step(self, number):
        return self.steps / f"step-{number:08d}"

    def damage_leaf(self, number, tensor="norm.weight"):
        subprocess.run([DAMAGE, "leaf", str(self.step(number)), tensor, "0"], check=True)

    def damaged(self):
        return sorted(p.name.rsplit("-", 1)[0] for p in self.steps.glob(".damaged-*"))

    def test_a_damaged_newer_step_fills_no_place(self):
        self.train(stop=2, checkpoint__keep_latest_k=1)
        (self.step(2) / ".keep").touch()
        self.train(stop=10, checkpoint__keep_latest_k=1)
        self.damage_leaf(10)
        log = self.train(stop=9, checkpoint__keep_latest_k=1)
        self.assertIn("step 10 is damaged", log)
        self.assertEqual(harness.published_steps(self.run), [2, 9, 10], log)
        self.assertTrue(harness.ckpt("verify", f"{self.run}@9")["ok"])
        log = self.train(checkpoint__keep_latest_k=1)
        self.assertEqual(harness.published_steps(self.run), [2, 12], log)
        self.assertEqual(self.damaged(), [".damaged-step-00000010"], "said, and kept until somebody frees it")
        self.assertIn(".damaged-step-00000010", log)

    def test_two_damaged_steps_do_not_cost_the_third(self):
        self.train(stop=3, checkpoint__interval=1, checkpoint__keep_latest_k=10)
        self.damage_leaf(2)
        self.damage_leaf(3)
        self.train(stop=2, checkpoint__interval=1, checkpoint__keep_latest_k=1)
        self.assertEqual(harness.published_steps(self.run), [2, 3])
        self.assertTrue(harness.ckpt("verify", f"{self.run}@2")["ok"])
        self.train(stop=4, checkpoint__interval=1, checkpoint__keep_latest_k=1)
        self.assertEqual(harness.published_steps(self.run), [4])

    def test_milestones_and_the_best_by_validation_loss_stay(self):
        log = self.work / "published"
        rules = {"checkpoint__keep_latest_k": 1, "checkpoint__keep_every": 4, "checkpoint__keep_best": 1, "validation__enable": True, "validation__freq": 2,
                 "validation__holdout": 0.2, "optimizer__lr": 0.05, "checkpoint__on_publish": f"cd $TITAN_CHECKPOINT && test -f manifest.json && echo $TITAN_STEP >> {log}"}
        self.train(stop=6, **rules)
        self.train(nproc=2, **rules)
        losses = {}
        for event in harness.events(self.run):
            if event["event"] == "validation":
                losses[event["step"]] = event["validation_loss"]
        self.assertEqual(sorted(losses), [2, 4, 6, 8, 10, 12])
        # The last pass runs when step 12 is saved, before it is validated.
        best = min((loss, -step) for step, loss in losses.items() if step < 12)[1]
        self.assertEqual(harness.published_steps(self.run), sorted({4, 8, 12, -best}))
        published = log.read_text().split()  # the newest each time that the command before was over
        self.assertEqual(published, sorted(set(published), key=int))
        self.assertTrue({"6", "12"} <= set(published) <= {"2", "4", "6", "8", "10", "12"}, published)
        # A folder names no command that a later start would run.
        self.assertNotIn("on_publish =", (self.run / "config.toml").read_text())
        self.assertNotIn("checkpoint.on_publish\"", (self.step(12) / "manifest.json").read_text())

    def test_a_command_on_publish_that_fails_is_a_warning(self):
        log = self.train(stop=2, checkpoint__on_publish="echo why; exit 3")
        self.assertRegex(log, r" W r0 checkpoint\.on_publish for step 2 failed: exit code 3 \(its output: .*on_publish\.log\)")
        self.assertEqual((self.run / "on_publish.log").read_text(), "why\n")

    def test_the_pin_of_a_damaged_step_moves_along(self):
        self.train(stop=4)
        (self.step(4) / ".keep").touch()
        self.damage_leaf(4, "norm.weight.exp_avg")
        log = self.train(stop=4)
        self.assertIn("lies in", log)
        moved = list(self.steps.glob(".damaged-step-00000004-*"))
        self.assertEqual(len(moved), 1)
        self.assertTrue((moved[0] / ".keep").exists())
        self.assertFalse((self.step(4) / ".keep").exists())
        self.assertTrue(harness.ckpt("verify", f"{self.run}@4")["ok"])
        report = harness.ckpt("prune", self.run, "--damaged")
        self.assertEqual([(d["goes"], d["why"]) for d in report["damaged"]], [(False, "pinned by .keep")])
        (moved[0] / ".keep").unlink()
        harness.ckpt("prune", self.run, "--damaged")
        self.assertEqual(self.damaged(), [])

    def test_a_pinned_step_whose_structure_is_damaged_does_not_stop_the_run(self):
        self.train(stop=4)
        (self.step(4) / ".keep").touch()
        shard = next((self.step(4) / "model").glob("shard-*.h5"))
        shard.chmod(0o644)
        with shard.open("ab") as file:
            file.write(b"x")
        self.train(stop=4)
        self.assertTrue(harness.ckpt("verify", f"{self.run}@4")["ok"])
        self.assertTrue((next(self.steps.glob(".damaged-step-00000004-*")) / ".keep").exists())

    def test_a_valid_step_in_the_way_is_refused_at_the_start(self):
        self.train(stop=4)
        weights = self.work / "weights"
        harness.ckpt("strip", f"{self.run}@4", weights)
        shutil.rmtree(self.step(4))
        shutil.copytree(weights, self.step(4))
        (self.step(4) / ".keep").touch()
        before = sorted(str(p) for p in self.steps.rglob("*"))
        log = self.train(expect=13)
        self.assertIn("pinned by .keep, is valid", log)
        self.assertIn("hint:", log)
        self.assertEqual(sorted(str(p) for p in self.steps.rglob("*")), before)
        # A run that does not save that number goes on, and is warned.
        self.assertIn("a save of step 4 moves it aside", self.train(stop=5, checkpoint__interval=5))

    def test_steps_that_are_links_are_followed_and_only_the_names_go(self):
        self.train(stop=4, checkpoint__keep_latest_k=0)
        store = self.work / "store"
        store.mkdir()
        for number in (2, 4):
            shutil.move(self.step(number), store / self.step(number).name)
            self.step(number).symlink_to(store / self.step(number).name)
        log = self.train(stop=6, checkpoint__keep_latest_k=1)
        self.assertIn("resume at step 4", log)
        self.assertIn("is a link to", log)
        self.assertEqual(sorted(p.name for p in self.steps.glob("step-*")), ["step-00000006"])
        for number in (2, 4):
            self.assertTrue(harness.ckpt("verify", store / f"step-{number:08d}")["ok"])

    def test_a_link_that_leads_nowhere_stops_the_start(self):
        self.train(stop=4)
        self.step(6).symlink_to(self.work / "not-mounted" / "step-00000006")
        log = self.train(expect=3)
        self.assertIn("is a link that leads nowhere", log)
        self.assertIn("mount the store", log)

    def test_a_complete_run_frees_what_its_last_deletion_left(self):
        self.train()
        trash = self.steps / ".trash-step-00000002-0123456789ab"
        trash.mkdir()
        (trash / "x").touch()
        self.assertIn("complete", self.train())
        self.assertEqual(harness.leftovers(self.run), [])
        (self.steps / "latest.tmp").touch()  # a run that was killed before its last rename
        self.assertIn("complete", self.train())
        self.assertEqual(harness.leftovers(self.run), [])

    def test_damage_that_a_second_reader_does_not_find_costs_no_step(self):
        self.train(stop=4)
        before = sorted(str(p) for p in self.steps.rglob("*"))
        with self.preloaded("wrong_memory.c", TITAN_WRONG_BELOW="step-00000004/model/shard-"):
            for nproc in (1, 2):
                log = self.train(expect=3, nproc=nproc)
                self.assertIn("rank 0 met damage in", log)
                self.assertIn("a second reader does not find", log)
        self.assertEqual(sorted(str(p) for p in self.steps.rglob("*") if "run.lock" not in str(p)), [p for p in before if "run.lock" not in p])
        self.assertIn("resume at step 4", self.train())

    def test_a_save_waits_for_a_deletion_where_space_is_short(self):
        wide = {"model__dim": 128, "model__ffn_dim": 256, "checkpoint__keep_latest_k": 1, "checkpoint__async_mode": "async"}
        self.train(stop=2, **wide)
        each = sum(path.stat().st_size for path in self.step(2).rglob("*") if path.is_file())
        shutil.rmtree(self.run)
        self.run.mkdir()
        # Two steps have room there, and no third.
        mount = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={each * 26 // 10}", "tmpfs", self.run], capture_output=True, text=True)
        if mount.returncode != 0:
            self.skipTest(f"mount -t tmpfs: {mount.stderr.strip()}")
        try:
            with self.preloaded("slow_unlink.c"):
                log = self.train(training__steps=8, **wide)
            self.assertEqual(harness.published_steps(self.run), [8], log)
            self.assertLess(log.index("retention removed step-00000002"), log.index("save writing step=6"), log)
        finally:
            subprocess.run(["umount", self.run], check=True)

    def test_a_slow_deletion_does_not_hold_up_the_ranks(self):
        with self.preloaded("slow_unlink.c"):
            log = self.train(nproc=2, training__steps=8, checkpoint__keep_latest_k=2, comm__train_timeout_seconds=4)
        self.assertEqual(harness.published_steps(self.run), [6, 8], log)


if __name__ == "__main__":
    unittest.main(verbosity=2)
