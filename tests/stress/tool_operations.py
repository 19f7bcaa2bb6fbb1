"""Operations of titan-ckpt on the run folder; some are killed, or one of their calls fails."""

import json
import shutil
import signal

import programs
from folder import content_of, manifest_id, step_name
from model import require
from train_operations import CODECS, FULL_DISK


class Reshard:
    """A step is rewritten in place on another mesh: to a copy outside, and back with --force. May be killed."""

    name = "reshard"

    def draw(self, world, rng):
        steps = sorted(world.model.all_before())
        if not steps:
            return None
        step = rng.choice(steps[-3:])
        p = {
            "step": step,
            "dp": rng.choice([1, 2, 3]),
            "pp": rng.choice([1, 2]),
            "codec": rng.choice(CODECS),
            "shim": None,
        }
        if rng.random() < 0.5:
            p["shim"] = {
                "call": rng.choice(["any", "rename", "rename", "unlink", "fsync"]),
                "do": rng.choice(["kill", "kill-after", "kill", 5, FULL_DISK]),
                "no_flags": rng.random() < 0.6,
            }
            p["shim"]["k"] = rng.randint(1, {"any": 120, "rename": 4, "unlink": 12, "fsync": 6}[p["shim"]["call"]])
        return p

    def do(self, world, p):
        step = world.model.all_before().get(p["step"])
        if step is None:
            return
        kind = world.model.kind(step)
        copy = world.outside("copy")
        target = world.checkpoint / step_name(p["step"])
        first = programs.run(programs.tool_command("reshard", step.path, copy, "--dp", p["dp"], "--pp", p["pp"]))
        world.context = first.text()
        require(first.code is not None, "hang", first.text())
        if kind in ("seen", "loaded"):
            require(
                first.code in (12, 3, 10) and len(first.errors) == 1 and not copy.exists(),
                "tool-damage",
                f"the source is damaged, expected 12\n{first.text()}",
            )
            self.settle(world)
            return
        if first.code != 0:
            require(kind == "unmet" and first.code == 12 and not copy.exists(), "exit-code", first.text())
            self.settle(world)
            return
        outcome = programs.run(
            programs.tool_command(
                "reshard", copy, target, "--force", "--dp", p["pp"], "--pp", 1, "--compression", p["codec"]
            ),
            under=[world.run, world.store],
            plan=p["shim"],
            scratch=world.work,
        )
        world.context = outcome.text()
        shutil.rmtree(copy)
        shutil.rmtree(f"{copy}.tmp-rewrite", ignore_errors=True)
        require(outcome.code is not None, "hang", outcome.text())
        now = world.model.look(allow_part={p["step"]} if kind == "part" else ())
        there = p["step"] in now.steps
        if outcome.code == 0:
            require(
                there and now.steps[p["step"]].id == step.id,
                "tool-changed",
                f"resharding changed the id\n{outcome.text()}",
            )
            if not outcome.struck:
                world.model.check_clean_of(now, f"{step_name(p['step'])}.tmp-rewrite")
        elif outcome.struck:
            require(outcome.code in (-signal.SIGKILL, 3), "exit-code", outcome.text())
        else:
            require((step.pinned or step.link) and outcome.code == 2, "exit-code", outcome.text())
        # In any case the step is there, the old one or the new one, or it lies where the next actor puts it back.
        after = {**now.moved, **now.steps}
        require(
            p["step"] in after and after[p["step"]].id == step.id,
            "lost-step",
            f"step {p['step']} was rewritten, and is gone\n{outcome.text()}",
        )
        world.model.check_same(now, but={p["step"]})
        world.model.check_bystanders(now)
        world.model.settle(now)

    def settle(self, world):
        now = world.model.look()
        world.model.check_same(now)
        world.model.check_bystanders(now)
        world.model.settle(now)


