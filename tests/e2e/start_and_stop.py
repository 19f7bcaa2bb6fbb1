#!/usr/bin/env python3
"""Signals, debug.stop_at_step, --resume in all its forms, drift, steps, retention, and an epoch's end inside a step."""

import json
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


class StartAndStop(unittest.TestCase):
    def setUp(self):
        self.work = harness.scratch("start")
        self.data = self.work / "text.txt"
        harness.write_text(self.data, 4_000)
        self.run = self.work / "run"

    def tearDown(self):
        shutil.rmtree(self.work, ignore_errors=True)

    def train(self, nproc=1, expect=0, extra=(), **overrides):
        merged = {"training.dataset_path": self.data, "job.dump_folder": self.run}
        merged.update({key.replace("__", "."): value for key, value in overrides.items()})
        return harness.train(CONFIG, nproc, merged, extra, expect)

    def wait_for_step(self, step, process):
        deadline = time.time() + 120
        while time.time() < deadline:
            path = self.run / "metrics.jsonl"
            if path.exists() and f'"step":{step},' in path.read_text():
                return
            self.assertIsNone(process.poll(), "the run ended early")
            time.sleep(0.05)
        self.fail(f"step {step} did not come")

    def test_a_stop_signal_saves_at_the_step_boundary_and_exits_75(self):
        for number in (signal.SIGTERM, signal.SIGUSR1, signal.SIGINT):
            with self.subTest(signal=number):
                shutil.rmtree(self.run, ignore_errors=True)
                process = harness.start(CONFIG, 2, {"training.dataset_path": self.data, "job.dump_folder": self.run, "training.steps": 100000})
                self.wait_for_step(3, process)
                process.send_signal(number)
                _, log = process.communicate(timeout=60)
                self.assertEqual(process.returncode, 75, log)
                steps = harness.published_steps(self.run)
                self.assertEqual(steps[-1], max(harness.step_lines(self.run)), "the last step that ran is the one that was saved")
                self.assertEqual(harness.ckpt("verify", self.run)["ok"], True)

    def test_stopped_and_resumed_equals_uninterrupted(self):
        self.train(training__steps=12)
        lines, digest = harness.step_lines(self.run), harness.checkpoint_id(self.run, 12)
        shutil.rmtree(self.run)
        self.train(2, 75, debug__stop_at_step=5, training__steps=12)
        self.assertEqual(harness.published_steps(self.run), [5])
        self.train(1, 0, debug__stop_at_step=5, training__steps=12)
        self.train(3, 75, debug__stop_at_step=9, training__steps=12)
        self.train(4, parallelism__pipeline_parallel_degree=2, training__steps=12)
        self.assertEqual(harness.step_lines(self.run), lines)
        self.assertEqual(harness.checkpoint_id(self.run, 12), digest)
        document = harness.ckpt("inspect", f"{self.run}@latest")
        attempts = json.loads((self.run / "checkpoint" / "step-00000012" / "train_state.json").read_text())["attempts"]
        self.assertEqual([(a["dp"], a["pp"], a["first_step"], a["last_step"]) for a in attempts], [(2, 1, 1, 5), (3, 1, 6, 9), (2, 2, 10, 12)])
        self.assertEqual(document["step"], 12)

    def test_compression_switched_on_and_off_between_resumes_changes_nothing(self):
        self.train(training__steps=12)
        lines, digest = harness.step_lines(self.run), harness.checkpoint_id(self.run, 12)
        shutil.rmtree(self.run)
        for nproc, stop, compression in ((2, 4, "zstd"), (1, 7, "none"), (3, 10, "zstd"), (4, None, "zstd")):
            layout = {"parallelism__pipeline_parallel_degree": 2} if nproc == 4 else {}
            until = {"expect": 75, "debug__stop_at_step": stop} if stop else {}
            self.train(nproc, training__steps=12, checkpoint__compression=compression, **layout, **until)
            manifest = json.loads((self.run / "checkpoint" / f"step-{stop or 12:08d}" / "manifest.json").read_text())
            self.assertEqual(manifest["requires"], ["zstd"] if compression == "zstd" else [])
        self.assertEqual(harness.step_lines(self.run), lines)
        self.assertEqual(harness.checkpoint_id(self.run, 12), digest)
        self.assertEqual(harness.ckpt("verify", self.run)["ok"], True)

    def test_an_epoch_ends_inside_a_step(self):
        # 4,000 bytes are 249 samples of 16 tokens; 32 steps of 8 samples pass the end of the first epoch.
        self.train(training__steps=34)
        begun = [e for e in harness.events(self.run) if e["event"] == "epoch"]
        self.assertEqual([(e["step"], e["epoch"]) for e in begun], [(32, 1)])
        position = json.loads((self.run / "checkpoint" / "step-00000034" / "dataloader.json").read_text())
        self.assertEqual((position["samples"], position["samples_per_epoch"]), (34 * 8, 249))

    def test_a_finished_run_says_complete_and_steps_behind_are_refused(self):
        self.train(training__steps=4)
        _, log = self.train(training__steps=4)
        self.assertIn("complete", log)
        _, log = self.train(expect=13, training__steps=3)
        self.assertIn("beyond training.steps = 3", log)
        self.assertEqual(harness.published_steps(self.run), [4])

    def test_more_steps_go_on_when_total_steps_pins_the_curve(self):
        pinned = {"lr_scheduler__total_steps": 10}
        self.train(training__steps=10, **pinned)
        whole = harness.checkpoint_id(self.run, 10)
        shutil.rmtree(self.run)
        self.train(training__steps=6, **pinned)
        self.train(2, training__steps=10, **pinned)
        self.assertEqual(harness.checkpoint_id(self.run, 10), whole)

    def test_drift_is_refused_with_names_values_and_ways_out(self):
        self.train(training__steps=4)
        before = sorted(p.name for p in (self.run / "checkpoint").iterdir())
        _, log = self.train(expect=13, training__steps=8, optimizer__lr=0.5, training__seq_len=8)
        for text in ("optimizer.lr", "0.5", "training.seq_len", "hint:"):
            self.assertIn(text, log)
        self.assertEqual(sorted(p.name for p in (self.run / "checkpoint").iterdir()), before)

    def test_another_seed_is_drift_and_none_keeps_the_drawn_one(self):
        self.train(expect=75, debug__stop_at_step=3)
        _, log = self.train(expect=13, debug__seed=4)
        self.assertRegex(log, r"debug\.seed +3 +4 +cannot change within a run")
        shutil.rmtree(self.run)
        self.train(expect=75, debug__stop_at_step=3, debug__seed="none")
        _, log = self.train(debug__seed="none")
        self.assertIn("resume at step 3", log)
        self.assertRegex((self.run / "config.toml").read_text(), r"seed = \d+")
        self.assertIn('rope_scaling = "none"', (self.run / "config.toml").read_text())

    def test_a_damaged_json_member_leads_to_the_next_older_step(self):
        for member in ("dataloader.json", "lr_scheduler.json", "train_state.json"):
            with self.subTest(member=member):
                shutil.rmtree(self.run, ignore_errors=True)
                self.train(expect=75, debug__stop_at_step=6, checkpoint__interval=3)
                path = self.run / "checkpoint" / "step-00000006" / member
                content = bytearray(path.read_bytes())
                content[len(content) // 2] ^= 1
                path.write_bytes(content)
                steps = {step["step"]: step for step in harness.ckpt("ls", self.run)["steps"]}
                self.assertFalse(steps[6]["resume"])
                self.assertTrue(steps[3]["resume"])
                _, log = self.train()
                self.assertIn("resume at step 3", log)

    def test_stopping_without_checkpoints_is_not_exit_75(self):
        process = harness.start(CONFIG, 1, {"training.dataset_path": self.data, "job.dump_folder": self.run, "training.steps": 100000, "checkpoint.enable": False})
        self.wait_for_step(3, process)
        process.send_signal(signal.SIGTERM)
        _, log = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 143, log)
        self.train(expect=2, checkpoint__enable=False, debug__stop_at_step=2)

    def test_resume_never_path_and_load_step(self):
        self.train(training__steps=6, checkpoint__interval=2)
        self.assertEqual(harness.published_steps(self.run), [2, 4, 6])
        _, log = self.train(expect=2, extra=["--resume", "never"], training__steps=8)
        self.assertIn("--resume never", log)
        self.train(expect=10, extra=["--resume", str(self.work / "nowhere")], training__steps=8)
        _, log = self.train(expect=13, extra=["--resume", f"{self.run}@4"], training__steps=8)
        self.assertIn("older than step 6", log)
        self.train(expect=10, checkpoint__load_step=5, training__steps=8)
        self.assertEqual(harness.published_steps(self.run), [2, 4, 6])

    def test_a_damaged_newest_step_is_skipped_with_a_reason_and_replaced(self):
        self.train(training__steps=8, lr_scheduler__total_steps=8, checkpoint__interval=4)
        lines, digest = harness.step_lines(self.run), harness.checkpoint_id(self.run, 8)
        shutil.rmtree(self.run)
        self.train(expect=75, debug__stop_at_step=6, training__steps=8, lr_scheduler__total_steps=8, checkpoint__interval=4)
        shard = self.run / "checkpoint" / "step-00000006" / "model" / "shard-00000.h5"
        shard.chmod(0o644)
        content = bytearray(shard.read_bytes())
        content[len(content) // 2] ^= 1
        shard.write_bytes(content)
        self.assertEqual(harness.ckpt("verify", self.run, expect=1)["ok"], False)
        _, log = self.train(2, training__steps=8, lr_scheduler__total_steps=8, checkpoint__interval=4)
        self.assertIn("trying the next older", log)
        self.assertIn("resume at step 4", log)
        self.assertEqual(harness.step_lines(self.run), lines)
        self.assertEqual(harness.checkpoint_id(self.run, 8), digest)

    def test_only_the_newest_steps_are_kept(self):
        self.train(training__steps=10, checkpoint__interval=2, checkpoint__keep_latest_k=2)
        self.assertEqual(harness.published_steps(self.run), [8, 10])
        self.assertEqual(harness.leftovers(self.run), [])

    def test_torchrun_variables_are_honoured(self):
        import os

        port = harness.free_port()
        ranks = []
        for rank in range(2):
            env = {**os.environ, "RANK": str(rank), "WORLD_SIZE": "2", "LOCAL_RANK": str(rank), "LOCAL_WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
            words = [harness.TRAIN, "run", str(CONFIG), *harness.flags({"training.dataset_path": self.data, "job.dump_folder": self.run, "training.steps": 3})]
            ranks.append(subprocess.Popen(words, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))
        for rank in ranks:
            _, log = rank.communicate(timeout=120)
            self.assertEqual(rank.returncode, 0, log)
        self.assertEqual(harness.published_steps(self.run), [3])


if __name__ == "__main__":
    unittest.main(verbosity=2)
