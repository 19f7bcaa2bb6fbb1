#!/usr/bin/env python3
"""Save, kill, resume, reshard --force and prune on several file systems: tmpfs, overlayfs, images of ext4 and XFS if they can be mounted here
(else a SKIP line with the call that failed), and always with the behaviour of NFS and Lustre, simulated by a preloaded library
(tests/shims/remote_store.cpp) under titan-train and titan-ckpt-dynamic."""

import contextlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import harness  # noqa: E402

CONFIG = harness.ROOT / "tests" / "e2e" / "small.toml"
CKPT = str(harness.BIN / "titan-ckpt-dynamic")
SHIM = str(harness.BIN / "titan-remote-store.so")
FAIL_CALLS = str(harness.BIN / "titan-fail-calls.so")
STEPS = 6


class Skip(Exception):
    """A file system that cannot be mounted here; the message is the call that failed."""


def call(*args):
    try:
        done = subprocess.run(list(map(str, args)), capture_output=True, text=True, timeout=60)
    except FileNotFoundError:
        raise Skip(f"{args[0]} is not installed") from None
    if done.returncode != 0:
        raise Skip(f"{' '.join(map(str, args))}: {done.stderr.strip().splitlines()[0] if done.stderr.strip() else done.returncode}")


@contextlib.contextmanager
def mounted(work, *args):
    folder = work / "mount"
    folder.mkdir()
    call("mount", *args, folder)
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", folder], check=False)


def tmpfs(work):
    return mounted(work, "-t", "tmpfs", "-o", "size=64m", "none")


def overlayfs(work):
    parts = [work / name for name in ("lower", "upper", "scratch")]
    for part in parts:
        part.mkdir()
    return mounted(work, "-t", "overlay", "-o", "lowerdir={},upperdir={},workdir={}".format(*parts), "none")


def image(work, size, *make):
    path = work / "image"
    with open(path, "wb") as out:
        out.truncate(size)
    call(*make, path)
    return path


def ext4(work):
    return mounted(work, "-o", "loop", image(work, 64 << 20, "mkfs.ext4", "-q"))


def ext4_with_quota(work):
    return mounted(work, "-o", "loop,usrquota", image(work, 64 << 20, "mkfs.ext4", "-q", "-O", "quota"))


def xfs_with_quota(work):
    return mounted(work, "-o", "loop,uquota", image(work, 320 << 20, "mkfs.xfs", "-q"))


def xfs(work):
    return mounted(work, "-o", "loop", image(work, 320 << 20, "mkfs.xfs", "-q"))


