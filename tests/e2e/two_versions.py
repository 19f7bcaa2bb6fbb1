#!/usr/bin/env python3
"""Two versions on one checkpoint: this one resumes a run that b3dffeb began (tests/golden/resume-b3dffeb), and, if
TITAN_OLD_BIN names a folder with the programs of an older revision (scripts/two-versions), each reads, rewrites and resumes
what the other wrote, and each respects the other's lock."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import harness  # noqa: E402

GOLDEN = harness.ROOT / "tests" / "golden" / "resume-b3dffeb"
CONFIG = GOLDEN / "run.toml"
OLD = os.environ.get("TITAN_OLD_BIN", "")


class Version:
    """The two programs of one revision."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)

    def call(self, program, *args, expect=0):
        done = subprocess.run([self.folder / program, *map(str, args)], capture_output=True, text=True, timeout=300)
        if done.returncode != expect:
            raise harness.Failure(f"exit code {done.returncode}, expected {expect}: {self.folder / program} {' '.join(map(str, args))}\n{done.stdout[-2000:]}\n{done.stderr[-3000:]}")
        return done

    def ckpt(self, *args, expect=0):
        out = self.call("titan-ckpt", *args, "--json", expect=expect).stdout.strip()
        return json.loads(out.splitlines()[-1]) if out else None

    def train(self, run, nproc, expect=0, stop=None, **settings):
        """Runs to the end, or to step `stop`."""
        if stop:
            settings["debug__stop_at_step"], expect = stop, 75
        overrides = {"training.dataset_path": GOLDEN / "tokens.bin", "job.dump_folder": run} | {key.replace("__", "."): value for key, value in settings.items()}
        return self.call("titan-train", "run", CONFIG, "--nproc", nproc, *harness.flags(overrides), expect=expect).stderr

    def id_of(self, checkpoint):
        return self.ckpt("inspect", checkpoint)["id"]


NEW = Version(harness.BIN)
# The first rank of the pipeline has the first and the last stage: b3dffeb never placed stages so.
TWO_LAYERS = {"model__n_layers": 2}
IN_A_V = TWO_LAYERS | {"parallelism__pipeline_parallel_degree": 2, "parallelism__pipeline_parallel_schedule": "ZBVZeroBubble"}


def steps_of(run):
    """{step: {field: its characters}} of metrics.jsonl."""
    steps = {}
    for line in (run / "metrics.jsonl").read_text().splitlines():
        fields = json.loads(line)
        if "event" not in fields:
            steps[str(fields["step"])] = {key: harness._raw(line, key) for key in ("loss", "grad_norm", "lr", "tokens", "samples")}
    return steps


class Scratch(unittest.TestCase):
    def setUp(self):
        self.work = harness.scratch("versions")

    def tearDown(self):
        shutil.rmtree(self.work, ignore_errors=True)


def run_with_files(folder, tokenizer):
    """A run that begins from a folder of Hugging Face's, to step 4; returns it and the manifest of that step."""
    hf, run = folder / "hf", folder / "run"
    NEW.train(folder / "first", 1, stop=4)
    NEW.ckpt("convert", f"{folder / 'first'}@4", hf, "--to", "hf")
    if tokenizer:
        (hf / "tokenizer.json").write_text("words")
    NEW.train(run, 2, stop=4, checkpoint__initial_load_path=hf)
    return run, json.loads((run / "checkpoint" / "step-00000004" / "manifest.json").read_text())


class GoOnWithB3dffeb(Scratch):
    whole = json.loads((GOLDEN / "whole.json").read_text())

    def go_on(self, nproc):
        run = self.work / f"run-{nproc}"
        shutil.copytree(GOLDEN / "run", run)
        report = NEW.ckpt("verify", f"{run}@4")
        self.assertTrue(report["ok"], report)
        self.assertEqual(NEW.id_of(f"{run}@4"), self.whole["ids"]["4"])
        log = NEW.train(run, nproc)
        self.assertIn("resume at step 4", log)
        steps = steps_of(run)
        self.assertEqual(list(steps), list(self.whole["steps"]))
        for step, expected in self.whole["steps"].items():
            for key in ("lr", "tokens", "samples"):
                self.assertEqual(steps[step][key], expected[key], f"{key} of step {step}")
            for key in ("loss", "grad_norm"):
                self.assertAlmostEqual(float(steps[step][key]), float(expected[key]), delta=1e-3 * float(expected[key]), msg=f"{key} of step {step}")
        self.assertTrue(NEW.ckpt("verify", f"{run}@8")["ok"])
        environment = json.loads((run / "checkpoint" / "step-00000008" / "train_state.json").read_text())["environment"]
        if environment != self.whole["environment"]:
            print(f"bits not compared on {nproc} ranks: the environment is {environment}, that of the golden run {self.whole['environment']}")
            return
        self.assertEqual(steps, self.whole["steps"])
        self.assertEqual(NEW.id_of(f"{run}@8"), self.whole["ids"]["8"])
        print(f"on {nproc} ranks: the same bits as b3dffeb without a stop, id {self.whole['ids']['8']}")

    def test_on_one_rank(self):
        self.go_on(1)

    def test_on_two_ranks(self):
        self.go_on(2)


