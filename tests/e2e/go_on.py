#!/usr/bin/env python3
"""Resuming with other settings: LR policies, permissions, transfer, the data position, and bad input that must leave nothing behind."""

import array
import json
import math
import os
import pathlib
import shutil
import struct
import subprocess
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import harness  # noqa: E402
from resume_cases import CONFIG, Runs  # noqa: E402

DUMP = str(harness.BIN / "titan-dump-samples")
POLICIES = ("keep", "rescale", "extend", "rewarm", "config")


class Schedule(Runs):
    def test_a_pinned_curve_and_more_steps_on_another_layout_equal_the_run_that_had_them(self):
        self.train(training__steps=100, lr_scheduler__total_steps=200)
        self.train(nproc=4, training__steps=200, lr_scheduler__total_steps=200, parallelism__pipeline_parallel_degree=2)
        whole = self.work / "whole"
        self.train(run=whole, nproc=2, training__steps=200, lr_scheduler__total_steps=200)
        self.assertEqual(harness.checkpoint_id(self.run_dir, 200), harness.checkpoint_id(whole, 200))
        self.assertEqual(harness.step_lines(self.run_dir), harness.step_lines(whole))

    def test_every_policy_logs_what_lr_show_and_the_preview_say(self):
        self.train(training__steps=20, lr_scheduler__decay_type="cosine")
        for policy in POLICIES:
            with self.subTest(policy=policy):
                run = self.work / policy
                shutil.copytree(self.run_dir, run)
                words = ("--allow", "training.steps", f"--lr_scheduler.on_change={policy}")
                plan = subprocess.run([harness.TRAIN, "plan", str(CONFIG), "--json", *words, "--nproc", "2", *harness.flags(
                    {"training.dataset_path": self.data, "job.dump_folder": run, "training.steps": 40, "lr_scheduler.decay_type": "cosine"})],
                    capture_output=True, text=True, timeout=300)
                self.assertEqual(plan.returncode, 0, plan.stderr)
                promised = {entry["step"]: entry["lr"] for entry in json.loads(plan.stdout)["curve"]}
                self.train(*words, run=run, nproc=2, training__steps=40, lr_scheduler__decay_type="cosine")
                stored = {entry["step"]: entry["lr"] for entry in harness.ckpt("lr", "show", f"{run}@40")["curve"]}
                logged = {step: float(lr) for step, lr in self.lrs(run).items()}
                self.assertEqual(sorted(logged), list(range(1, 41)))
                for step, lr in logged.items():
                    self.assertEqual(lr, stored[step], f"step {step}: logged, stored")
                    if step > 20:
                        self.assertEqual(lr, promised[step], f"step {step}: logged, promised")

    def test_one_command_line_killed_three_times_gives_the_lr_column_of_one_start(self):
        self.train(training__steps=20, lr_scheduler__decay_type="cosine")
        words = ("--allow", "training.steps", "--lr_scheduler.on_change=rewarm")
        settings = {"training__steps": 60, "lr_scheduler__decay_type": "cosine", "checkpoint__interval": 10}
        whole, broken = self.work / "whole", self.work / "broken"
        shutil.copytree(self.run_dir, whole)
        shutil.copytree(self.run_dir, broken)
        self.train(*words, run=whole, **settings)
        # Killed before its first save, right after it, and later.
        for until in (23, 31, 44):
            merged = {"training.dataset_path": self.data, "job.dump_folder": broken, **{k.replace("__", "."): v for k, v in settings.items()}}
            process = harness.start(CONFIG, 2, merged, words)
            deadline = time.time() + 300
            while time.time() < deadline and f'"step":{until},' not in (broken / "metrics.jsonl").read_text():
                self.assertIsNone(process.poll(), "ended before it was killed")
                time.sleep(0.01)
            harness.kill_together([*harness.children(process.pid), process.pid])
            process.communicate()
        self.train(*words, run=broken, nproc=2, **settings)
        self.assertEqual(self.lrs(broken), self.lrs(whole))
        self.assertEqual(harness.step_lines(broken), harness.step_lines(whole))
        self.assertEqual(harness.checkpoint_id(broken, 60), harness.checkpoint_id(whole, 60))

    def test_excluded_components_start_anew_once(self):
        self.train(training__steps=20, expect=75, debug__stop_at_step=6)
        words = ("--checkpoint.exclude_from_loading=optimizer,dataloader",)
        _, err = self.train(*words, training__steps=20, expect=75, debug__stop_at_step=10)
        self.assertIn("moments of zero", err)
        self.assertEqual(self.ckpt_json(10, "dataloader")["samples"], 4 * 8)
        _, err = self.train(*words, training__steps=20)
        self.assertNotIn("moments of zero", err)
        self.assertEqual(self.ckpt_json(20, "dataloader")["samples"], 14 * 8)


    def test_the_first_update_of_a_new_optimizer_is_that_of_step_1(self):
        # At t = 1 Adam moves each weight by the learning rate, whatever its gradient; at t = 7 from zero moments by less than half of it.
        settings = {"optimizer__weight_decay": 0.0, "training__max_norm": 0.0, "training__steps": 20, "lr_scheduler__warmup_steps": 0}
        self.train(expect=75, debug__stop_at_step=6, **settings)
        self.train("--checkpoint.exclude_from_loading=optimizer", expect=75, debug__stop_at_step=7, **settings)
        lr = float(self.lrs()[7])
        moved = {t["name"]: t["max_abs"] for t in harness.ckpt("diff", f"{self.run_dir}@6", f"{self.run_dir}@7", expect=1)["differences"]
                 if t["kind"] == "tensor" and not t["name"].endswith(("exp_avg", "exp_avg_sq"))}
        self.assertGreater(len(moved), 5)
        for name, step in moved.items():
            self.assertAlmostEqual(step / lr, 1, delta=0.01, msg=name)

    def test_a_run_that_starts_from_one_that_left_out_the_same_leaves_it_out_again(self):
        first, second, third = (self.work / name for name in ("first", "second", "third"))
        words = ("--checkpoint.exclude_from_loading=optimizer,dataloader",)
        self.train(run=first, expect=75, debug__stop_at_step=4)
        self.train("--resume", f"{first}@4", *words, run=second, expect=75, debug__stop_at_step=6)
        _, err = self.train("--resume", f"{second}@6", *words, run=third, expect=75, debug__stop_at_step=8)
        self.assertIn("moments of zero", err)
        manifest = json.loads((third / "checkpoint" / "step-00000008" / "manifest.json").read_text())
        self.assertEqual({p["optimizer_step"] for p in manifest["parameters"]}, {2})
        self.assertEqual(self.ckpt_json(8, "dataloader", third)["samples"], 2 * 8)
        # A step without moments starts them anew, in a new run and in the run itself.
        stripped = self.work / "stripped"
        harness.ckpt("strip", f"{second}@6", stripped)
        self.train("--resume", stripped, *words, run=self.work / "fourth", expect=75, debug__stop_at_step=8)
        shutil.rmtree(second / "checkpoint" / "step-00000006")
        stripped.rename(second / "checkpoint" / "step-00000006")
        _, err = self.train("--resume", f"{first}@4", *words, run=second, expect=75, debug__stop_at_step=8)
        self.assertIn("moments of zero", err)
        self.assertNotIn("begins again", err)

    def test_a_path_to_start_from_may_go_once_the_run_has_steps(self):
        source = self.work / "source"
        self.train(run=source, expect=75, debug__stop_at_step=4)
        words = ("--resume", f"{source}@4")
        self.train(*words, expect=75, debug__stop_at_step=6)
        shutil.rmtree(source / "checkpoint" / "step-00000004")
        _, err = self.train(*words, expect=75, debug__stop_at_step=8)
        self.assertIn("resume at step 6", err)
        note = "cannot be compared with what the run began from"
        self.assertIn(note, err)
        flags = harness.flags({"training.dataset_path": self.data, "job.dump_folder": self.run_dir})
        plan = subprocess.run([harness.TRAIN, "plan", str(CONFIG), *words, *flags], capture_output=True, text=True, timeout=300)
        self.assertEqual(plan.returncode, 0, plan.stderr)
        self.assertIn(note, plan.stdout)


