"""What people and disks do to a run folder: damage, pins, links, repairs."""

import os
import pathlib
import shutil

from folder import content_of, look_at, step_name


class Damage:
    """Somebody's disk: a flipped byte, a wrong size, a file that is gone."""

    name = "damage"
    WAYS = ["leaf", "leaf", "leaf", "leaf", "append", "truncate", "missing", "manifest", "json"]

    def draw(self, world, rng):
        healthy = sorted(world.model.full_before())
        healthy = [n for n in healthy if n not in world.model.before.moved]
        if not healthy or len(healthy) == 1 and rng.random() < 0.9:
            return None
        step = healthy[-1] if rng.random() < 0.6 else rng.choice(healthy)
        return {
            "step": step,
            "way": rng.choice(self.WAYS),
            "file": rng.random(),
            "at": rng.random(),
            "bit": rng.randrange(8),
        }

    def do(self, world, p):
        step = world.model.before.steps.get(p["step"])
        if step is None or world.model.kind(step) != "full":
            return
        folder = pathlib.Path(step.path)
        shards = sorted(path for path in folder.rglob("shard-*.h5"))
        path = shards[int(p["file"] * len(shards))]
        if p["way"] == "manifest":
            path = folder / "manifest.json"
        elif p["way"] == "json":
            path = folder / ["lr_scheduler.json", "dataloader.json", "train_state.json"][int(p["file"] * 3)]
        if os.stat(path).st_nlink > 1 or not os.access(path, os.W_OK):
            # As a disk does it: only this name of the file, whatever its mode.
            data = path.read_bytes()
            path.unlink()
            path.write_bytes(data)
        data = bytearray(path.read_bytes())
        if p["way"] == "append":
            data.append(7)
        elif p["way"] == "truncate":
            del data[len(data) - 1 - int(p["at"] * (len(data) - 1)) :]
        elif p["way"] == "leaf":
            # Leaves begin at byte 4096.
            data[4096 + int(p["at"] * max(1, len(data) - 4096 - 12288))] ^= 1 << p["bit"]
        else:
            data[int(p["at"] * len(data))] ^= 1 << p["bit"]
        if p["way"] == "missing":
            path.unlink()
        else:
            path.write_bytes(data)
        units = world.model.learn_damage(look_at(step.path, p["step"]))
        world.context = f"damaged {path}: {p['way']}, verify finds {sorted(units)}"
        if step.link:
            world.model.elsewhere[step.link] = content_of(step.link)
        world.model.settle(world.model.look())


class Pin:
    name = "pin"

    def draw(self, world, rng):
        steps = sorted(world.model.before.steps)
        return {"step": rng.choice(steps[-4:])} if steps else None

    def do(self, world, p):
        step = world.model.before.steps.get(p["step"])
        if step:
            keep = pathlib.Path(step.path) / ".keep"
            if step.pinned:
                keep.unlink()
            else:
                keep.touch()
        world.context = f"{'un' if step and step.pinned else ''}pinned {p['step']}"
        world.model.settle(world.model.look())


class LinkStep:
    """A step is moved to another disk, and a link left in its place."""

    name = "link-step"

    def draw(self, world, rng):
        steps = [n for n, s in sorted(world.model.before.steps.items()) if not s.link]
        return {"step": steps[-1] if rng.random() < 0.5 else rng.choice(steps)} if steps else None

    def do(self, world, p):
        step = world.model.before.steps.get(p["step"])
        if step is None or step.link:
            return
        target = world.outside("archive") / step_name(p["step"])
        target.parent.mkdir()
        shutil.move(step.path, target)
        os.symlink(target, step.path)
        world.model.elsewhere[str(target)] = content_of(target)
        world.context = f"{step.path} leads to {target}"
        world.model.settle(world.model.look())


class LinkFolder:
    """The folder of steps is moved to another disk, and a link left in its place."""

    name = "link-folder"

    def draw(self, world, rng):
        return {} if world.checkpoint.exists() and not world.checkpoint.is_symlink() else None

    def do(self, world, p):
        if world.checkpoint.is_symlink() or not world.checkpoint.exists():
            return
        target = world.store / f"steps-{world.number}"
        world.number += 1
        shutil.move(world.checkpoint, target)
        os.symlink(target, world.checkpoint)
        world.context = f"{world.checkpoint} leads to {target}"
        world.model.settle(world.model.look())


class Repair:
    """Somebody removes what is damaged or in the way."""

    name = "repair"

    def draw(self, world, rng):
        bad = [n for n, s in sorted(world.model.before.steps.items()) if world.model.kind(s) != "full"]
        return {"step": rng.choice(bad)} if bad else None

    def do(self, world, p):
        step = world.model.before.steps.get(p["step"])
        if step is None:
            return
        if step.link:
            os.unlink(step.path)
        else:
            shutil.rmtree(step.path)
        # With what a tool that was killed had left of an older copy.
        shutil.rmtree(f"{step.path}.tmp-rewrite", ignore_errors=True)
        world.context = f"removed {step.path}"
        world.model.settle(world.model.look())