class Derive:
    """strip or lr set, of a step to a folder outside or to one beside the steps that is no step."""

    name = "derive"

    def draw(self, world, rng):
        steps = sorted(world.model.all_before())
        if not steps:
            return None
        return {
            "step": rng.choice(steps),
            "verb": rng.choice(["strip", "lr set"]),
            "beside": rng.random() < 0.3,
            "force": rng.random() < 0.3,
        }

    def do(self, world, p):
        step = world.model.all_before().get(p["step"])
        if step is None or p["step"] in world.model.before.moved:
            return
        kind = world.model.kind(step)
        target = (
            world.checkpoint / f"derived-{len(world.model.before.others)}"
            if p["beside"]
            else world.outside("derived")
        )
        if target.exists():
            return
        if p["force"] and not p["beside"]:  # over a whole checkpoint of another step
            made = programs.run(programs.tool_command("strip", world.golden, target))
            require(made.code == 0, "exit-code", made.text())
        before = content_of(target) if target.exists() else None
        rest = ["--force"] if before else []
        if p["verb"] == "strip":
            command = programs.tool_command("strip", step.path, target, *rest)
        else:
            command = programs.tool_command(
                "lr", "set", step.path, target, "--steps", world.steps + 20, "--policy", "extend", *rest
            )
        outcome = programs.run(command)
        world.context = outcome.text()
        require(outcome.code is not None, "hang", outcome.text())
        if outcome.code == 0:
            code, report = world.model.verify(target)
            if kind in ("seen", "loaded", "unmet") and before:
                require(code == 0, "tool-damage", f"a damaged checkpoint was put over a whole one\n{outcome.text()}")
            elif kind in ("full", "part"):
                require(code == 0, "not-whole", f"{report['damage'][:3]}\n{outcome.text()}")
        else:
            allowed = {12, 3} if kind not in ("full", "part") else {13, 12, 2} if kind == "part" else set()
            require(
                outcome.code in allowed and len(outcome.errors) == 1,
                "exit-code",
                f"the source is {kind}\n{outcome.text()}",
            )
            require(
                (content_of(target) if target.exists() else None) == before,
                "tool-changed",
                f"a failed tool changed {target}\n{outcome.text()}",
            )
        now = world.model.look()
        if p["beside"] and target.exists():
            if outcome.code == 0 and kind not in ("full", "part"):
                shutil.rmtree(target)
                now = world.model.look()
        elif target.exists():
            shutil.rmtree(target)
        world.model.check_same(now)
        world.model.check_bystanders(now)
        world.model.settle(now)


class StripInPlace:
    """Somebody puts a stripped checkpoint where a step is: it is valid, and not enough for a resume."""

    name = "strip-in-place"

    def draw(self, world, rng):
        full = sorted(world.model.full_before())
        return {"step": rng.choice(full[:-1])} if len(full) > 1 else None

    def do(self, world, p):
        step = world.model.before.steps.get(p["step"])
        if step is None or step.link or world.model.kind(step) != "full":
            return
        copy = world.outside("stripped")
        first = programs.run(programs.tool_command("strip", step.path, copy))
        outcome = programs.run(programs.tool_command("strip", copy, step.path, "--force"))
        shutil.rmtree(copy, ignore_errors=True)
        world.context = first.text() + outcome.text()
        require(
            first.code == 0 and outcome.code == (2 if step.pinned else 0), "exit-code", first.text() + outcome.text()
        )
        now = world.model.look(allow_part={p["step"]})
        world.model.check_same(now, but={p["step"]})
        require(p["step"] in now.steps, "lost-step", outcome.text())
        world.model.check_bystanders(now)
        world.model.settle(now)


class Prune:
    name = "prune"

    def draw(self, world, rng):
        if not world.model.all_before():
            return None
        p = {"keep_last": rng.randint(1, 4), "keep_every": rng.choice([None, None, 2, 3]), "shim": None}
        p["damaged"] = rng.random() < 0.3
        if rng.random() < 0.4:
            p["shim"] = {
                "call": rng.choice(["any", "rename", "unlink", "fsync"]),
                "do": rng.choice(["kill", "kill-after", 5]),
                "k": rng.randint(1, 12),
            }
        return p

    def do(self, world, p):
        model = world.model
        full = sorted(model.full_before(), reverse=True)
        rules = ["--keep-last", p["keep_last"]] + (["--keep-every", p["keep_every"]] if p["keep_every"] else [])
        rules += ["--damaged"] if p.get("damaged") else []
        outcome = programs.run(
            programs.tool_command("prune", world.run, *rules),
            under=[world.run, world.store],
            plan=p["shim"],
            scratch=world.work,
        )
        world.context = outcome.text()
        require(outcome.code is not None, "hang", outcome.text())
        now = model.look()
        after = {**now.moved, **now.steps}
        # Damage in an older step may be counted as a place by prune, which proves only the newest: a step fewer may go.
        keep = set(full[: p["keep_last"]]) | {
            n for n in full if n == 0 or p["keep_every"] and n % p["keep_every"] == 0
        }
        hidden = sum(model.kind(s) in ("loaded", "unmet") for s in model.all_before().values())
        sure = set(full[: max(1, p["keep_last"] - hidden)]) | (keep - set(full[: p["keep_last"]]))
        for number in sure:
            require(
                number in after and model.kind(after[number]) == "full",
                "lost-step",
                f"step {number} was to be kept\n{outcome.text()}",
            )
        for number, step in model.all_before().items():
            if model.kind(step) in ("seen", "part"):
                require(
                    number in after and after[number].content == step.content,
                    "damaged-gone",
                    f"prune deleted step {number}, which is {model.kind(step)}\n{outcome.text()}",
                )
            if number in after:
                require(after[number].content == step.content, "tool-changed", f"prune changed step {number}")
        if outcome.code == 0 and not outcome.struck:
            extra = {n for n, s in after.items() if model.kind(s) == "full" and n not in keep and not s.pinned}
            require(not extra, "retention-short", f"prune left {sorted(extra)}\n{outcome.text()}")
            model.check_clean(now)
        elif outcome.struck:
            require(outcome.code in (0, 3, -signal.SIGKILL), "exit-code", outcome.text())
        else:
            waits = any(model.kind(s) != "full" for s in model.all_before().values())
            require(waits and outcome.code == 12, "exit-code", outcome.text())
        free = {name for name, aside in model.before.aside.items() if p.get("damaged") and not aside.pinned}
        if outcome.code == 0 and not outcome.struck:
            left = sorted(free & set(now.aside))
            require(not left, "retention-short", f"prune --damaged left {left}\n{outcome.text()}")
        model.check_bystanders(now, may_go=free)
        model.settle(now)