class LrSet(Runs):
    def test_a_run_with_the_printed_lines_resumes_the_rewritten_schedule_without_a_flag(self):
        self.train(training__steps=20, lr_scheduler__decay_type="cosine")
        source = self.run_dir / "checkpoint" / "step-00000020"
        before = self.files(source)
        for policy in POLICIES:
            with self.subTest(policy=policy):
                run = self.work / policy
                rewritten = run / "checkpoint" / "step-00000020"
                rewritten.parent.mkdir(parents=True)
                shown = subprocess.run([harness.CKPT, "lr", "set", str(source), str(rewritten), "--steps", "40", "--policy", policy], capture_output=True, text=True)
                self.assertEqual(shown.returncode, 0, shown.stderr)
                self.assertIn("steps = 40", shown.stdout)
                promised = {entry["step"]: entry["lr"] for entry in harness.ckpt("lr", "show", rewritten)["curve"]}
                self.train(run=run, nproc=2, training__steps=40, lr_scheduler__decay_type="cosine")
                self.assertEqual({step: float(lr) for step, lr in self.lrs(run).items()}, {step: promised[step] for step in range(21, 41)})
                # The same change by permission gives the same curve.
                other = self.work / f"{policy}-allowed"
                shutil.copytree(self.run_dir, other)
                self.train("--allow", "training.steps", f"--lr_scheduler.on_change={policy}", run=other, training__steps=40, lr_scheduler__decay_type="cosine")
                self.assertEqual(harness.checkpoint_id(other, 40), harness.checkpoint_id(run, 40))
                # Other values are drift again, on top of the rewritten list.
                self.train(run=run, training__steps=50, lr_scheduler__decay_type="cosine", expect=13)
        self.assertEqual(self.files(source), before)


