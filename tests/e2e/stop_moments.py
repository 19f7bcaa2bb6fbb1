#!/usr/bin/env python3
"""SIGTERM at named moments of a run: it ends with 75 (0 if it is complete) within seconds, and its newest step is saved.

A moment is a system call of one rank, which titan-fail-calls.so blocks until the signal was answered; or a line that the run prints.
`--random N --seed S` adds N calls drawn from all that the runs make (the long form: 200; CI runs a few). On a quiet machine `--limit 5` holds."""

import argparse
import dataclasses
import os
import pathlib
import random
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
SHIM = harness.BIN / "titan-fail-calls.so"
ENDS = {"training.steps": 6, "lr_scheduler.total_steps": 10, "checkpoint.interval": 3, "checkpoint.keep_latest_k": 1}
ENDLESS = ENDS | {"training.steps": 1_000_000}
VALIDATES = {"validation.enable": True, "validation.freq": 1, "validation.local_batch_size": 1}
SPOILED = "0:40-999999999:layers.1.attention.wq.weight"  # all steps from 6 on


@dataclasses.dataclass
class Scenario:
    keys: dict
    nproc: int = 1
    resumes: bool = False  # from step 3, beside the trash of a deletion
    spoiled: bool = False
    extra: tuple = ()


SCENARIOS = {
    "new": Scenario(ENDS),
    "saves that are waited for": Scenario(ENDS | {"checkpoint.async_mode": "disabled"}),
    "two ranks": Scenario(ENDS, 2),
    "two stages": Scenario(ENDS | {"parallelism.pipeline_parallel_degree": 2}, 2),
    "resumed": Scenario(ENDS, resumes=True),
    "resumed on two ranks": Scenario(ENDS, 2, resumes=True),
    "weights of others": Scenario(ENDS),  # with --init-from
    "validating": Scenario(ENDLESS | VALIDATES),
    "validating on two ranks": Scenario(ENDLESS | VALIDATES, 2),
    "validating at the end": Scenario(ENDS | VALIDATES | {"training.steps": 1}),
    "skipping": Scenario(ENDLESS | {"training.on_nonfinite": "skip", "training.max_skips": 1_000_000}, spoiled=True),
    "going back": Scenario(ENDLESS | {"training.on_nonfinite": "rollback", "training.max_rollbacks": 1_000_000}, spoiled=True),
    "publishing": Scenario(ENDS | {"checkpoint.on_publish": "echo began; sleep 60; true"}),
}

