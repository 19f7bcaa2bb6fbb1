"""The prepared folder of the failing calls, the programs that are tried on it, and the trials there are."""

import collections
import os
import random
import shutil

import programs
from failing import EFFECTS, NearTrain, Tool, Train, Trial
from folder import content_of


ON_REQUEST = ("near", "thin", "mend")  # in the long form (--all) they are tried anyway


class Bench:
    """The prepared folder, made by the programs themselves."""

    def __init__(self, work):
        self.work, self.template, self.data, self.number = work, work / "template", work / "text.txt", 0
        programs.harness.write_text(self.data, 4_000)
        run = self.template / "run"
        overrides = {
            "training.steps": 8,
            "training.dataset_path": self.data,
            "job.dump_folder": run,
            "checkpoint.interval": 2,
            "checkpoint.keep_latest_k": 0,
        }
        programs.harness.train(programs.CONFIG, 1, overrides)
        self.ids = {step["step"]: step["id"] for step in programs.harness.ckpt("ls", run)["steps"]}
        shutil.rmtree(self.template)
        programs.harness.train(programs.CONFIG, 2, dict(overrides, **{"debug.stop_at_step": 4}), expect=75)
        self.contents = {step: content_of(run / "checkpoint" / f"step-{step:08d}") for step in (2, 4)}
        shutil.copytree(run / "checkpoint" / "step-00000002", self.template / "copy")
        shutil.copytree(run / "checkpoint" / "step-00000002", self.template / "hurt")
        shard = self.template / "hurt" / "model" / "shard-00000.h5"
        os.chmod(shard, 0o600)
        with open(shard, "r+b") as file:
            file.seek(5_000)
            file.write(b"damage")
        dead = run / "checkpoint" / "step-00000006.tmp-00000000dead"
        (dead / "model").mkdir(parents=True)
        (dead / "model" / "shard-00000.h5").write_bytes(b"half")
        self.scenarios = {
            "train": Train(self),
            "near": NearTrain(self),
            "reshard": Tool(self, ["reshard", "{src}", "{dst}", "--dp", "3", "--pp", "1"], "out"),
            "compress": Tool(self, ["reshard", "{src}", "{dst}", "--dp", "1", "--compression", "zstd"], "out"),
            "replace": Tool(
                self, ["reshard", "{copy}", "{step}", "--dp", "1", "--force"], "run/checkpoint/step-00000002"
            ),
            "replace-no-exchange": Tool(
                self,
                ["reshard", "{copy}", "{step}", "--dp", "1", "--force"],
                "run/checkpoint/step-00000002",
                {"no_flags": True},
            ),
            "strip": Tool(self, ["strip", "{src}", "{dst}"], "out"),
            "strip-bf16": Tool(self, ["strip", "{src}", "{dst}", "--keep", "model", "--dtype", "bf16"], "out"),
            "lr-set": Tool(self, ["lr", "set", "{src}", "{dst}", "--steps", "20", "--policy", "extend"], "out"),
            "prune": Tool(self, ["prune", "{run}", "--keep-last", "1"]),
            "thin": Tool(self, ["prune", "{run}", "--thin", "1"], "run/checkpoint/step-00000002"),
            "mend": Tool(self, ["verify", "{hurt}", "--repair", "--from", "{copy}", "-o", "{dst}"], "out"),
            "verify": Tool(self, ["verify", "{run}"]),
            "ls": Tool(self, ["ls", "{run}"]),
            "inspect": Tool(self, ["inspect", "{src}", "--stats"]),
            "diff": Tool(self, ["diff", "{src}", "{copy}"], good=(1,)),
        }

    def fresh(self):
        self.number += 1
        return self.work / f"trial-{self.number}"

    def whole(self, path):
        return programs.run([programs.harness.CKPT, "verify", path]).code == 0

    def trials(self, only=""):
        """Every trial there is: each call that each scenario makes, each effect, once and sticky."""
        found = []
        for name, scenario in self.scenarios.items():
            if not name.startswith(only.split(":")[0]):
                continue
            for (rank, call), count in sorted(scenario.record().items()):
                if call not in EFFECTS:
                    continue
                for effect in EFFECTS[call]:
                    for k in self.points(call, count):
                        found.append(Trial(name, rank, call, k, effect))
                        if effect not in ("EINTR", "short"):  # a call that is always interrupted is repeated for ever
                            found.append(Trial(name, rank, call, k, effect, True))
                if (
                    name == "train"
                    and rank == "0"
                    and call in ("unlink", "rmdir", "rename", "opendir", "readdir", "stat", "open", "fsync")
                ):
                    found += [Trial(name, rank, call, k, "slow:8000") for k in self.points(call, count)]
        return [trial for trial in found if trial.text().startswith(only)]

    @staticmethod
    def points(call, count):
        most = 40 if call in ("malloc", "thread") else 400
        return (
            range(1, count + 1) if count <= most else sorted({1 + i * (count - 1) // (most - 1) for i in range(most)})
        )


def sample(trials, seed, per_pair):
    """`per_pair` of each (call, effect), drawn by `seed`: of titan-ckpt, which is quick, where it makes
    that call. And as many of each call of titan-train, of slow ones only four: they take their time. Those of
    ON_REQUEST count where --only asks for them."""
    rng = random.Random(seed)
    trials = [trial for trial in trials if trial.scenario not in ON_REQUEST] or trials
    pairs, calls = collections.defaultdict(list), collections.defaultdict(list)
    for trial in trials:
        if trial.scenario != "train":
            pairs[trial.call, trial.effect].append(trial)
    slow = sorted({trial.call for trial in trials if trial.effect.startswith("slow:")})
    slow = rng.sample(slow, min(4, len(slow)))
    for trial in trials:
        if trial.effect.startswith("slow:") and trial.call not in slow:
            continue
        if trial.scenario == "train" and (trial.call, trial.effect) not in pairs:
            calls[trial.call, trial.effect].append(trial)
        elif trial.scenario == "train":
            calls[trial.call].append(trial)
    groups = [pairs[key] for key in sorted(pairs)] + [calls[key] for key in sorted(calls, key=str)]
    return [trial for group in groups for trial in rng.sample(group, min(per_pair, len(group)))]