class Transfer(Runs):
    def setUp(self):
        super().setUp()
        self.source = self.work / "source"
        self.train(run=self.source, training__steps=6)

    def test_weights_start_a_new_run_and_the_command_line_can_stay(self):
        words = ("--init-from", f"{self.source}@6")
        _, err = self.train(*words, training__steps=8, optimizer__lr=1e-4, expect=75, debug__stop_at_step=4)
        self.assertIn("weights: 21 loaded, 0 skipped, 0 created", err)
        self.assertIn("a new run from the weights", err)
        _, err = self.train(*words, nproc=2, training__steps=8, optimizer__lr=1e-4)
        self.assertIn("resume at step 4", err)
        self.assertEqual(sorted(harness.step_lines(self.run_dir)), list(range(1, 9)))
        self.assertEqual(self.ckpt_json(8, "train_state")["origin"], harness.checkpoint_id(self.source, 6))

    def test_step_0_of_a_transfer_has_exactly_the_weights(self):
        # A learning rate of 0 for one step leaves them as they are.
        self.train("--init-from", f"{self.source}@6", nproc=4, training__steps=1, optimizer__lr=0.0, parallelism__pipeline_parallel_degree=2)
        ours, theirs = (harness.ckpt("inspect", f"{run}@{step}", "--tensors", "*") for run, step in ((self.run_dir, 1), (self.source, 6)))
        digests = [{t["name"]: t["digest"] for t in d["tensors"] if t["component"] == "model"} for d in (ours, theirs)]
        self.assertEqual(digests[0], digests[1])

    def test_a_run_that_began_elsewhere_is_refused(self):
        self.train(training__steps=4)
        _, err = self.train("--init-from", f"{self.source}@6", training__steps=8, lr_scheduler__total_steps=4, expect=13)
        self.assertIn("did not begin from", err)
        _, err = self.train("--resume", f"{self.source}@6", training__steps=8, expect=13)
        self.assertIn("did not begin from", err)

    def test_resume_path_of_another_run_takes_everything_and_then_goes_on_with_its_own(self):
        pinned = {"lr_scheduler__total_steps": 6}
        words = ("--resume", f"{self.source}@6")
        self.train(*words, training__steps=12, expect=75, debug__stop_at_step=9, **pinned)
        self.train(*words, training__steps=12, **pinned)
        self.train(run=self.source, training__steps=12, **pinned)
        self.assertEqual(harness.checkpoint_id(self.run_dir, 12), harness.checkpoint_id(self.source, 12))
        self.assertEqual(sorted(harness.step_lines(self.run_dir)), list(range(7, 13)))

    def test_resume_never_takes_the_path_to_start_from_and_refuses_a_folder_with_steps(self):
        words = ("--resume", "never", f"--checkpoint.initial_load_path={self.source}@6", "--checkpoint.initial_load_model_only=false")
        _, err = self.train(*words, training__steps=8, lr_scheduler__total_steps=6)
        self.assertIn("resume at step 6", err)
        self.train(*words, training__steps=8, lr_scheduler__total_steps=6, expect=2)

    def test_a_map_renames_skips_and_creates(self):
        rules = self.work / "map.toml"
        rules.write_text('skip = ["output.weight", "layers.1.*"]\ncreate = ["output.weight"]\n')
        words = ("--init-from", f"{self.source}@6", "--init-map", str(rules))
        _, err = self.train(*words, training__steps=2, model__n_layers=1, model__vocab_size=256)
        self.assertIn("weights: 11 loaded, 10 skipped, 1 created", err)
        self.assertIn("created  output.weight [256, 16]", err)

    def test_a_map_that_leaves_a_tensor_without_a_rule_and_another_shape_are_refused_by_name(self):
        rules = self.work / "map.toml"
        rules.write_text('skip = ["output.weight"]\n')
        _, err = self.train("--init-from", f"{self.source}@6", "--init-map", str(rules), training__steps=2, expect=13)
        self.assertIn("output.weight: no weight for this parameter, and no rule creates it", err)
        _, err = self.train("--init-from", f"{self.source}@6", training__steps=2, model__ffn_dim=48, expect=13)
        self.assertIn("model.ffn_dim: 32 in the checkpoint, 48 in the configuration", err)
        _, err = self.train("--init-from", f"{self.source}@6", training__steps=2, model__n_heads=4, expect=13)
        self.assertIn("model.n_heads", err)
        self.assertFalse(self.run_dir.exists(), "nothing was written")