# Scenario: what is going on, then the call, what its path has, which one of these, and the rank.
MOMENTS = [
    ("new", "the lock of the steps is taken", "flock", "checkpoint/run.lock"),
    ("new", "the store is tried", "fsync", "probe"),
    ("new", "the text is opened", "open", "text.txt"),
    ("new", "the configuration is written", "rename", "config.toml.tmp"),
    ("new", "the metrics begin", "create", "metrics.jsonl"),
    ("new", "the first step is written down", "pwrite", "metrics.jsonl", 2),
    ("new", "a save is announced", "statvfs", "checkpoint", 2),
    ("new", "a save begins", "mkdir", "step-00000003.tmp"),
    ("new", "tensors are written beside training", "pwrite", "step-00000003.tmp"),
    ("new", "a shard is made durable beside training", "fdatasync", "model/shard-00000.h5"),
    ("new", "a step is published beside training", "rename", "step-00000003.tmp"),
    ("new", "the last save begins", "mkdir", "step-00000006.tmp"),
    ("new", "the last step is published", "rename", "step-00000006.tmp"),
    ("new", "latest is written", "rename", "latest.tmp", 2),
    ("new", "a step that goes is renamed", "rename", "/step-00000003", 3),
    ("new", "a step that goes loses its files", "unlink", ".trash-step"),
    ("new", "a step that goes loses a second file", "unlink", ".trash-step", 2),
    ("new", "a step that goes loses its folder", "rmdir", ".trash-step", 2),
    ("saves that are waited for", "tensors are written", "pwrite", "step-00000003.tmp"),
    ("saves that are waited for", "tensors are read back", "pread", "step-00000003.tmp"),
    ("saves that are waited for", "the manifest is written", "create", "manifest.json.tmp"),
    ("saves that are waited for", "a step is published", "rename", "step-00000003.tmp"),
    ("two ranks", "the text is opened by the other rank", "open", "text.txt", 1, 1),
    ("two ranks", "the other rank writes its tensors", "pwrite", "step-00000003.tmp", 1, 1),
    ("two ranks", "the second step is written down", "pwrite", "metrics.jsonl", 3),
    ("two stages", "the other stage writes its tensors", "pwrite", "step-00000006.tmp", 1, 1),
    ("resumed", "an earlier deletion is finished", "unlink", ".trash-step"),
    ("resumed", "steps are looked at", "opendir", "checkpoint"),
    ("resumed", "the manifest is read", "pread", "manifest.json"),
    ("resumed", "the state is read", "pread", "train_state.json"),
    ("resumed", "weights are read", "pread", "model/shard"),
    ("resumed", "moments are read", "pread", "optimizer/shard", 3),
    ("resumed", "the metrics are cut", "create", "metrics.jsonl"),
    ("resumed on two ranks", "the other rank reads its weights", "pread", "model/shard", 1, 1),
    ("weights of others", "the weights are looked at", "pread", "source/checkpoint"),
    ("weights of others", "the weights are read", "pread", "step-00000003/model", 2),
    ("going back", "the step is read again", "pread", "model/shard-00000.h5", 5),
    ("going back", "the metrics go back", "create", "metrics.jsonl", 2),
]
LINES = [
    ("validating", "a validation goes on", "metrics.jsonl", '"step":1,'),
    ("validating on two ranks", "a validation goes on", "metrics.jsonl", '"step":1,'),
    ("validating at the end", "the last validation goes on", "metrics.jsonl", '"step":1,'),
    ("skipping", "steps are skipped", "metrics.jsonl", '"action":"skip"'),
    ("going back", "steps are taken back", "metrics.jsonl", '"action":"rollback"'),
    ("publishing", "a command works at the end", "on_publish.log", "began"),
]


class Runs:
    """Starts the scenarios in folders of their own."""

    def __init__(self):
        self.work = harness.scratch("moments")
        self.data = self.work / "text.txt"
        harness.write_text(self.data, 4_000)
        self.held_back = self.work / "held-back.txt"
        self.held_back.write_text("the leaf of a titan\n" * 100_000)
        for name in ("source", "stopped"):
            harness.train(CONFIG, 1, self.keys(self.work / name, ENDS | {"debug.stop_at_step": 3}), expect=75)
        trash = self.work / "stopped" / "checkpoint" / ".trash-step-00000002-abc"
        trash.mkdir()
        for name in "abc":
            (trash / name).write_text("")

    def keys(self, run, keys):
        validation = {"validation.dataset_path": self.held_back} if "validation.enable" in keys else {}
        return {"training.dataset_path": self.data, "job.dump_folder": run} | keys | validation

    def start(self, name, shim):
        scenario = SCENARIOS[name]
        run = self.work / "run"
        shutil.rmtree(run, ignore_errors=True)
        if scenario.resumes:
            shutil.copytree(self.work / "stopped", run)
        keys = self.keys(run, scenario.keys)
        if name == "weights of others":
            keys["checkpoint.initial_load_path"] = self.work / "source" / "checkpoint" / "step-00000003"
        environment = dict(os.environ, LD_PRELOAD=str(SHIM), **{"TITAN_SHIM_" + key: str(value) for key, value in shim.items()})
        if scenario.spoiled:
            environment["TITAN_SPOIL_GRADIENT"] = SPOILED
        process = subprocess.Popen(harness.command(CONFIG, scenario.nproc, keys, scenario.extra), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                                   env=environment, start_new_session=True)
        return run, process


