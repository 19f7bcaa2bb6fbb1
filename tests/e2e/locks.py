#!/usr/bin/env python3
"""Who may write into a run folder: links, hosts that do not see each other's file locks, stores without locks, and stores that disappear."""

import fcntl
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import threading
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import harness  # noqa: E402

CONFIG = harness.ROOT / "tests" / "e2e" / "small.toml"
SHIM_SOURCE = harness.ROOT / "tests" / "shims" / "other_host.c"
PATIENCE = 120  # seconds that anything may take on a machine that is busy with other work


def stands_still(pid):
    """Whether SIGSTOP has reached every thread."""
    return all(stat.read_text().rsplit(")", 1)[1].split()[0] == "T" for stat in pathlib.Path(f"/proc/{pid}/task").glob("*/stat"))


class Locks(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.work = harness.scratch("locks")
        cls.text = cls.work / "text.txt"
        harness.write_text(cls.text, 4_000)
        cls.shim = cls.work / "other_host.so"
        subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-Wall", "-o", cls.shim, SHIM_SOURCE, "-ldl"], check=True)
        (cls.work / "boot_id").write_text("00000000-1111-2222-3333-444444444444\n")
        cls.begin_to_watch()

    @classmethod
    def begin_to_watch(cls):
        """Starts a run in a folder whose note is a dead host's, with a clock that was ahead: it watches while the other tests run."""
        run = cls.work / "dead"
        (run / "checkpoint").mkdir(parents=True)
        note = {"host": "dead", "boot_id": "a", "pid": 1, "since": "2025-01-01T00:00:00Z", "job_id": "", "restart_count": 0, "heartbeat": time.time() + 86400}
        (run / "run.lock").write_text(json.dumps(note))
        began, cls.took = time.monotonic(), None
        cls.taker = subprocess.Popen(harness.command(CONFIG, 1, {"training.dataset_path": cls.text, "job.dump_folder": run, "training.steps": 1}),
                                     stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

        def wait():
            cls.taken = cls.taker.communicate()
            cls.took = time.monotonic() - began
        cls.watcher = threading.Thread(target=wait)
        cls.watcher.start()

    @classmethod
    def tearDownClass(cls):
        if cls.watcher.is_alive():
            cls.taker.kill()
        cls.watcher.join()
        shutil.rmtree(cls.work, ignore_errors=True)

    def setUp(self):
        self.live = []

    def tearDown(self):
        for process in self.live:
            if process.poll() is None:
                process.kill()
            process.communicate()

    def other_host(self, **more):
        """The environment of a process on another host: another boot, and flock that is granted to everybody."""
        return {"SHIM_FLOCK": "grant", "SHIM_BOOT_ID": str(self.work / "boot_id"), **more}

    def start(self, run, shim=None, **overrides):
        """Starts a run of one rank; `shim` is its environment under the shim."""
        env = {**os.environ, **({"LD_PRELOAD": str(self.shim), **shim} if shim else {})}
        settings = {"training.dataset_path": self.text, "job.dump_folder": run, "training.steps": 1_000_000, "checkpoint.interval": 50,
                    **{key.replace("__", "."): value for key, value in overrides.items()}}
        process = subprocess.Popen(harness.command(CONFIG, 1, settings), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env)
        self.live.append(process)
        return process

    def end(self, process, expect):
        out, err = process.communicate(timeout=PATIENCE)
        self.assertEqual(process.returncode, expect, out[-500:] + err)
        return err

    def wait_for(self, what, process=None):
        deadline = time.monotonic() + PATIENCE
        while not what():
            self.assertLess(time.monotonic(), deadline)
            if process is not None and process.poll() is not None:
                self.fail(f"ended with {process.returncode}: {process.communicate()[1]}")
            time.sleep(0.05)

    def count(self, run, event):
        try:
            return (pathlib.Path(run) / "metrics.jsonl").read_text().count(f'"event":"{event}"')
        except FileNotFoundError:
            return 0

    def wait_for_save(self, run, process):
        before = self.count(run, "save_commit")
        self.wait_for(lambda: self.count(run, "save_commit") > before, process)

    def stopped_between_saves(self, run, process):
        """Stops the ranks by SIGSTOP at a moment when no save is under way, and returns them."""
        ranks = harness.children(process.pid)
        deadline = time.monotonic() + PATIENCE
        while True:
            self.assertLess(time.monotonic(), deadline, "a save was under way at all times")
            for rank in ranks:
                os.kill(rank, signal.SIGSTOP)
            time.sleep(0.05)
            # A thread that still writes is not stopped yet: its line may come later.
            if all(map(stands_still, ranks)) and self.count(run, "save_begin") == self.count(run, "save_commit"):
                return ranks
            for rank in ranks:
                os.kill(rank, signal.SIGCONT)
            time.sleep(0.05)

    def stop(self, process):
        harness_children = harness.children(process.pid)
        process.terminate()
        self.end(process, 75)
        self.assertFalse(any(map(harness.alive, harness_children)))

    def tool(self, *args, shim=None, program=harness.CKPT):
        env = {**os.environ, **({"LD_PRELOAD": str(self.shim), **shim} if shim else {})}
        return subprocess.run([program, *map(str, args)], capture_output=True, text=True, env=env, timeout=PATIENCE)

    # B4
    def test_a_run_whose_folder_of_steps_is_a_link_excludes_tools_and_is_excluded(self):
        run, big = self.work / "linked", self.work / "store" / "big"
        run.mkdir()
        big.mkdir(parents=True)
        (run / "checkpoint").symlink_to("../store/big")
        (self.work / "alias").symlink_to(self.work / "store")
        process = self.start(run)
        self.wait_for_save(run, process)
        for path in (run, big, self.work / "store" / ".." / "store" / "big", self.work / "alias" / "big"):
            done = self.tool("prune", path, "--keep-last", 1)
            self.assertEqual(done.returncode, 11, f"{path}: {done.stdout}{done.stderr}")
        self.wait_for_save(run, process)
        self.stop(process)
        with open(big / "run.lock", "r+") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            self.assertIn("is locked", self.end(self.start(run), 11))
        self.assertEqual(self.tool("prune", big, "--keep-last", 1).returncode, 0)

    # B8, and the torchrun id that is a constant
    def test_a_live_run_is_not_evicted_by_a_host_that_does_not_see_its_lock(self):
        run = self.work / "shared"
        process = self.start(run)
        self.wait_for_save(run, process)
        others = [self.start(run, self.other_host(SHIM_HOST="elsewhere", SHIM_CLOCK="70")), self.start(run, self.other_host()),
                  self.start(run, self.other_host(SHIM_CLOCK="-86400", TORCHELASTIC_RUN_ID="job", TORCHELASTIC_RESTART_COUNT="3"))]
        began = time.monotonic()
        for other in others:
            err = self.end(other, 11)
            self.assertIn("watching", err)
            self.assertIn("changed while it was watched", err)
        print(f"three starts were refused after {time.monotonic() - began:.1f} s")
        self.wait_for_save(run, process)
        self.stop(process)
        # It ended properly: nobody waits for its note.
        self.assertNotIn("watching", self.end(self.start(run, self.other_host(), debug__stop_at_step=harness.published_steps(run)[-1] + 1), 75))

    # R13, and the takeover of a host that died
    def test_zz_another_host_takes_over_from_a_silent_note_even_of_the_future(self):
        self.watcher.join(PATIENCE)
        self.assertEqual(self.taker.returncode, 0, self.taken)
        self.assertIn("watching", self.taken[1])
        self.assertIn("process 1 on host dead", self.taken[1])
        self.assertGreater(self.took, 20)
        self.assertEqual(harness.published_steps(self.work / "dead"), [1])
        print(f"took over after {self.took:.1f} s, start and one step included")

    # B15
    def test_a_store_without_flock_works_by_notes_alone(self):
        run, shim = self.work / "no-flock", {"SHIM_FLOCK": "ENOSYS"}
        process = self.start(run, shim)
        self.wait_for_save(run, process)
        self.assertIn("changed while it was watched", self.end(self.start(run, shim), 11))
        dynamic = harness.BIN / "titan-ckpt-dynamic"
        if dynamic.exists():
            done = self.tool("prune", run, "--keep-last", 1, shim=shim, program=str(dynamic))
            self.assertEqual(done.returncode, 11, done.stderr)
        else:
            print(f"SKIP the tool: {dynamic} is not built")
        process.terminate()
        err = self.end(process, 75)
        self.assertEqual(err.count("has no file locks"), 1, err)
        if dynamic.exists():
            done = self.tool("prune", run, "--keep-last", 1, shim=shim, program=str(dynamic))
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("has no file locks", done.stderr)

    def test_of_two_that_start_in_the_same_moment_one_goes_on(self):
        run, shim = self.work / "race", {"SHIM_FLOCK": "grant", "SHIM_STATFS": "nfs"}
        both = [self.start(run, {**shim, "SHIM_BOOT_ID": str(self.work / "boot_id"), "SHIM_HOST": "one"}), self.start(run, {**shim, "SHIM_HOST": "two"})]
        self.wait_for(lambda: any(process.poll() is not None for process in both))
        ended = [process for process in both if process.poll() is not None]
        self.assertEqual(len(ended), 1)
        self.end(ended[0], 11)
        winner = both[1 - both.index(ended[0])]
        self.wait_for_save(run, winner)
        self.stop(winner)

    # A run that lost its lock saves nothing, and begins no save.
    def test_a_run_that_was_taken_over_ends_before_it_saves(self):
        run = self.work / "taken"
        for file in ("run.lock", "checkpoint/run.lock"):
            process = self.start(run, checkpoint__interval=200, checkpoint__async_mode="disabled")  # beside training one is always under way
            self.wait_for_save(run, process)
            rank, = self.stopped_between_saves(run, process)
            steps, begun = harness.published_steps(run), self.count(run, "save_begin")
            note = json.loads((run / file).read_text())
            note.update(host="other", mark="theirs")
            (run / file).write_text(json.dumps(note))
            os.kill(rank, signal.SIGCONT)
            self.assertIn("was taken over by process", self.end(process, 11))
            self.assertEqual(harness.published_steps(run), steps)
            self.assertEqual(self.count(run, "save_begin"), begun)
            self.assertEqual(harness.leftovers(run), [])
            (run / file).unlink()

    # R11
    def test_a_store_that_goes_away_under_a_run_ends_it_without_a_save_elsewhere(self):
        run = self.work / "mounted"
        run.mkdir()
        mount = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64m", "tmpfs", run], capture_output=True, text=True)
        if mount.returncode != 0:
            self.skipTest(f"mount -t tmpfs: {mount.stderr.strip()}")
        process = self.start(run)
        try:
            self.wait_for_save(run, process)
        finally:
            subprocess.run(["umount", "-l", run], check=True)
        out, err = process.communicate(timeout=PATIENCE)
        self.assertIn(process.returncode, (3, 11), err)
        self.assertRegex(err, "unmounted|was removed while this process held it")
        self.assertEqual([path for path in run.rglob("*") if "step-" in path.name], [], "saved on the disk below")


if __name__ == "__main__":
    unittest.main(verbosity=2)
