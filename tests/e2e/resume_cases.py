#!/usr/bin/env python3
"""Known resume failures of other trainers (R1 to R20), and what happens here: one named test each.

R17 (a slow save) is test_R17 here and Checkpointer's own process group with checkpoint.io_timeout_seconds; R19 (a non-finite
loss) is test_R19 here; non_finite.py tests the policies skip and rollback.
"""

import json
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
RESCALE = "--lr_scheduler.on_change=rescale"

# A store that is slow once: preloaded, it delays the first sync of rank 1 within a step folder.
SLOW_SYNC = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
static int slept;
int fdatasync(int fd) {
  char link[64], path[4096] = "";
  const char* rank = getenv("RANK");
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  if (!slept && rank && !strcmp(rank, "1") && readlink(link, path, sizeof path - 1) > 0 && strstr(path, "/step-")) {
    slept = 1;
    sleep(11);
  }
  return (int)syscall(SYS_fdatasync, fd);
}
"""


class Runs(unittest.TestCase):
    """A scratch folder with a dataset, and short ways to train in it."""

    def setUp(self):
        self.work = harness.scratch("resume")
        self.data = self.work / "text.txt"
        harness.write_text(self.data, 4_000)
        self.run_dir = self.work / "run"

    def tearDown(self):
        shutil.rmtree(self.work, ignore_errors=True)

    def train(self, *extra, run=None, nproc=1, expect=0, **overrides):
        merged = {"training.dataset_path": self.data, "job.dump_folder": run or self.run_dir}
        merged.update({key.replace("__", "."): value for key, value in overrides.items()})
        return harness.train(CONFIG, nproc, merged, extra, expect)

    def ckpt_json(self, step, name, run=None):
        return json.loads((pathlib.Path(run or self.run_dir) / "checkpoint" / f"step-{step:08d}" / f"{name}.json").read_text())

    def files(self, folder=None):
        """Every file below `folder` but the lock and logs, with its bytes: to see that nothing was written."""
        folder = pathlib.Path(folder or self.run_dir)
        return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file() and p.name != "run.lock" and "logs" not in p.parts}

    def epochs(self, run=None):
        return [(event["step"], event["epoch"]) for event in harness.events(run or self.run_dir) if event["event"] == "epoch"]

    def lrs(self, run=None):
        return {step: line[3] for step, line in harness.step_lines(run or self.run_dir).items()}


class ResumeCases(Runs):
    def test_R1_nothing_changed_is_bitwise_equal_in_all_components(self):
        self.train(training__steps=8)
        lines, digest = harness.step_lines(self.run_dir), harness.checkpoint_id(self.run_dir, 8)
        other = self.work / "stopped"
        self.train(run=other, expect=75, training__steps=8, debug__stop_at_step=4)
        self.train(run=other, training__steps=8)
        self.assertEqual(harness.step_lines(other), lines)
        self.assertEqual(harness.checkpoint_id(other, 8), digest)

    def test_R2_a_finished_run_goes_on_from_its_last_save(self):
        self.train(training__steps=4, lr_scheduler__total_steps=8)
        self.train(training__steps=8, lr_scheduler__total_steps=8)
        long = self.work / "long"
        self.train(run=long, training__steps=8, lr_scheduler__total_steps=8)
        self.assertEqual(harness.checkpoint_id(self.run_dir, 8), harness.checkpoint_id(long, 8))

    def test_R3_raised_steps_are_refused_with_five_previews_or_follow_the_policy(self):
        self.train(training__steps=6, expect=75, debug__stop_at_step=4)
        _, err = self.train(training__steps=12, expect=13)
        for policy in ("keep", "rescale", "extend", "rewarm", "config"):
            self.assertIn(f"\n    {policy} ", err)
        _, err = self.train("--allow", "training.steps", training__steps=12, expect=2)
        self.assertIn("lr_scheduler.on_change", err)
        self.assertIn("\n    rewarm ", err)
        self.train("--allow", "training.steps", RESCALE, training__steps=12)
        shown = {entry["step"]: entry["lr"] for entry in harness.ckpt("lr", "show", f"{self.run_dir}@12")["curve"]}
        for step, lr in self.lrs().items():
            self.assertEqual(float(lr), shown[step], f"step {step}: logged and stored")

    def test_R4_a_curve_shorter_than_the_run_is_clamped_with_a_warning(self):
        _, err = self.train(training__steps=6, lr_scheduler__total_steps=4, lr_scheduler__min_lr_factor=0.1)
        self.assertIn("train at the floor of the curve", err)
        self.assertEqual(self.lrs()[5], self.lrs()[6])
        self.assertAlmostEqual(float(self.lrs()[6]), 8e-5, places=12)

    def test_R5_steps_at_the_checkpoint_are_complete_and_below_it_an_error(self):
        self.train(training__steps=4)
        _, err = self.train(training__steps=4)
        self.assertIn("complete", err)
        _, err = self.train(training__steps=3, expect=13)
        self.assertIn("beyond training.steps = 3", err)
        # Where nothing is left to train, neither ranks without a micro-batch nor a dataset that was cleared away matter.
        self.train(nproc=5, training__steps=4)
        self.data.unlink()
        _, err = self.train(training__steps=4)
        self.assertIn("complete", err)
        flags = harness.flags({"training.dataset_path": self.data, "job.dump_folder": self.run_dir, "training.steps": 4})
        plan = subprocess.run([harness.TRAIN, "plan", str(CONFIG), "--nproc", "5", "--json", *flags], capture_output=True, text=True, timeout=300)
        self.assertEqual(plan.returncode, 0, plan.stderr)
        self.assertIn("cannot be compared", plan.stdout)

    def test_R6_a_changed_peak_is_drift_and_then_what_the_policy_says(self):
        self.train(training__steps=8, expect=75, debug__stop_at_step=4)
        _, err = self.train(training__steps=8, optimizer__lr=1e-3, expect=13)
        self.assertIn("--allow optimizer.lr", err)
        self.train("--allow=optimizer.lr", "--lr_scheduler.on_change=config", training__steps=8, optimizer__lr=1e-3)
        fresh = self.work / "fresh"
        self.train(run=fresh, training__steps=8, optimizer__lr=1e-3)
        self.assertEqual({n: self.lrs()[n] for n in range(5, 9)}, {n: self.lrs(fresh)[n] for n in range(5, 9)})

    def test_R7_optimizer_settings_are_reported_and_allowed_one_by_one(self):
        self.train(training__steps=8, expect=75, debug__stop_at_step=4)
        changes = {"optimizer__weight_decay": 0.3, "optimizer__beta2": 0.999}
        _, err = self.train(training__steps=8, expect=13, **changes)
        self.assertRegex(err, r"optimizer.weight_decay  0.1 +0.3 ")
        self.assertIn("v-hat changes by a factor of", " ".join(err.split()))
        self.train("--allow", "optimizer.weight_decay", training__steps=8, expect=13, **changes)
        _, err = self.train("--allow", "optimizer.weight_decay,optimizer.beta2", training__steps=8, **changes)
        self.assertIn("changed: optimizer.beta2", err)
        self.assertEqual(self.ckpt_json(8, "train_state")["attempts"][-1]["changed"], ["optimizer.beta2: 0.95 -> 0.999", "optimizer.weight_decay: 0.1 -> 0.3"])

    def test_R8_another_layout_gives_the_same_id(self):
        self.train(training__steps=6)
        other = self.work / "layouts"
        self.train(run=other, nproc=4, training__steps=6, expect=75, debug__stop_at_step=3, parallelism__pipeline_parallel_degree=2)
        self.train(run=other, nproc=3, training__steps=6)
        self.assertEqual(harness.checkpoint_id(other, 6), harness.checkpoint_id(self.run_dir, 6))

    def test_R9_another_data_parallel_degree_keeps_the_sample_position(self):
        self.train(nproc=4, training__steps=6, expect=75, debug__stop_at_step=3)
        self.assertEqual(self.ckpt_json(3, "dataloader")["samples"], 24)
        self.train(nproc=2, training__steps=6)
        self.assertEqual(self.ckpt_json(6, "dataloader")["samples"], 48)
        self.assertEqual(self.ckpt_json(6, "train_state")["tokens"], 48 * 16)

    def test_R10_batch_length_and_data_are_classed(self):
        self.train(training__steps=8, expect=75, debug__stop_at_step=4)
        other_data = self.work / "other.txt"
        harness.write_text(other_data, 3_000, seed=2)
        for key, value, allow in (("training__global_batch_size", 16, "training.global_batch_size"), ("training__seq_len", 8, "training.seq_len"),
                                  ("training__dataset_path", other_data, "training.dataset")):
            with self.subTest(key=key):
                run = self.work / key
                shutil.copytree(self.run_dir, run)
                _, err = self.train(run=run, training__steps=8, expect=13, **{key: value})
                self.assertIn(f"--allow {allow}", err)
                self.train("--allow", allow, run=run, training__steps=8, **{key: value})

    def test_R11_another_model_is_refused_by_its_dimensions(self):
        self.train(training__steps=4, expect=75, debug__stop_at_step=2)
        _, err = self.train(training__steps=4, expect=13, model__n_layers=3)
        self.assertRegex(err, r"model\.n_layers +2 +3 +cannot change within a run")
        self.assertIn("--init-from", err)
        _, err = self.train("--allow", "model.n_layers", training__steps=4, expect=2, model__n_layers=3)
        self.assertIn("can never change within a run", err)

    def test_R12_a_run_folder_with_nothing_valid_is_an_error_and_init_from_counts(self):
        self.train(training__steps=4)
        empty = self.work / "empty"
        (empty / "checkpoint").mkdir(parents=True)
        _, err = self.train("--init-from", f"{self.run_dir}@4", run=empty, training__steps=2)
        self.assertIn("a new run from the weights", err)
        manifest = self.run_dir / "checkpoint" / "step-00000004" / "manifest.json"
        manifest.write_bytes(manifest.read_bytes()[:-10])
        _, err = self.train(training__steps=6, expect=12)
        self.assertIn("can be resumed", err)

    def test_R13_data_that_runs_out_begins_again_and_every_step_is_trained_and_saved(self):
        self.train(training__steps=34)  # 249 samples, 8 per step: the first epoch ends in step 32
        self.assertEqual(self.epochs(), [(32, 1)])
        self.assertEqual(harness.published_steps(self.run_dir), [34])
        # Every epoch is named: those that one step spans, and epoch 0 where it begins again.
        short = self.work / "short.txt"
        harness.write_text(short, 16 * 3 + 1)  # 3 samples, 8 per step
        run = self.work / "spans"
        self.train(run=run, training__steps=4, training__dataset_path=short, expect=75, debug__stop_at_step=2)
        self.assertEqual(self.epochs(run), [(1, 1), (1, 2), (2, 3), (2, 4), (2, 5)])
        self.train("--checkpoint.exclude_from_loading=dataloader", run=run, training__steps=4, training__dataset_path=short)
        self.assertEqual(self.epochs(run)[5:], [(3, 0), (3, 1), (3, 2), (4, 3), (4, 4), (4, 5)])

    def test_R14_resumed_three_times_with_three_changes(self):
        common = {"lr_scheduler__total_steps": 20}
        self.train(training__steps=20, expect=75, debug__stop_at_step=4, **common)
        self.train("--allow", "training.global_batch_size", nproc=2, training__steps=20, expect=75, debug__stop_at_step=8, training__global_batch_size=16, **common)
        more = {"training__global_batch_size": 16, "optimizer__weight_decay": 0.0}
        self.train("--allow", "optimizer.weight_decay", nproc=2, training__steps=20, expect=75, debug__stop_at_step=12, parallelism__pipeline_parallel_degree=2, **more, **common)
        self.train("--allow", "training.steps,lr_scheduler.total_steps", "--lr_scheduler.on_change=extend", training__steps=24, expect=75, debug__stop_at_step=16,
                   lr_scheduler__total_steps=24, **more)
        self.train(training__steps=24, lr_scheduler__total_steps=24, **more)
        attempts = harness.ckpt("inspect", f"{self.run_dir}@24")["train_state"]["attempts"]
        self.assertEqual([(a["first_step"], a["last_step"], a["dp"], a["pp"], a["policy"]) for a in attempts],
                         [(1, 4, 1, 1, ""), (5, 8, 2, 1, ""), (9, 12, 1, 2, ""), (13, 16, 1, 1, "extend"), (17, 24, 1, 1, "")])
        self.assertEqual([a["changed"] for a in attempts], [[], ["training.global_batch_size: 8 -> 16"], ["optimizer.weight_decay: 0.1 -> 0.0"],
                                                             ["lr_scheduler.total_steps: 20 -> 24"], []])
        self.assertTrue(all(a["version"] for a in attempts))
        self.assertEqual(sorted(harness.step_lines(self.run_dir)), list(range(1, 25)))

    def test_R15_a_vocabulary_that_no_degree_divides(self):
        self.train(training__steps=6, model__vocab_size=257)
        other = self.work / "odd"
        self.train(run=other, nproc=3, training__steps=6, model__vocab_size=257, expect=75, debug__stop_at_step=3)
        self.train(run=other, nproc=4, training__steps=6, model__vocab_size=257)
        self.assertEqual(harness.checkpoint_id(other, 6), harness.checkpoint_id(self.run_dir, 6))

    def test_R16_a_stop_at_and_beside_an_epochs_end(self):
        data = self.work / "short.txt"
        harness.write_text(data, 16 * 32 + 1)  # 32 samples: 4 steps of 8
        self.train(training__steps=10, training__dataset_path=data)
        for stop in (3, 4, 5):
            with self.subTest(stop=stop):
                run = self.work / f"stop{stop}"
                self.train(run=run, training__steps=10, training__dataset_path=data, expect=75, debug__stop_at_step=stop)
                self.train(run=run, nproc=2, training__steps=10, training__dataset_path=data)
                self.assertEqual(harness.checkpoint_id(run, 10), harness.checkpoint_id(self.run_dir, 10))

    def test_R17_a_save_has_its_own_deadline(self):
        # One rank's first sync within a step folder takes longer than a training collective is given, while its other threads live on.
        source, slow = self.work / "slow.c", self.work / "slow.so"
        source.write_text(SLOW_SYNC)
        subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", slow, source], check=True)
        with unittest.mock.patch.dict(os.environ, {"LD_PRELOAD": str(slow)}):
            began = time.time()
            self.train(nproc=2, training__steps=2, comm__train_timeout_seconds=5, checkpoint__io_timeout_seconds=600)
            self.assertGreater(time.time() - began, 10, "nothing was slow")
            self.assertEqual(harness.published_steps(self.run_dir), [2])
            # That deadline is checkpoint.io_timeout_seconds.
            other = self.work / "other"
            _, err = self.train(run=other, nproc=2, training__steps=2, comm__train_timeout_seconds=600, checkpoint__io_timeout_seconds=5, expect=3)
            self.assertIn("within 5 s", err)
        self.assertEqual(harness.published_steps(other), [])

    def test_R18_sigterm_saves_at_the_step_boundary(self):
        process = harness.start(CONFIG, 2, {"training.dataset_path": self.data, "job.dump_folder": self.run_dir, "training.steps": 100000})
        deadline = time.time() + 120
        metrics = self.run_dir / "metrics.jsonl"
        while time.time() < deadline and not (metrics.exists() and '"step":3,' in metrics.read_text()):
            time.sleep(0.05)
        process.send_signal(signal.SIGTERM)
        _, log = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 75, log)
        self.assertEqual(harness.published_steps(self.run_dir)[-1], max(harness.step_lines(self.run_dir)))

    def test_R19_a_loss_that_is_not_finite_stops_before_anything_is_updated_or_saved(self):
        self.train(training__steps=20, expect=75, debug__stop_at_step=2)
        before = harness.checkpoint_id(self.run_dir, 2)
        self.train("--allow", "optimizer.lr", "--lr_scheduler.on_change=config", training__steps=20, expect=3, optimizer__lr=1e6, training__max_norm=1.0)
        self.assertEqual(harness.published_steps(self.run_dir)[0], 2)
        self.assertEqual(harness.checkpoint_id(self.run_dir, 2), before)

    def test_wall_time_goes_on_where_the_attempt_before_ended(self):
        self.train(training__steps=200, expect=75, debug__stop_at_step=60)
        self.train(training__steps=200, expect=75, debug__stop_at_step=61)
        before, after = (self.ckpt_json(step, "train_state")["wall_time_s"] for step in (60, 61))
        self.assertGreater(before, 0)
        self.assertGreater(after, before)

    def test_R20_context_parallelism_is_refused_by_name(self):
        _, err = self.train(expect=2, parallelism__context_parallel_degree=2)
        self.assertIn("parallelism.context_parallel_degree", err)


if __name__ == "__main__":
    unittest.main(verbosity=2)