class StopMoments(unittest.TestCase):
    random, seed, limit = 0, 1, 30

    @classmethod
    def setUpClass(cls):
        cls.runs = Runs()
        cls.log, cls.gate = cls.runs.work / "shim.log", cls.runs.work / "gate"

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.runs.work, ignore_errors=True)

    def wait(self, happened, process):
        """False where the run ended before."""
        deadline = time.time() + 60
        while not happened():
            if process.poll() is not None:
                return happened()
            self.assertLess(time.time(), deadline)
            time.sleep(0.005)
        return True

    def stop(self, name, moment, happened, shim, must=True):
        """Returns whether the moment came."""
        for path in (self.log, self.gate):
            path.unlink(missing_ok=True)
        run, process = self.runs.start(name, shim)
        self.addCleanup(process.kill)
        came = self.wait(lambda: happened(run), process)
        if came:
            process.send_signal(signal.SIGTERM)
            log = run / "logs" / "rank-0.log"
            self.wait(lambda: log.exists() and re.search(r" SIGTERM: (stopping|ending)", log.read_text()), process)
        begin = time.time()
        self.gate.touch()
        try:
            _, errors = process.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            self.fail(f"{name}, {moment}: still there a minute after SIGTERM")
        took = time.time() - begin
        if not came:
            self.assertFalse(must, f"{name}, {moment}: it did not come\n{errors}")
            self.assertEqual(process.returncode, 0, errors)
            return False
        print(f"{name}: {moment}: {process.returncode} after {took:.1f} s", flush=True)
        self.assertIn(process.returncode, (0, 75), errors)
        self.assertLess(took, self.limit, errors)
        self.assertNotIn("error: ", errors)
        done = harness.step_lines(run) if (run / "metrics.jsonl").exists() else {}
        if process.returncode == 0:
            self.assertIn(SCENARIOS[name].keys["training.steps"], done)
        newest = {max(done, default=None)} | ({3} if name == "going back" else set())  # what is being taken back is no step of the run
        self.assertIn(max(harness.published_steps(run), default=None), newest, errors)
        self.assertEqual(harness.half_saved(run), [], errors)
        return True

    def fired(self, _):
        return self.log.exists() and "FIRED" in self.log.read_text()

    def shim(self, call, match="", k=1, rank=0):
        return {"UNDER": self.runs.work, "CALL": call, "K": k, "RANK": rank, "LOG": self.log, "DO": f"wait:{self.gate}"} | ({"MATCH": match} if match else {})

    def test_at_calls(self):
        for name, moment, *call in MOMENTS:
            with self.subTest(scenario=name, moment=moment):
                self.stop(name, moment, self.fired, self.shim(*call))

    def test_at_lines(self):
        for name, moment, file, text in LINES:
            with self.subTest(scenario=name, moment=moment):
                self.stop(name, moment, lambda run: (run / file).exists() and text in (run / file).read_text(), {})

    def calls_of(self, name):
        """All (rank, kind, number) that a run of the scenario makes once it holds its folder."""
        self.log.unlink(missing_ok=True)
        _, process = self.runs.start(name, {"UNDER": self.runs.work, "LOG": self.log})
        self.assertEqual(process.wait(60), 0)
        process.stderr.close()
        counts, calls, held = {}, [], False
        for line in self.log.read_text().splitlines():
            rank, kind, path = line.split(" ", 2)
            if rank == "none":
                continue
            counts[rank, kind] = counts.get((rank, kind), 0) + 1
            held |= path.endswith("checkpoint/run.lock")
            if held:
                calls.append((int(rank), kind, counts[rank, kind]))
        return calls

    def test_at_random_calls(self):
        dice = random.Random(self.seed)
        names = [name for name, scenario in SCENARIOS.items() if scenario.keys["training.steps"] == 6 and name != "publishing"]
        calls = {name: self.calls_of(name) for name in names if self.random}
        for _ in range(self.random):
            name = dice.choice(names)
            rank, kind, k = dice.choice(calls[name])
            with self.subTest(scenario=name, rank=rank, call=kind, k=k):
                self.stop(name, f"{kind} {k} of rank {rank}", self.fired, self.shim(kind, k=k, rank=rank), must=False)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--random", type=int, default=0, help="calls drawn at random")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--limit", type=float, default=StopMoments.limit, help="seconds to an end; 5 on a quiet machine")
    given, rest = parser.parse_known_args()
    StopMoments.random, StopMoments.seed, StopMoments.limit = given.random, given.seed, given.limit
    unittest.main(argv=[sys.argv[0], *rest], verbosity=1)