class OpenModel(Runs):
    """A configuration that says nothing of the model: it is the checkpoint's, at the first start and at every later one."""

    MODEL = {"model.dim": 24, "model.n_layers": 3, "model.n_heads": 4, "model.n_kv_heads": 2, "model.head_dim": 10, "model.ffn_dim": 40, "model.vocab_size": 260,
             "model.norm_eps": 1e-6, "model.rope_theta": 20000.0, "model.rope_scaling": "llama3:8:1:4:8"}
    REST = {"training.local_batch_size": 2, "training.global_batch_size": 4, "training.seq_len": 16, "training.steps": 6, "training.mixed_precision_param": "float32",
            "lr_scheduler.warmup_steps": 2, "job.threads_per_rank": 1, "debug.seed": 3}

    def start(self, *words, run=None, verb="run", expect=0, config="", **settings):
        flags = {"job.dump_folder": run or self.run_dir, "training.dataset_path": self.data, **self.REST, **settings}
        done = subprocess.run([harness.TRAIN, verb, str(config), *words, *harness.flags(flags)], capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, expect, done.stderr)
        return done

    def origins(self, *words, **settings):
        keys = json.loads(self.start(*words, "--json", verb="config", **settings).stdout)["keys"]
        return {key["key"]: (key["value"], key["origin"], key.get("source")) for key in keys if key["key"].startswith("model.")}

    def setUp(self):
        super().setUp()
        self.source, self.foreign = self.work / "source", self.work / "hf"
        self.start(run=self.source, **self.MODEL, **{"training.steps": 2})
        harness.ckpt("convert", f"{self.source}@2", self.foreign, "--to", "hf")

    def test_a_folder_of_hugging_face_starts_a_run_that_goes_on_without_it(self):
        words = ("--init-from", str(self.foreign))
        origins = self.origins(*words)
        for key, value in self.MODEL.items():
            self.assertEqual(origins[key], (value, "checkpoint", str(self.foreign)))
        plan = json.loads(self.start(*words, "--json", verb="plan").stdout)
        self.assertEqual((plan["model"]["head_dim"], plan["model"]["from_checkpoint"]), (10, str(self.foreign)))
        done = self.start(*words, "--nproc", "2", **{"debug.stop_at_step": 3}, expect=75)
        self.assertIn(f"rope_scaling from checkpoint {self.foreign}", done.stderr)
        whole = self.work / "whole"
        self.start(*words, run=whole)
        self.foreign.rename(self.work / "gone")
        step = self.run_dir / "checkpoint" / "step-00000003"
        self.assertEqual(self.origins(*words)["model.rope_theta"], (20000.0, "checkpoint", str(step)))
        self.start(*words, "--nproc", "2", **{"parallelism.pipeline_parallel_degree": 2, "debug.stop_at_step": 4}, expect=75)
        self.start()  # and without naming where it began
        self.assertEqual(harness.checkpoint_id(self.run_dir, 6), harness.checkpoint_id(whole, 6))
        stored = dict(self.ckpt_json(6, "train_state")["accepted"])
        self.assertEqual((stored["model.n_kv_heads"], stored["model.rope_scaling"]), ("2", '"llama3:8:1:4:8"'))

    def test_a_gradient_that_overflows_where_the_loss_does_not_stops_before_anything_is_updated_or_saved(self):
        # Logits of 1e37 give a finite loss; RMSNorm of tiny embeddings multiplies their gradient by 1e6.
        path = self.foreign / "model.safetensors"
        raw = bytearray(path.read_bytes())
        begin = 8 + struct.unpack("<Q", raw[:8])[0]
        for name, tensor in json.loads(raw[8:begin]).items():
            if name == "__metadata__":
                continue
            self.assertEqual(tensor["dtype"], "F32")
            first, end = (begin + offset for offset in tensor["data_offsets"])
            floats = array.array("f", bytes(raw[first:end]))
            if "embed_tokens" in name:
                floats = array.array("f", (x * 1e-5 for x in floats))
            elif "lm_head" in name:
                floats = array.array("f", (math.copysign(1e37, x) for x in floats))
            elif "o_proj" in name or "down_proj" in name:
                floats = array.array("f", (0.0 for _ in floats))
            raw[first:end] = floats.tobytes()
        path.write_bytes(raw)
        done = self.start("--init-from", str(self.foreign), "--allow", "model.norm_eps", **{"model.norm_eps": 1e-14}, expect=3)
        self.assertIn("step 1: non-finite gradient norm; nothing was updated or saved", done.stderr)
        self.assertEqual(harness.published_steps(self.run_dir), [])

    def test_weights_that_are_half_cleared_away_do_not_stop_a_run_that_began_from_them(self):
        words, whole = ("--init-from", str(self.foreign)), self.work / "kept"
        shutil.copytree(self.foreign, whole)
        self.start(*words, **{"debug.stop_at_step": 3}, expect=75)
        for stop, name, code in ((4, "config.json", 13), (5, "model.safetensors", 12)):
            shutil.copytree(whole, self.foreign, dirs_exist_ok=True)
            (self.foreign / name).unlink() if code == 13 else os.truncate(self.foreign / name, 1000)
            err = self.start(*words, "--nproc", "2", **{"debug.stop_at_step": stop}, expect=75).stderr
            self.assertIn(f"{self.foreign} cannot be compared with what the run began from", err)
            self.assertIn(f"resume at step {stop - 1}", err)
            self.start(*words, **{"job.dump_folder": self.work / "new"}, expect=code)
        # What opens as other weights is still refused.
        shutil.rmtree(self.foreign)
        harness.ckpt("convert", f"{self.run_dir}@5", self.foreign, "--to", "hf")
        self.assertIn("did not begin from", self.start(*words, expect=13).stderr)

    def test_what_a_configuration_no_longer_says_is_a_warning_where_the_run_began_with_it(self):
        rest = {key: value for key, value in self.MODEL.items() if key != "model.rope_theta"}
        words = {"training.steps": 3, "lr_scheduler.total_steps": 2}
        line = "no longer in the configuration, and still the run's: model.rope_theta = 20000.0 (else 500000.0)"
        self.assertIn(line, self.start(run=self.source, verb="plan", **rest, **words).stdout)
        self.assertIn(line, self.start(run=self.source, **rest, **words).stderr)
        self.assertNotIn("no longer in", self.start(run=self.source, **self.MODEL, **{**words, "training.steps": 4}).stderr)

    def test_a_flavour_scales_rope_and_a_run_that_began_without_goes_on_as_it_began(self):
        small = {key: self.MODEL[key] for key in ("model.dim", "model.n_layers", "model.n_heads", "model.head_dim", "model.ffn_dim", "model.vocab_size")}
        flavour, plain, scaled = {"model.flavor": "debugmodel"}, {"model.rope_scaling": "none"}, {"model.rope_scaling": "llama3:8:1:4:8192"}
        ids = {}
        for name, more in (("unset", {}), ("plain", {**flavour, **plain}), ("flavour", flavour), ("scaled", scaled)):
            run = self.work / name
            log = self.start(run=run, **small, **more).stderr
            self.assertIn("RoPE: theta 500000.0, " + ("not scaled" if name in ("unset", "plain") else "scaled by llama3:8:1:4:8192"), log)
            ids[name] = harness.checkpoint_id(run, 6)
        self.assertEqual((ids["unset"], ids["flavour"]), (ids["plain"], ids["scaled"]))
        self.assertNotEqual(ids["unset"], ids["flavour"])
        # As an older version's run with the flavour left it: nothing scales.
        self.start(**small, **{"debug.stop_at_step": 3}, expect=75)
        self.assertIn("continues with its first value", self.start(verb="plan", **small, **flavour).stdout)
        log = self.start("--nproc", "2", **small, **flavour).stderr
        self.assertIn("continues with its first value", log)
        self.assertIn("rope_scaling from checkpoint", log)
        self.assertEqual(harness.checkpoint_id(self.run_dir, 6), ids["unset"])
        self.assertIn('rope_scaling = "none"', (self.run_dir / "config.toml").read_text())
        # RUN/config.toml runs as it is.
        again = self.work / "again"
        self.assertIn("not scaled", self.start(run=again, **{"debug.stop_at_step": 1}, config=self.run_dir / "config.toml", expect=75).stderr)

    def test_what_is_said_must_agree(self):
        for source, verb in ((self.foreign, "plan"), (f"{self.source}@2", "run")):
            words = ("--init-from", str(source))
            for settings in ({"model.n_kv_heads": 4}, {"model.rope_theta": 10000.0}, {"model.rope_scaling": "none"}, {"model.norm_eps": 1e-5}, {"model.vocab_size": 256},
                             {"model.flavor": "debugmodel"}):
                err = self.start(*words, verb=verb, expect=13, **settings).stderr
                self.assertIn("the configuration's model is not that of", err)
                self.assertIn("model.dim: 24" if "model.flavor" in settings else f"{list(settings)[0]}: ", err)
            self.assertFalse(self.run_dir.exists(), "nothing was written")
        err = self.start(*words, "--allow", "model.rope_theta", **{"model.rope_theta": 10000.0, "training.steps": 1}).stderr
        self.assertIn("model.rope_theta: 20000.0 in the checkpoint, 10000.0 in the configuration", err)
        # Once the run is its own, its own value counts; the word of permission may stay.
        self.start("--allow", "model.rope_theta", "--lr_scheduler.total_steps=1", **{"model.rope_theta": 10000.0, "training.steps": 3})
        self.start(*words, "--allow", "model.rope_theta", "--lr_scheduler.total_steps=1", **{"model.rope_theta": 10000.0})
        err = self.start(*words, "--lr_scheduler.total_steps=1", **{"model.rope_theta": 20000.0, "training.steps": 7}, expect=13).stderr
        self.assertIn("cannot change within a run", err)