class Thin:
    """prune --thin: older full steps keep their model. May be killed: each step is then whole or thin."""

    name = "thin"

    def draw(self, world, rng):
        if len(world.model.full_before()) < 2:
            return None
        shim = {"call": rng.choice(["any", "rename", "unlink"]), "do": "kill", "k": rng.randint(1, 30)}
        return {"newest": rng.randint(1, 3), "shim": shim if rng.random() < 0.3 else None}

    def do(self, world, p):
        model = world.model
        full = sorted(model.full_before(), reverse=True)
        outcome = programs.run(
            programs.tool_command("prune", world.run, "--thin", p["newest"]),
            under=[world.run, world.store],
            plan=p["shim"],
            scratch=world.work,
        )
        world.context = outcome.text()
        require(outcome.code is not None, "hang", outcome.text())
        before = model.all_before()
        stays = {n for n in full if n == 0 or before[n].pinned or before[n].link} | set(full[: p["newest"]])
        now = model.look(allow_part=set(full) - stays)
        after = {**now.moved, **now.steps}
        for number, step in before.items():
            require(number in after, "lost-step", f"step {number} ({model.kind(step)}) is gone\n{outcome.text()}")
            thin = number in full and number not in stays and model.kind(after[number]) == "part"
            same = after[number].content == step.content
            require(same or thin, "tool-changed", f"step {number} was changed\n{outcome.text()}")
            if outcome.code == 0 and not outcome.struck and number in full and number not in stays:
                require(thin, "retention-short", f"step {number} is not thin\n{outcome.text()}")
        if outcome.struck:
            require(outcome.code in (0, 3, -signal.SIGKILL), "exit-code", outcome.text())
        elif outcome.code != 0:
            waits = any(model.kind(s) != "full" for s in before.values())
            require(waits and outcome.code == 12, "exit-code", outcome.text())
        model.check_bystanders(now)
        model.settle(now)


class Mend:
    """verify --repair of a step, with the others as donors, into a folder outside. Nothing in the run changes."""

    name = "mend"

    def draw(self, world, rng):
        steps = sorted(world.model.before.steps)
        return {"step": rng.choice(steps)} if steps else None

    def do(self, world, p):
        model = world.model
        step = model.before.steps.get(p["step"])
        if step is None:
            return
        made = world.outside("mended")
        donors = [s.path for n, s in model.before.steps.items() if n != p["step"] and model.kind(s) == "full"]
        words = [word for donor in donors for word in ("--from", donor)]
        outcome = programs.run(programs.tool_command("verify", step.path, "--repair", *words, "-o", made))
        world.context = outcome.text()
        require(outcome.code in (0, 1), "exit-code", outcome.text())
        if model.kind(step) in ("full", "part"):
            require(outcome.code == 0 and not made.exists(), "exit-code", outcome.text())
        elif made.exists():
            code, _ = model.verify(made)
            same = manifest_id(made) == step.id
            require(code == 0 and same, "not-whole", f"what was repaired is not step {step.step}\n{outcome.text()}")
            shutil.rmtree(made)
        else:
            require(outcome.code == 1, "exit-code", outcome.text())
        now = model.look()
        model.check_same(now)
        model.check_bystanders(now)
        model.settle(now)


class List:
    """ls changes nothing, and names the step that a start would take, as far as names, sizes and JSON say."""

    name = "ls"

    def draw(self, world, rng):
        return {} if world.model.before.steps else None

    def do(self, world, p):
        outcome = programs.run([programs.harness.CKPT, "ls", world.run, "--json"])
        world.context = outcome.text()
        require(outcome.code == 0, "exit-code", outcome.text())
        report = json.loads(outcome.out.strip().splitlines()[-1])
        model = world.model
        looks = [n for n, s in model.before.steps.items() if model.kind(s) in ("full", "loaded", "unmet")]
        if not model.before.moved:
            require(
                report.get("resume") == (max(looks) if looks else None),
                "wrong-resume",
                f"ls would resume {report.get('resume')}, expected {max(looks, default=None)}\n{outcome.text()}",
            )
        now = model.look()
        model.check_same(now)
        model.check_bystanders(now)
