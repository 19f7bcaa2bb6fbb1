#!/usr/bin/env python3
"""TensorBoard's own reader finds in a run's folder the values of metrics.jsonl and the console, across a kill and a rollback; traces are stored next to it."""

import json
import os
import pathlib
import re
import shutil
import struct
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
import harness  # noqa: E402
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator  # noqa: E402

CONFIG = harness.ROOT / "tests" / "e2e" / "small.toml"
GIB = 2**30
# Tag: what metrics.jsonl has for it.
OF_A_STEP = {
    "loss_metrics/global_avg_loss": lambda line: line["loss"],
    "loss_metrics/global_max_loss": lambda line: line["max_loss"],
    "grad_norm": lambda line: line["grad_norm"],
    "lr": lambda line: line["lr"],
    "n_tokens_seen": lambda line: line["tokens"],
    "throughput(tps)": lambda line: line["tps"],
    "tflops": lambda line: line["tflops"],
    "mfu(%)": lambda line: line["mfu"],
    "memory/max_reserved(GiB)": lambda line: line["memory_bytes"] / GIB,
    "time_metrics/end_to_end(s)": lambda line: line["time_s"],
    "time_metrics/data_loading(s)": lambda line: line["data_s"],
    "time_metrics/data_loading(%)": lambda line: 100 * line["data_s"] / line["time_s"],
    **{f"time_metrics/{part}(s)": lambda line, part=part: line[f"{part}_s"]
       for part in ("forward", "backward", "pipeline", "exchange", "optimizer", "gather", "save")},
}
OF_A_VALIDATION = {
    "validation_metrics/loss": lambda line: line["validation_loss"],
    "validation_metrics/throughput(tps)": lambda line: line["tps"],
    "validation_metrics/memory/max_reserved(GiB)": lambda line: line["memory_bytes"] / GIB,
}
OF_A_SAVE = {f"checkpoint/{key}": lambda line, key=key: line[key]
             for key in ("bytes", "seconds", "snapshot_s", "stall_s", "write_s", "publish_s", "durable_s")}


def as_float(value):
    return struct.unpack("<f", struct.pack("<f", value))[0]