class Data(Runs):
    def samples(self, run):
        """{step: samples consumed after it}."""
        lines = [json.loads(line) for line in (pathlib.Path(run) / "metrics.jsonl").read_text().splitlines()]
        return {line["step"]: line["samples"] for line in lines if "event" not in line}

    def losses(self, rows):
        """The mean loss of each of these samples under the weights of step 16."""
        tokens, out = self.work / "rows.u16", self.work / "logits.npy"
        tokens.write_bytes(b"".join(struct.pack(f"<{len(row)}H", *row) for row in rows))
        subprocess.run([harness.TRAIN, "eval", f"{self.run_dir}@16", "--tokens", tokens, "--seq-len", "17", "--logits", out], capture_output=True, check=True, timeout=300)
        logits = array.array("f", out.read_bytes()[-4 * len(rows) * 17 * 1024:])
        result = []
        for i, row in enumerate(rows):
            terms = []
            for t in range(16):
                scores = logits[(i * 17 + t) * 1024:(i * 17 + t + 1) * 1024]
                terms.append(math.log(math.fsum(map(math.exp, scores))) - scores[row[t + 1]])
            result.append(math.fsum(terms) / 16)
        return result

    def test_no_sample_is_lost_or_seen_twice_over_three_stops_three_layouts_a_batch_change_and_an_epochs_end(self):
        # Tokens that say where they stand: sample i begins with token 16 i.
        data, per_epoch = self.work / "places.bin", 60
        data.write_bytes(struct.pack(f"<{per_epoch * 16 + 1}H", *range(per_epoch * 16 + 1)))
        # At a learning rate of 0 the weights stay as they are, so that the loss of a step says which samples the ranks read.
        common = {"training__dataset": "tokens", "training__dataset_path": data, "model__vocab_size": 1024, "lr_scheduler__total_steps": 100, "optimizer__lr": 0.0}
        bigger = {"training__global_batch_size": 12}
        self.train(expect=75, debug__stop_at_step=3, training__steps=16, **common)
        self.train(nproc=4, expect=75, debug__stop_at_step=6, training__steps=16, parallelism__pipeline_parallel_degree=2, **common)
        self.train("--allow", "training.global_batch_size", nproc=3, expect=75, debug__stop_at_step=9, training__steps=16, **common, **bigger)
        self.train(nproc=2, training__steps=16, **common, **bigger)
        after = self.samples(self.run_dir)
        self.assertEqual([after[n] - after.get(n - 1, 0) for n in range(1, 17)], [8] * 6 + [12] * 10)
        self.assertEqual([(e["step"], e["epoch"]) for e in harness.events(self.run_dir) if e["event"] == "epoch"], [(8, 1), (13, 2)])
        out = self.work / "samples.bin"
        flags = harness.flags({k.replace("__", "."): v for k, v in common.items()})
        subprocess.run([DUMP, str(CONFIG), "0", str(after[16]), "train", str(out), *flags], check=True, timeout=300)
        rows = [struct.unpack_from("<17i", out.read_bytes(), 17 * 4 * i) for i in range(after[16])]
        places = [row[0] // 16 for row in rows]
        self.assertTrue(all(list(row) == list(range(row[0], row[0] + 17)) for row in rows))
        for epoch in range(2):
            self.assertEqual(sorted(places[epoch * per_epoch:(epoch + 1) * per_epoch]), list(range(per_epoch)), f"epoch {epoch}")
        self.assertEqual(len(set(places[2 * per_epoch:])), len(places) - 2 * per_epoch)
        # What the ranks read: every step's loss is the mean over its samples, and samples differ in their losses.
        loss_at = self.losses([list(range(16 * place, 16 * place + 17)) for place in range(per_epoch)])
        self.assertGreater(len({round(loss, 4) for loss in loss_at}), per_epoch // 2)
        for step, line in harness.step_lines(self.run_dir).items():
            read = [loss_at[place] for place in places[after.get(step - 1, 0):after[step]]]
            self.assertAlmostEqual(float(line[1]), math.fsum(read) / len(read), delta=2e-6, msg=f"step {step} read other samples")

    def test_another_dataset_begins_a_new_epoch(self):
        other = self.work / "other.txt"
        harness.write_text(other, 3_000, seed=9)
        self.train(expect=75, debug__stop_at_step=4)
        self.train("--allow", "training.dataset", training__dataset_path=other, expect=75, debug__stop_at_step=6)
        position = self.ckpt_json(6, "dataloader")
        self.assertEqual((position["samples"], position["epoch_base"], position["first_epoch"]), (48, 32, 1))
        self.assertEqual([(e["step"], e["epoch"]) for e in harness.events(self.run_dir) if e["event"] == "epoch"], [(5, 1)])
        self.train(training__dataset_path=other)
        self.assertEqual(self.ckpt_json(10, "dataloader")["epoch_base"], 32)


class BadInput(Runs):
    def test_what_is_refused_leaves_everything_as_it_was(self):
        self.train(training__steps=10, expect=75, debug__stop_at_step=6)
        other = self.work / "other.txt"
        harness.write_text(other, 3_000, seed=9)
        before = self.files()
        allow = lambda keys: ("--allow", keys)  # noqa: E731
        cases = [
            ("unknown policy", ("--lr_scheduler.on_change=stretch",), {"training__steps": 20}, 2, "on_change"),
            ("keep with a new peak", (*allow("optimizer.lr"), "--lr_scheduler.on_change=keep"), {"optimizer__lr": 2e-3}, 2, "does not take"),
            ("no policy", allow("training.steps"), {"training__steps": 20}, 2, "on_change"),
            ("steps below the present one", (), {"training__steps": 5}, 13, "beyond training.steps"),
            ("unknown key", allow("training.stesp"), {}, 2, "training.steps"),
            ("never allowed", allow("model.dim"), {}, 2, "never"),
            ("free key", allow("checkpoint.interval"), {}, 2, "needs no permission"),
            ("dataset changed", (), {"training__dataset_path": other}, 13, "training.dataset"),
            ("unknown component", ("--checkpoint.exclude_from_loading=train_state",), {}, 2, "expected a list of"),
            ("a map without weights", ("--init-map", "rules.toml"), {}, 2, "without --init-from"),
            ("a step and a path", ("--resume", f"{self.run_dir}@6", "--checkpoint.load_step=6"), {}, 2, "one checkpoint"),
            ("two starts", ("--init-from", f"{self.run_dir}@6", "--resume", f"{self.run_dir}@6"), {}, 2, "one checkpoint"),
        ]
        for name, words, changes, code, text in cases:
            with self.subTest(case=name):
                _, err = self.train(*words, expect=code, **{"training__steps": 10, **changes})
                self.assertIn(text, err)
                self.assertIn("hint:", err) if name not in ("unknown policy", "unknown component") else None
                self.assertEqual(self.files(), before)


if __name__ == "__main__":
    unittest.main(verbosity=2)