class FileSystems(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.base = harness.scratch("files")
        cls.text = cls.base / "text.txt"
        harness.write_text(cls.text, 4_000)
        harness.train(CONFIG, 1, cls.settings(cls.base / "untouched"))
        cls.identity = harness.checkpoint_id(cls.base / "untouched", STEPS)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.base, ignore_errors=True)

    def setUp(self):
        self.work = harness.scratch("files")
        self.environment = dict(os.environ)

    def tearDown(self):
        shutil.rmtree(self.work, ignore_errors=True)

    @classmethod
    def settings(cls, run):
        return {"training.dataset_path": cls.text, "job.dump_folder": run, "training.steps": STEPS, "checkpoint.interval": 2, "checkpoint.keep_latest_k": 2, "comm.train_timeout_seconds": 60}

    def train(self, run, expect, environment):
        """Two ranks; returns what they wrote."""
        done = subprocess.run(harness.command(CONFIG, 2, self.settings(run)), capture_output=True, text=True, timeout=180, env=environment)
        self.assertEqual(done.returncode, expect, done.stderr)
        return done.stderr

    def ckpt(self, *args):
        done = subprocess.run([CKPT, *map(str, args), "--json"], capture_output=True, text=True, timeout=120, env=self.environment)
        self.assertEqual(done.returncode, 0, f"titan-ckpt {' '.join(map(str, args))}\n{done.stdout}\n{done.stderr}")
        return json.loads(done.stdout.strip().splitlines()[-1])

    def kill_while_saving(self, run):
        """Rank 1 is killed at its first write for step 4."""
        plan = {"UNDER": run, "RANK": 1, "CALL": "pwrite", "MATCH": "step-00000004.tmp-", "K": 1, "DO": "kill"}
        preload = ":".join(filter(None, [self.environment.get("LD_PRELOAD"), FAIL_CALLS]))
        log = self.train(run, 3, self.environment | {"LD_PRELOAD": preload} | {f"TITAN_SHIM_{key}": str(value) for key, value in plan.items()})
        self.assertIn("save writing step=4", log)

    def core(self, folder, dead_tool=True):
        run = folder / "run"
        self.kill_while_saving(run)
        # Two ranks again: when step 2 is retained away, the rank that loaded it may still have it open.
        log = self.train(run, 0, self.environment)
        self.assertIn("start: resume at step 2 ", log)
        self.assertEqual(harness.leftovers(run), [], log)
        self.assertEqual(harness.published_steps(run), [STEPS - 2, STEPS], log)
        self.assertEqual(self.ckpt("inspect", f"{run}@latest")["id"], self.identity)
        step = run / "checkpoint" / f"step-{STEPS:08d}"
        copy = folder / "copy"
        self.ckpt("reshard", step, copy, "--dp", "3", "--pp", "1")
        self.ckpt("reshard", copy, step, "--dp", "1", "--pp", "2", "--force")
        self.assertEqual(self.ckpt("inspect", step)["id"], self.identity)
        if dead_tool:
            left = run / "checkpoint" / f"{step.name}.tmp-rewrite"
            (left / "new").mkdir(parents=True)
            (left / "lock").touch()
        self.ckpt("prune", run, "--keep-last", "1")
        self.assertEqual(harness.published_steps(run), [STEPS])
        self.assertEqual(harness.leftovers(run), [])
        self.assertTrue(self.ckpt("verify", run)["ok"])
        self.assertEqual([path for path in folder.rglob("*") if ".nfs" in path.name or ".tmp-" in path.name or ".trash-" in path.name], [])

    def on(self, name, mount):
        try:
            with mount(self.work) as folder:
                self.core(folder)
        except Skip as skip:
            print(f"SKIP {name}: {skip}")
            self.skipTest(str(skip))

    def test_tmpfs(self):
        self.on("tmpfs", tmpfs)

    def test_overlayfs(self):
        self.on("overlayfs", overlayfs)

    def test_ext4(self):
        self.on("ext4", ext4)

    def test_xfs(self):
        self.on("xfs", xfs)

    def test_ext4_with_quota(self):
        self.on("ext4 with quota", ext4_with_quota)

    def test_xfs_with_quota(self):
        self.on("xfs with quota", xfs_with_quota)

    def remote(self, answers, *expected):
        """The core with these answers; every call of `expected` was answered so at least once."""
        log = self.work / "answers.log"
        self.environment |= {"LD_PRELOAD": SHIM, "TITAN_SHIM_ROOT": str(self.work / "store"), "TITAN_SHIM_STORE": answers, "TITAN_SHIM_LOG": str(log)}
        (self.work / "store").mkdir()
        # Where flock says nothing, a dead tool's lock has to be watched for 25 s first.
        self.core(self.work / "store", dead_tool="flock" not in answers)
        given = {line.split()[0] for line in log.read_text().splitlines()}
        self.assertGreaterEqual(given, set(expected), "the library was not asked: this test checks nothing")

    def test_nfs(self):
        self.remote("no-exchange,no-noreplace,silly-rename", "exchange", "noreplace")

    def test_nfs_without_locks(self):
        self.remote("no-exchange,no-noreplace,silly-rename,busy-rmdir,flock=ENOLCK", "exchange", "noreplace", "flock")

    def test_lustre_without_flock(self):
        self.remote("no-exchange,no-noreplace,flock=ENOSYS", "exchange", "noreplace", "flock")

    def test_lustre_with_local_flock(self):
        self.remote("no-exchange,no-noreplace,flock=local", "exchange", "noreplace")

    def test_a_file_that_is_open_elsewhere_is_renamed_and_its_folder_not_removed(self):
        """The library itself: what NFS does to a deletion while another process reads."""
        store = self.work / "store"
        folder = store / "folder"
        folder.mkdir(parents=True)
        (folder / "file").write_text("x")
        environment = self.environment | {"LD_PRELOAD": SHIM, "TITAN_SHIM_ROOT": str(store), "TITAN_SHIM_STORE": "silly-rename"}
        deletion = ["python3", "-c", "import os, sys\nos.unlink(sys.argv[1] + '/file')\ntry: os.rmdir(sys.argv[1])\nexcept OSError as error: print(error.strerror)", folder]
        with open(folder / "file"):
            done = subprocess.run(deletion, env=environment, capture_output=True, text=True, check=True)
            self.assertEqual(done.stdout.strip(), "Directory not empty")
            self.assertEqual(len(list(folder.glob(".nfs*"))), 1)
        subprocess.run(["rmdir", folder], env=environment, check=True)


if __name__ == "__main__":
    # Mounts of a namespace of our own go with it, whatever happens.
    if os.environ.get("TITAN_OWN_MOUNTS") != "1":
        for namespace in (["unshare", "-m"], ["unshare", "-rm"]):
            if shutil.which("unshare") and subprocess.run([*namespace, "true"], capture_output=True).returncode == 0:
                os.execvpe("unshare", [*namespace, sys.executable, *sys.argv], os.environ | {"TITAN_OWN_MOUNTS": "1"})
    unittest.main(verbosity=2)
