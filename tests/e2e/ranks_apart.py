#!/usr/bin/env python3
"""Ranks whose configuration or weights differ, as with separate copies on each host: the start is refused and names the difference."""

import errno
import json
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import harness  # noqa: E402
from resume_cases import CONFIG, Runs  # noqa: E402

# What small.toml says of everything but the model, which the weights bring.
REST = {"training.local_batch_size": 2, "training.global_batch_size": 4, "training.seq_len": 16, "training.steps": 2, "training.mixed_precision_param": "float32",
        "lr_scheduler.warmup_steps": 1, "job.threads_per_rank": 1, "debug.seed": 3}


class RanksApart(Runs):
    def start(self, config, ranks, overrides=None, port=None, before=None, **variables):
        """Starts one process for each (folder to run in, further words); returns [(exit code, output)]."""
        port = port or harness.free_port()
        flags = harness.flags({"training.dataset_path": self.data, "job.dump_folder": self.run_dir, "comm.init_timeout_seconds": 60, **(overrides or {})})
        processes = []
        for rank, (folder, words) in enumerate(ranks):
            environment = {**os.environ, "RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(len(ranks)), "LOCAL_WORLD_SIZE": str(len(ranks)),
                           "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), **variables}
            processes.append(subprocess.Popen([*(before or {}).get(rank, []), harness.TRAIN, "run", str(config), *flags, *words], cwd=folder, env=environment, stdout=subprocess.PIPE,
                                              stderr=subprocess.STDOUT, text=True))
        return [(process.returncode, out) for process in processes for out in [process.communicate(timeout=300)[0]]]

    def refused(self, ended, *texts):
        self.assertEqual([code for code, _ in ended], [13] * len(ended), ended)
        for text in texts:
            self.assertIn(text, ended[0][1])
        self.assertEqual(harness.published_steps(self.run_dir), [])

    def test_copies_of_the_weights_that_say_another_model(self):
        self.train(run=self.work / "source", training__steps=2)
        folders = [self.work / "node0", self.work / "node1", self.work / "node2"]
        folders[0].mkdir()
        harness.ckpt("convert", f"{self.work / 'source'}@2", folders[0] / "hf", "--to", "hf")
        for folder in folders[1:]:
            shutil.copytree(folders[0], folder)
        same = self.start("", [(folder, ["--init-from", "hf"]) for folder in folders[:2]], {**REST, "job.dump_folder": self.work / "same"})
        self.assertEqual([code for code, _ in same], [0, 0], same)
        path = folders[2] / "hf" / "config.json"
        config = json.loads(path.read_text())
        config["rope_theta"] = config["rope_parameters"]["rope_theta"] = 20000.0
        path.write_text(json.dumps(config))
        ended = self.start("", [(folder, ["--init-from", "hf"]) for folder in folders], {**REST, "training.global_batch_size": 6})
        self.refused(ended, "rank 2", "model.rope_theta: 500000.0 on rank 0, 20000.0 on rank 2")

    def test_text_is_read_whole_by_rank_0(self):
        """What lies between the blocks of a fingerprint another rank does not look at."""
        folders = [self.work / "good", self.work / "bad"]
        for folder, byte in zip(folders, (b"a", b"\xff")):
            folder.mkdir()
            (folder / "text.txt").write_bytes(b"a" * 9_000 + byte + b"a" * 1_000_000)
        keys = {"training.dataset_path": "text.txt", "training.steps": 2}
        ended = self.start(CONFIG, [(folder, []) for folder in folders], keys)
        self.assertEqual([code for code, _ in ended], [0, 0], ended)
        shutil.rmtree(self.run_dir)
        ended = self.start(CONFIG, [(folder, []) for folder in reversed(folders)], keys)
        self.assertEqual([code for code, _ in ended], [2, 2], ended)
        self.assertIn("text.txt' is not UTF-8: no character starts with the byte 0xff at offset 9000", ended[0][1])

    def test_configurations_that_differ(self):
        for key, first, other in (("optimizer.eps", 1e-8, 1e-6), ("training.steps", 2, 3), ("checkpoint.interval", 1, 2), ("optimizer.lr", 1e-3, 2e-3)):
            with self.subTest(key=key):
                ended = self.start(CONFIG, [(self.work, [f"--{key}={value}"]) for value in (first, other)], {"lr_scheduler.total_steps": 4})
                self.refused(ended, f"{key}: ", "on rank 0", "on rank 1")

    def test_a_resume_that_one_rank_does_not_permit(self):
        self.train(training__steps=2)
        words = ["--training.steps=4", "--allow", "training.steps"]
        for other in (words[:1], [*words, "--lr_scheduler.on_change=config"]):
            ended = self.start(CONFIG, [(self.work, [*words, "--lr_scheduler.on_change=rewarm"]), (self.work, other)])
            self.assertEqual([code for code, _ in ended], [13, 13], ended)
            self.assertIn("rank 1", ended[0][1])
        self.assertEqual(harness.published_steps(self.run_dir), [2])

    def test_ranks_with_different_run_folders(self):
        other = self.work / "elsewhere"
        ended = self.start(CONFIG, [(self.work, []), (self.work, [f"--job.dump_folder={other}"])])
        self.refused(ended, "rank 1 has another run folder than rank 0", f"{other}/checkpoint there, {self.run_dir}/checkpoint on rank 0", "hint: give every rank the same job.dump_folder")
        self.assertEqual([out.count("error: ") for _, out in ended], [1, 1], ended)
        # By other ways to the same place it is one folder; a relative path that leads elsewhere is another.
        link = self.work / "a-link"
        link.symlink_to(self.run_dir)
        same = self.start(CONFIG, [(self.work, []), (self.work, [f"--job.dump_folder={link}"]), (self.run_dir.parent, [f"--job.dump_folder={self.run_dir.name}"])],
                          {"training.steps": 2, "training.global_batch_size": 6})
        self.assertEqual([code for code, _ in same], [0, 0, 0], same)

    def test_a_host_that_does_not_see_the_run_folder(self):
        self.run_dir.mkdir()
        probe = subprocess.run(["unshare", "--mount", "mount", "-t", "tmpfs", "tmpfs", str(self.run_dir)], capture_output=True, text=True)
        if probe.returncode != 0:
            print(f"SKIP: unshare --mount mount: {probe.stderr.strip()}", file=sys.stderr)
            return
        apart = ["unshare", "--mount", "sh", "-c", f'mount -t tmpfs tmpfs {self.run_dir} && exec "$@"', "sh"]
        ended = self.start(CONFIG, [(self.work, []), (self.work, []), (self.work, [])], {"training.global_batch_size": 6}, before={2: apart})
        self.assertEqual([code for code, _ in ended], [3, 3, 3], ended)
        for _, out in ended:
            self.assertIn(f"error: rank 2 does not see the folder that rank 0 sees: {self.run_dir}/checkpoint is another folder on its host", out)
            self.assertIn("caused by: rank 2: ", out)
        self.assertEqual(harness.leftovers(self.run_dir), [])

    def test_a_store_that_accepts_and_does_not_answer_is_said(self):
        with socket.socket() as silent:
            silent.bind(("127.0.0.1", 0))
            silent.listen()
            ended = self.start(CONFIG, [(self.work, []), (self.work, [])], {"comm.init_timeout_seconds": 1}, silent.getsockname()[1], TORCHELASTIC_USE_AGENT_STORE="True")
        self.assertEqual([code for code, _ in ended], [3, 3], ended)
        self.assertIn("error: rank 0 did not meet its peers", ended[0][1])

    def test_a_line_of_metrics_that_rank_0_cannot_write_is_the_error_of_all_ranks(self):
        shim = {"UNDER": self.run_dir, "RANK": 0, "CALL": "pwrite", "MATCH": "metrics.jsonl", "K": 3, "DO": errno.ENOSPC, "STICKY": 1}
        ended = self.start(CONFIG, [(self.work, []), (self.work, [])], {"checkpoint.interval": 50, "checkpoint.on_save_error": "stop"},
                           LD_PRELOAD=str(harness.BIN / "titan-fail-calls.so"), **{"TITAN_SHIM_" + key: str(value) for key, value in shim.items()})
        self.assertEqual([code for code, _ in ended], [3, 3], ended)
        for _, out in ended:
            self.assertIn("disk full", out)
            self.assertNotIn("gone", out)


if __name__ == "__main__":
    unittest.main(verbosity=2)
