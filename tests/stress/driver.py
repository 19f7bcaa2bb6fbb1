"""Lives of a run folder: a seed draws the operations, the model judges each. Violations end it and are written down."""

import ctypes
import json
import os
import pathlib
import random
import shutil
import subprocess
import time

import operations
import programs
from model import Model, Violation

STEPS = 40
OPERATIONS = 30  # of one life
DISK = "40m"


class World:
    """One run folder with all that lies around it."""

    def __init__(self, work, reference, disk):
        self.work, self.steps, self.disk, self.number = work, STEPS, disk, 0
        self.data, self.golden = reference["data"], reference["golden"]
        self.run, self.store = work / "run", work / "store"
        self.checkpoint = self.run / "checkpoint"
        self.store.mkdir(parents=True)
        self.run.mkdir()
        self.model = Model(self.checkpoint, reference["ids"], reference["lines"])
        self.context = ""

    def outside(self, name):
        self.number += 1
        return self.work / f"{name}-{self.number}"


def make_reference(folder):
    """The ids and lines of a run that nobody touches, once."""
    folder.mkdir(parents=True)
    data = folder / "text.txt"
    programs.harness.write_text(data, 4_000)
    run = folder / "run"
    programs.harness.train(
        programs.CONFIG,
        1,
        {
            "training.steps": STEPS,
            "training.dataset_path": data,
            "job.dump_folder": run,
            "checkpoint.interval": 1,
            "checkpoint.keep_latest_k": 0,
        },
    )
    ids = {step["step"]: step["id"] for step in programs.harness.ckpt("ls", run)["steps"]}
    if sorted(ids) != list(range(1, STEPS + 1)):
        raise programs.harness.Failure(f"the reference run saved {sorted(ids)}")
    lines = programs.harness.step_lines(run)
    golden = folder / "golden"
    shutil.move(run / "checkpoint" / "step-00000001", golden)
    shutil.rmtree(run)
    return {"data": data, "ids": ids, "lines": lines, "golden": golden}


def own_mounts():
    """Takes a mount namespace of our own, so that nothing stays mounted when we are killed. False: refused."""
    libc = ctypes.CDLL(None, use_errno=True)
    clone_newns, ms_rec_private = 0x20000, 0x44000
    return libc.unshare(clone_newns) == 0 and libc.mount(b"none", b"/", None, ms_rec_private, None) == 0


def mount_small_disk(folder):
    return (
        subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={DISK}", "tmpfs", folder], capture_output=True
        ).returncode
        == 0
    )


class Driver:
    def __init__(self, work, report, say=print, disk=True):
        self.work, self.report, self.say = work, report, say
        self.may_mount = disk and own_mounts()
        self.reference = make_reference(work / "reference")
        self.operations, self.lives, self.violations, self.begin = 0, 0, [], time.time()
        self.counts = {}

    def life(self, seed, log=None):
        """Draws a life from `seed`, or replays `log`. Returns the violation, or None."""
        rng = random.Random(seed)
        folder = self.work / f"life-{seed}"
        folder.mkdir()
        drawn = rng.random() < 0.7
        needed = log is not None and any("free" in entry["with"] for entry in log)
        disk = self.may_mount and (needed or (log is None and drawn)) and mount_small_disk(folder)
        if needed and not disk:
            raise OSError("this log fills a small disk, and none can be mounted here")
        world = World(folder / "w", self.reference, disk)
        done, violation = [], None
        try:
            for number in range(len(log) if log is not None else OPERATIONS):
                if log is not None:
                    operation, parameters = operations.BY_NAME[log[number]["op"]], log[number]["with"]
                else:
                    operation, parameters = operations.draw(world, rng)
                done.append({"op": operation.name, "with": parameters})
                world.context = ""
                operation.do(world, parameters)
                self.operations += 1
                self.counts[operation.name] = self.counts.get(operation.name, 0) + 1
                if log is None and self.over(world):
                    break
        except Violation as found:
            violation = found
            self.keep(seed, done, found, world)
        except Exception as found:  # of the driver itself: as good as a violation, for nothing was judged
            violation = Violation("driver", f"{type(found).__name__}: {found}")
            self.keep(seed, done, violation, world)
            if not isinstance(
                found, (OSError, ValueError, KeyError, subprocess.SubprocessError, programs.harness.Failure)
            ):
                raise
        finally:
            if disk:
                subprocess.run(["umount", "-l", folder])
            shutil.rmtree(folder, ignore_errors=True)
        self.lives += 1
        return violation

    def over(self, world):
        return self.steps_done(world) and not any(
            world.model.kind(s) != "full" for s in world.model.before.steps.values()
        )

    def steps_done(self, world):
        return STEPS in world.model.full_before()

    def keep(self, seed, done, violation, world):
        self.violations.append((seed, violation.tag))
        name = f"{violation.tag}-{seed}"
        self.report.mkdir(parents=True, exist_ok=True)
        log = self.report / f"{name}.json"
        log.write_text("[\n" + ",\n".join(json.dumps(entry) for entry in done) + "\n]\n")
        shutil.rmtree(self.report / name, ignore_errors=True)
        shutil.copytree(world.work, self.report / name, symlinks=True, ignore=shutil.ignore_patterns("filler"))
        more = "" if str(violation).endswith(world.context) else f"  after {world.context[-3000:]}\n"
        self.say(
            f"VIOLATION {violation}\n  seed {seed}, operation {len(done)}: {done[-1]}\n{more}"
            f"  log of operations: {log} (scripts/stress --replay {log}); the folder: {self.report / name}"
        )

    def state(self):
        hours = (time.time() - self.begin) / 3600
        tags = {}
        for _, tag in self.violations:
            tags[tag] = tags.get(tag, 0) + 1
        return {
            "operations": self.operations,
            "lives": self.lives,
            "hours": round(hours, 3),
            "violations": tags,
            "counts": self.counts,
        }


def remove_work(work):
    for path in pathlib.Path(work).iterdir():
        shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink()
    os.rmdir(work)