class TensorBoard(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.work = harness.scratch("tensorboard")
        self.data = self.work / "text.txt"
        harness.write_text(self.data, 20_000)
        self.run_dir = self.work / "run"

    def tearDown(self):
        shutil.rmtree(self.work, ignore_errors=True)

    def keys(self, **more):
        return {"training.dataset_path": self.data, "job.dump_folder": self.run_dir, "training.steps": 12, "lr_scheduler.total_steps": 12, "checkpoint.interval": 4, "checkpoint.keep_latest_k": 0,
                "metrics.log_freq": 2, "metrics.enable_tensorboard": True, "metrics.save_tb_folder": "curves", "metrics.peak_tflops": 0.5,
                "validation.enable": True, "validation.freq": 4, "validation.steps": 1, "parallelism.pipeline_parallel_degree": 2,
                **{key.replace("__", "."): value for key, value in more.items()}}

    def lines(self):
        return [json.loads(line) for line in (self.run_dir / "metrics.jsonl").read_text().splitlines()]

    def curves(self):
        reader = EventAccumulator(str(self.run_dir / "curves"), size_guidance={"scalars": 0})
        reader.Reload()
        return {tag: [(point.step, point.value) for point in reader.Scalars(tag)] for tag in reader.Tags()["scalars"]}

    def killed_behind_step_7(self):
        process = harness.start(CONFIG, 2, self.keys(training__steps=1_000_000))
        deadline = time.time() + 60
        path = self.run_dir / "metrics.jsonl"
        # A save beside training may be over some steps later.
        while not path.exists() or '"step":7,' not in path.read_text() or 4 not in harness.published_steps(self.run_dir):
            self.assertIsNone(process.poll(), "the run ended early")
            self.assertLess(time.time(), deadline)
            time.sleep(0.005)
        os.killpg(process.pid, 9)
        for rank in harness.children(process.pid):
            harness.kill(rank)
        process.communicate(timeout=60)

    def test_one_curve_over_a_kill_and_a_fall_back(self):
        self.killed_behind_step_7()
        for step in harness.published_steps(self.run_dir):
            if step > 4:  # it was fast
                shutil.rmtree(self.run_dir / "checkpoint" / f"step-{step:08d}")
        # A machine that went down leaves half a record. (Not half of the last one: that may be the save of step 4.)
        (first,) = (self.run_dir / "curves").iterdir()
        with first.open("r+b") as file:
            half = file.read(20)
            file.seek(0, os.SEEK_END)
            file.write(half)
        out, _ = harness.train(CONFIG, 2, self.keys())
        self.assertEqual(len(list((self.run_dir / "curves").iterdir())), 2)

        curves, lines = self.curves(), self.lines()
        self.assertEqual(set(curves), {*OF_A_STEP, *OF_A_VALIDATION, *OF_A_SAVE})
        steps = {line["step"]: line for line in lines if "event" not in line}
        self.assertEqual(list(steps), list(range(1, 13)))
        begins = [line["step"] + 1 for line in lines if line.get("event") in ("start", "resume")]
        due = [step for step in steps if step % 2 == 0 or step in begins]
        self.assertEqual(begins, [1, 5])
        self.same(curves, OF_A_STEP, {step: steps[step] for step in due})
        self.same(curves, OF_A_VALIDATION, {line["step"]: line for line in lines if line.get("event") == "validation"})
        self.same(curves, OF_A_SAVE, {line["step"]: line for line in lines if line.get("event") == "save_commit"})

        shown = re.findall(r"^step: +(\d+)  loss: (.{8})  grad_norm: (.{7})  memory: (.{5})GiB  tps: ([\d,]+)  tflops: ([\d.,]+)  mfu: ([\d.]+)%$", out, re.M)
        self.assertEqual([int(step) for step, *_ in shown], [step for step in due if step >= 5])
        for step, *figures in shown:
            line = steps[int(step)]
            self.assertEqual(figures, [f"{line['loss']:8.5f}", f"{line['grad_norm']:7.4f}", f"{line['memory_bytes'] / GIB:5.2f}", f"{round(line['tps']):,}",
                                       f"{line['tflops']:,.2f}", f"{line['mfu']:.2f}"])
        checked = re.findall(r"^validate step: +(\d+)  loss: (.{7})  memory: .{5}GiB  tps: ([\d,]+)$", out, re.M)
        of_step = {line["step"]: line for line in lines if line.get("event") == "validation"}
        self.assertEqual(checked, [(str(step), f"{of_step[step]['validation_loss']:7.4f}", f"{round(of_step[step]['tps']):,}") for step in (8, 12)])
        for line in steps.values():
            self.assertGreaterEqual(line["max_loss"], line["loss"])
            self.assertAlmostEqual(line["mfu"], 100 * line["tflops"] / 0.5)

    def same(self, curves, tags, lines):
        for tag, value in tags.items():
            self.assertEqual(curves[tag], [(step, as_float(value(line))) for step, line in lines.items()], tag)

    def test_a_fresh_run_and_a_measured_trace(self):
        out, _ = harness.train(CONFIG, 2, self.keys(profiling__enable_profiling=True, profiling__profile_freq=5, metrics__log_rank=1,
                                                    parallelism__pipeline_parallel_schedule="ZB-H1"))
        self.assertEqual([step for step, _ in self.curves()["grad_norm"]], [1, 2, 4, 6, 8, 10, 12])
        self.assertEqual(len(re.findall(r"^step: ", out, re.M)), 7)
        folder = self.run_dir / "profile_traces"
        self.assertEqual(sorted(path.name for path in folder.iterdir()), ["step-10.json", "step-5.json"])
        trace = json.loads((folder / "step-5.json").read_text())["traceEvents"]
        for rank in (0, 1):
            spans = [event for event in trace if event["ph"] == "X" and event["pid"] == rank]
            names = [span["name"] for span in spans]
            for action in "FIW":  # 4 micro-batches of 2 sequences
                self.assertEqual([name for name in names if re.fullmatch(rf"\d{action}\d", name)], [f"{rank}{action}{i}" for i in range(4)])
            self.assertLess({"wait", "optimizer", "exchange", "gather"}, set(names))
            self.assertEqual([span["ts"] for span in spans], sorted(span["ts"] for span in spans))
            self.assertTrue(all(span["dur"] >= 0 for span in spans))
            # One after the other, but for what lies within. A rank may begin before rank 0.
            ends = spans[0]["ts"]
            for span in (span for span in spans if span["name"] != "wait"):
                self.assertGreaterEqual(span["ts"] + 1e-3, ends, span)
                ends = span["ts"] + span["dur"]
        # No bit depends on any of this, and titan-ckpt does not mind the folders.
        with_all = harness.step_lines(self.run_dir)
        self.assertEqual(sorted(step["step"] for step in harness.ckpt("ls", self.run_dir)["steps"]), [4, 8, 12])
        plain = self.work / "plain"
        harness.train(CONFIG, 1, self.keys(job__dump_folder=plain, metrics__enable_tensorboard=False, parallelism__pipeline_parallel_degree=1))
        self.assertEqual(harness.step_lines(plain), with_all)
        self.assertFalse((plain / "curves").exists() or (plain / "profile_traces").exists())
        self.assertEqual(harness.checkpoint_id(plain, 12), harness.checkpoint_id(self.run_dir, 12))


if __name__ == "__main__":
    unittest.main()