class WrittenToday(Scratch):
    def test_nothing_in_a_checkpoint_is_beyond_what_b3dffeb_reads(self):
        """What of FORMAT.md makes an older reader refuse or misread: checked on files of today's writer, without the old program."""
        cases = (("raw", "none", [], {}), ("zstd", "zstd", ["zstd"], {}), ("shared", "none", [], {"checkpoint__files_per_host": 1}), ("v", "none", [], IN_A_V))
        for name, compression, features, settings in cases:
            run = self.work / name
            NEW.train(run, 2, stop=4, checkpoint__compression=compression, **settings)
            text = (run / "checkpoint" / "step-00000004" / "manifest.json").read_text()
            self.assertRegex(text, r'^\{"self_digest":"[0-9a-f]{32}",\s*"format":\{"name":"titan-checkpoint","major":1,"minor":[01]\}')
            manifest = json.loads(text)
            self.assertEqual(manifest["requires"], features)
            self.assertEqual(manifest["order"], "row_major")
            self.assertLessEqual({file["role"] for file in manifest["files"]}, {"shard", "json", "derived"})
            for record in manifest["parameters"]:
                for tensor in [record["model"], *record["slots"].values()]:
                    self.assertTrue(all(len(piece) == 5 or (len(piece) == 6 and piece[5] in (0, 1)) for piece in tensor["pieces"]))

    def test_files_that_came_with_a_model_are_members_that_b3dffeb_knows_and_no_part_of_the_id(self):
        ids = set()
        for name in ("with", "without"):
            run, manifest = run_with_files(self.work / name, tokenizer=name == "with")
            self.assertEqual(manifest["requires"], [])
            roles = {file["path"]: file["role"] for file in manifest["files"] if file["path"].startswith("hf/")}
            self.assertEqual(roles, {"hf/config.json": "derived"} | ({"hf/tokenizer.json": "derived"} if name == "with" else {}))
            ids.add(NEW.id_of(f"{run}@4"))
        self.assertEqual(len(ids), 1)


@unittest.skipUnless(OLD, "TITAN_OLD_BIN is not set: scripts/two-versions builds an older revision and runs this")
class BothWays(Scratch):
    def setUp(self):
        super().setUp()
        self.old = Version(OLD)

    def pairs(self):
        return (("old to new", self.old, NEW), ("new to old", NEW, self.old))

    def both(self, check):
        for name, writer, reader in self.pairs():
            with self.subTest(name):
                folder = self.work / name.replace(" ", "-")
                folder.mkdir()
                check(folder, writer, reader)

    def test_every_verb_reads_and_rewrites_what_the_other_wrote(self):
        def check(folder, writer, reader):
            for compression in ("none", "zstd"):
                run = folder / compression
                writer.train(run, 2, stop=4, checkpoint__compression=compression)
                step = run / "checkpoint" / "step-00000004"
                identity = writer.id_of(f"{run}@4")
                self.assertEqual(reader.id_of(f"{run}@4"), identity)
                self.assertTrue(reader.ckpt("verify", run)["ok"])
                reader.ckpt("ls", run)
                for args in (("cat", f"{run}@4", "norm.weight", "-o"),):
                    for version, name in ((writer, "a.npy"), (reader, "b.npy")):
                        version.ckpt(*args, folder / name)
                    self.assertEqual((folder / "a.npy").read_bytes(), (folder / "b.npy").read_bytes())
                moved, bare, lower = (folder / f"{compression}-{name}" for name in ("moved", "bare", "lower"))
                reader.ckpt("reshard", step, moved, "--dp", "3", "--pp", "1", "--compression", "zstd" if compression == "none" else "none")
                self.assertEqual(writer.id_of(moved), identity)
                self.assertTrue(writer.ckpt("verify", moved)["ok"])
                self.assertTrue(writer.ckpt("diff", moved, step)["equal"])
                reader.ckpt("strip", step, bare)
                self.assertTrue(writer.ckpt("verify", bare)["ok"])
                reader.ckpt("lr", "set", step, lower, "--steps", "16", "--policy", "rescale")
                self.assertTrue(writer.ckpt("verify", lower)["ok"])
                reader.ckpt("reshard", step, step, "--dp", "1", "--pp", "1", expect=2)  # SRC is DST
        self.both(check)

    def test_the_older_one_reads_rewrites_and_goes_on_with_stages_in_a_v(self):
        whole, run = self.work / "whole", self.work / "run"
        NEW.train(whole, 1, stop=4, **TWO_LAYERS)
        NEW.train(run, 2, stop=4, **IN_A_V)
        step, identity = run / "checkpoint" / "step-00000004", NEW.id_of(f"{whole}@4")
        manifest = json.loads((step / "manifest.json").read_text())
        ranks = {record["name"]: record["stage"] for record in manifest["parameters"]}
        self.assertEqual({ranks["tok_embeddings.weight"], ranks["output.weight"]}, {0})
        self.assertEqual(set(ranks.values()), {0, 1})
        self.assertEqual(self.old.id_of(f"{run}@4"), identity)
        report = self.old.ckpt("verify", f"{run}@4")
        self.assertTrue(report["ok"], report)
        for name in ranks:
            self.old.ckpt("cat", f"{run}@4", name, "-o", self.work / "v.npy")
            NEW.ckpt("cat", f"{whole}@4", name, "-o", self.work / "one.npy")
            self.assertEqual((self.work / "v.npy").read_bytes(), (self.work / "one.npy").read_bytes(), name)
        self.old.ckpt("reshard", step, self.work / "moved", "--dp", "1", "--pp", "2")
        self.assertEqual(NEW.id_of(self.work / "moved"), identity)
        self.assertIn("resume at step 4", self.old.train(run, 1, stop=6, **TWO_LAYERS))
        self.assertIn("resume at step 6", NEW.train(run, 2, **IN_A_V))
        self.assertEqual(harness.published_steps(run)[-1], 8)

    def test_the_older_one_reads_files_that_several_ranks_share(self):
        run = self.work / "run"
        NEW.train(run, 4, stop=4, checkpoint__files_per_host=1)
        step, moved = run / "checkpoint" / "step-00000004", self.work / "moved"
        self.assertEqual(len(list(step.glob("*/shard-*.h5"))), 2)
        self.assertTrue(self.old.ckpt("verify", run)["ok"])
        self.assertEqual(self.old.id_of(step), NEW.id_of(step))
        self.old.ckpt("reshard", step, moved, "--dp", "3", "--pp", "1")
        self.assertTrue(self.old.ckpt("diff", moved, step)["equal"])
        self.assertEqual(NEW.id_of(moved), NEW.id_of(step))
        for version, name in ((self.old, "old.npy"), (NEW, "new.npy")):
            version.ckpt("cat", step, "norm.weight", "-o", self.work / name)
        self.assertEqual((self.work / "old.npy").read_bytes(), (self.work / "new.npy").read_bytes())

    def test_the_older_one_carries_the_files_that_came_with_a_model(self):
        run, _ = run_with_files(self.work, tokenizer=True)
        self.assertTrue(self.old.ckpt("verify", run)["ok"])
        self.old.ckpt("reshard", f"{run}@4", self.work / "moved", "--dp", "1", "--pp", "1")
        for version, name in ((self.old, "old"), (NEW, "new")):
            version.ckpt("convert", self.work / "moved", self.work / name, "--to", "hf")
            self.assertEqual((self.work / name / "tokenizer.json").read_text(), "words")

    def test_each_goes_on_with_the_other_s_run_to_the_same_id(self):
        def check(folder, writer, reader):
            whole, run = folder / "whole", folder / "run"
            writer.train(whole, 1)
            writer.train(run, 2, stop=4)
            reader.train(run, 1, stop=6)
            self.assertIn("resume at step 6", writer.train(run, 2))
            self.assertEqual(writer.id_of(f"{run}@8"), writer.id_of(f"{whole}@8"))
            self.assertEqual(steps_of(run), steps_of(whole))
        self.both(check)

    def test_each_retains_and_prunes_among_the_other_s_steps(self):
        def check(folder, writer, reader):
            run = folder / "run"
            writer.train(run, 1, stop=3, checkpoint__interval=1)
            (run / "checkpoint" / "step-00000001" / ".keep").touch()
            reader.train(run, 1, stop=5, checkpoint__interval=1, checkpoint__keep_latest_k=2)
            self.assertEqual(harness.published_steps(run), [1, 4, 5])
            reader.ckpt("prune", run, "--keep-last", "1")
            self.assertEqual(harness.published_steps(run), [1, 5])
            self.assertEqual(harness.leftovers(run), [])
        self.both(check)

    def test_each_respects_the_other_s_lock(self):
        def check(folder, writer, reader):
            run = folder / "run"
            args = [writer.folder / "titan-train", "run", CONFIG, "--nproc", "1", *harness.flags({"training.dataset_path": GOLDEN / "tokens.bin", "job.dump_folder": run, "training.steps": 1_000_000,
                                                                                                 "checkpoint.interval": 50, "checkpoint.keep_latest_k": 2})]
            process = subprocess.Popen(list(map(str, args)), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
            try:
                deadline = time.time() + 60
                while not harness.published_steps(run):
                    self.assertLess(time.time(), deadline, "no step was saved")
                    time.sleep(0.05)
                reader.ckpt("prune", run, "--keep-last", "1", expect=11)
                self.assertRegex(reader.train(run, 1, expect=11, training__steps=1_000_000), "locked")
                self.assertIsNone(process.poll(), "the run that holds the lock ended")
            finally:
                process.terminate()
                process.wait(timeout=60)
            self.assertTrue(reader.ckpt("verify", f"{run}@latest")["ok"])
        self.both(check)


if __name__ == "__main__":
    unittest.main(verbosity=2)
