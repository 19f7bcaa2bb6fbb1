#!/usr/bin/env python3
"""Data are identified by content: renamed, moved or reordered files are the same data, read in the stored order; others are refused (13)."""

import gzip
import json
import math
import pathlib
import shutil
import struct
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import harness  # noqa: E402

CONFIG = harness.ROOT / "tests" / "e2e" / "small.toml"
FILES = {"a.txt": (900, 1), "b.txt": (1300, 2), "c.txt": (700, 3)}  # bytes, seed


def write(folder, **names):
    """A folder of the three files, under other names where `names` has one: a="z.txt"."""
    folder.mkdir()
    for name, (count, seed) in FILES.items():
        harness.write_text(folder / names.get(name[0], name), count, seed)
    return folder


class SameData(unittest.TestCase):
    """A run of 12 steps (more than one epoch) that is stopped after 6 and finds its data otherwise."""

    @classmethod
    def setUpClass(cls):
        cls.work = harness.scratch("same-data")
        cls.first = write(cls.work / "first")
        cls.whole = cls.work / "whole"
        cls.settings = {"training.steps": 30, "checkpoint.interval": 6, "validation.enable": True, "validation.freq": 10, "training.dataset_path": cls.first}
        harness.train(CONFIG, 1, {**cls.settings, "job.dump_folder": cls.whole})
        cls.stopped = cls.work / "stopped"
        harness.train(CONFIG, 1, {**cls.settings, "job.dump_folder": cls.stopped, "debug.stop_at_step": 6}, expect=75)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.work, ignore_errors=True)

    def go_on(self, data, nproc=1, expect=0, extra=(), **overrides):
        """The stopped run, gone on with on `data`; returns its folder and its stderr."""
        run = self.work / f"run-{self.id().rsplit('.', 1)[1]}"
        shutil.rmtree(run, ignore_errors=True)
        shutil.copytree(self.stopped, run)
        _, err = harness.train(CONFIG, nproc, {**self.settings, "job.dump_folder": run, "training.dataset_path": data, **overrides}, extra, expect)
        return run, err

    def equal(self, run):
        """The run is the one that was never stopped, and its checkpoints name the files as its first start did."""
        self.assertEqual(harness.step_lines(run), harness.step_lines(self.whole))
        losses = [[event["validation_loss"] for event in harness.events(folder) if event["event"] == "validation"] for folder in (run, self.whole)]
        self.assertEqual(*losses)
        self.assertEqual(len(losses[0]), 3)
        for step in (12, 30):
            self.assertEqual(harness.checkpoint_id(run, step), harness.checkpoint_id(self.whole, step))
        names = [file["name"] for file in harness.ckpt("inspect", f"{run}@30")["data"]["files"]]
        self.assertEqual(names, list(FILES))
        self.assertTrue(harness.ckpt("diff", f"{run}@30", f"{self.whole}@30")["equal"])

    def test_renamed_so_that_another_order_would_follow(self):
        data = write(self.work / "turned", a="z.txt", b="m.txt", c="a.txt")
        run, err = self.go_on(data, nproc=2)
        self.assertIn("data: same contents under other names: taken (a.txt is z.txt now, b.txt is m.txt now, c.txt is a.txt now), and read in the checkpoint's order", err)
        self.assertNotIn("not bitwise", err)
        self.equal(run)
        notes = [note for attempt in harness.ckpt("inspect", f"{run}@30")["train_state"]["attempts"] for note in attempt["notes"]]
        self.assertTrue(any(note.startswith("data: same contents") for note in notes), notes)

    def test_one_file_renamed(self):
        run, err = self.go_on(write(self.work / "one", b="bb.txt"), **{"parallelism.pipeline_parallel_degree": 2}, nproc=2)
        self.assertIn("same contents under another name: taken (b.txt is bb.txt now)", err)
        self.assertNotIn("order", err)
        self.equal(run)

    def test_moved_to_another_folder(self):
        run, err = self.go_on(write(self.work / "elsewhere"))
        self.assertNotIn("same contents", err)
        self.equal(run)

    def test_listed_in_another_order(self):
        run, err = self.go_on(",".join(str(self.first / name) for name in ("c.txt", "a.txt", "b.txt")))
        self.assertIn("the same files in another order: read in the checkpoint's order", err)
        self.equal(run)

    def test_an_empty_file_more(self):
        data = write(self.work / "marked")
        (data / "_SUCCESS").touch()
        run, _ = self.go_on(data)
        self.equal(run)

    def test_renamed_after_it_was_renamed(self):
        data = write(self.work / "again", a="x.txt")
        run, _ = self.go_on(data, expect=75, **{"debug.stop_at_step": 12})
        (data / "x.txt").rename(data / "y.txt")
        _, err = harness.train(CONFIG, 1, {**self.settings, "job.dump_folder": run, "training.dataset_path": data})
        self.assertIn("a.txt is y.txt now", err)
        self.equal(run)

    def test_a_run_from_another_runs_checkpoint(self):
        run = self.work / "from-elsewhere"
        _, err = harness.train(CONFIG, 1, {**self.settings, "job.dump_folder": run, "training.dataset_path": write(self.work / "third", c="0.txt")},
                               ["--resume", f"{self.stopped}@6"])
        self.assertIn("c.txt is 0.txt now", err)
        self.assertEqual(harness.checkpoint_id(run, 30), harness.checkpoint_id(self.whole, 30))

    def refused(self, data, *texts):
        run, err = self.go_on(data, nproc=2, expect=13)
        self.assertEqual(err.count("error: "), 1, err)
        for text in texts:
            self.assertIn(text, " ".join(err.split()), err)  # it stands in the folded column of a table
        self.assertIn("--allow training.dataset", err)
        self.assertEqual(harness.published_steps(run), [6])

    def test_other_contents_of_the_same_size(self):
        data = write(self.work / "other")
        text = (data / "b.txt").read_text()
        (data / "b.txt").write_text(text[:600] + ("X" if text[600] != "X" else "Y") + text[601:])
        self.refused(data, "changed: b.txt (other contents of 1300 bytes)")

    def test_a_file_that_grew(self):
        data = write(self.work / "grown")
        with open(data / "c.txt", "a") as file:
            file.write("more")
        self.refused(data, "changed: c.txt (700 bytes, 704 now)")

    def test_a_file_more(self):
        data = write(self.work / "more")
        (data / "d.txt").write_text("one more")
        self.refused(data, "added: d.txt")

    def test_a_file_less(self):
        data = write(self.work / "less")
        (data / "a.txt").unlink()
        self.refused(data, "removed: a.txt")

    def test_renamed_and_a_file_more(self):
        data = write(self.work / "both", b="n.txt")
        (data / "d.txt").write_text("one more")
        self.refused(data, "added: d.txt")

    def test_other_data_begin_a_new_epoch_where_allowed(self):
        data = write(self.work / "allowed")
        (data / "d.txt").write_text("one more file of data, and a line of it\n")
        run, _ = self.go_on(data, extra=["--allow", "training.dataset"])
        position = harness.ckpt("inspect", f"{run}@30")["data"]
        self.assertEqual([file["name"] for file in position["files"]], [*FILES, "d.txt"])
        self.assertEqual(position["epoch_base"], 48)


class OneFile(unittest.TestCase):
    def setUp(self):
        self.work = harness.scratch("one-file")
        self.text = self.work / "py.txt"
        harness.write_text(self.text, 3_000)

    def tearDown(self):
        shutil.rmtree(self.work, ignore_errors=True)

    def test_a_file_and_the_folder_that_it_is_moved_to(self):
        settings = {"training.steps": 12, "training.dataset_path": self.text}
        harness.train(CONFIG, 1, {**settings, "job.dump_folder": self.work / "whole"})
        harness.train(CONFIG, 1, {**settings, "job.dump_folder": self.work / "run", "debug.stop_at_step": 5}, expect=75)
        (self.work / "data").mkdir()
        self.text.rename(self.work / "data" / "moved.txt")
        _, err = harness.train(CONFIG, 2, {**settings, "job.dump_folder": self.work / "run", "training.dataset_path": self.work / "data"})
        self.assertIn("same contents under another name: taken (py.txt is moved.txt now)", err)
        self.assertEqual(harness.checkpoint_id(self.work / "run", 12), harness.checkpoint_id(self.work / "whole", 12))

    def test_equal_files_swapped_are_no_difference(self):
        data = self.work / "data"
        data.mkdir()
        for name in ("one.txt", "two.txt"):
            shutil.copy(self.text, data / name)
        settings = {"training.steps": 8, "training.dataset_path": data, "job.dump_folder": self.work / "run"}
        harness.train(CONFIG, 1, {**settings, "debug.stop_at_step": 4}, expect=75)
        for old, new in (("one.txt", "x"), ("two.txt", "one.txt"), ("x", "two.txt")):
            (data / old).rename(data / new)
        _, err = harness.train(CONFIG, 1, settings)
        self.assertNotIn("same contents", err)
        self.assertNotIn("not bitwise", err)

    def test_three_lines_of_python_make_a_text_file(self):
        import json
        rows = ["first", "second é \"quoted\"", "third\nwith two lines"]
        lines = self.work / "rows.jsonl"
        lines.write_text("".join(json.dumps({"id": i, "text": row}) + "\n" for i, row in enumerate(rows)))
        _, err = harness.train(CONFIG, 1, {"training.dataset_path": lines, "job.dump_folder": self.work / "new"}, expect=2)
        program = [line[4:] for line in err.splitlines() if line.startswith("    ")]
        self.assertEqual(len(program), 3, err)
        exec("\n".join(program), {})  # noqa: S102: the lines that a person would paste
        self.assertEqual((self.work / "rows.txt").read_text(), "\n".join(rows) + "\n")
        self.assertFalse((self.work / "new").exists())


class ByTokenizer(unittest.TestCase):
    """Texts that a tokenizer.json makes ids of: once, in a folder beside the run."""

    def test_tokens_are_made_once_and_again_where_they_are_lost(self):
        work = harness.scratch("by-tokenizer")
        self.addCleanup(shutil.rmtree, work, ignore_errors=True)
        subprocess.run([harness.ROOT / "tests" / "cli" / "tools" / "small-tokenizer", work / "tok"], check=True)
        data = write(work / "data")
        with gzip.open(data / "d.jsonl.gz", "wt") as rows:
            for k in range(20):
                rows.write(json.dumps({"body": "hello titan " * (k + 1)}) + "\n")
        valid = work / "valid.txt"
        harness.write_text(valid, 2000, 9)
        settings = {"training.steps": 8, "checkpoint.interval": 4, "validation.enable": True, "validation.freq": 4, "validation.dataset_path": valid,
                    "training.dataset_path": f"{data}/*", "model.tokenizer": work / "tok", "model.vocab_size": 301, "training.text_field": "body"}
        plan = subprocess.run([harness.TRAIN, "plan", CONFIG, *harness.flags({**settings, "job.dump_folder": work / "none"}), "--json"], capture_output=True, text=True, check=True)
        texts = json.loads(plan.stdout)["texts"]
        self.assertEqual([(one["there"], one["files"]) for one in texts], [(False, 4), (False, 1)])
        self.assertFalse((work / "none").exists())
        whole, run = work / "whole", work / "run"
        _, err = harness.train(CONFIG, 1, {**settings, "job.dump_folder": whole})
        self.assertEqual(err.count("text becomes tokens once"), 2, err)
        self.assertIn("as tokens of", err)
        harness.train(CONFIG, 2, {**settings, "job.dump_folder": run, "debug.stop_at_step": 4}, expect=75)
        made = {path.relative_to(run): path.read_bytes() for path in (run / "cache").rglob("*.*") if path.is_file()}
        self.assertEqual(made, {path.relative_to(whole): path.read_bytes() for path in (whole / "cache").rglob("*.*") if path.is_file()})
        inside = harness.ckpt("inspect", f"{run}@4")["data"]
        digest = harness.ckpt("tokens", next((run / "cache").iterdir()))["tokenizer_digest"]
        self.assertEqual((inside["kind"], inside["tokenizer"]), ("text", f"{digest}; behind 300"))
        self.assertTrue((run / "checkpoint" / "step-00000004" / "hf" / "tokenizer.json").exists())
        training, validation = sorted((run / "cache").iterdir(), key=lambda folder: -sum(path.stat().st_size for path in folder.glob("tokens-*")))
        tokens = training / "tokens-00000.bin"
        tokens.chmod(0o644)
        tokens.write_bytes(tokens.read_bytes()[:100] + b"h\0e\0" + tokens.read_bytes()[104:])
        self.assertNotEqual(tokens.read_bytes(), made[tokens.relative_to(run)])
        shutil.rmtree(validation)
        (data / "a.txt").rename(data / "z.txt")
        _, err = harness.train(CONFIG, 2, {**settings, "job.dump_folder": run, "parallelism.pipeline_parallel_degree": 2})
        self.assertIn("a.txt is z.txt now", err)
        self.assertIn("tokens-00000.bin' is damaged", err)
        self.assertEqual(harness.step_lines(run), harness.step_lines(whole))
        self.assertEqual(harness.checkpoint_id(run, 8), harness.checkpoint_id(whole, 8))
        again = {path.relative_to(run).name: path.read_bytes() for path in (run / "cache").rglob("*.*") if path.is_file()}
        self.assertEqual(again, {path.name: text for path, text in made.items()})


    def test_texts_are_mixed_and_the_tail_of_each_is_held_back(self):
        work = harness.scratch("texts-mixed")
        self.addCleanup(shutil.rmtree, work, ignore_errors=True)
        subprocess.run([harness.ROOT / "tests" / "cli" / "tools" / "small-tokenizer", work / "tok"], check=True)
        write(work / "first")
        harness.write_text(work / "other.txt", 1600, 9)
        settings = {"training.steps": 8, "checkpoint.interval": 4, "validation.enable": True, "validation.freq": 4, "validation.steps": 2, "validation.holdout": 0.2,
                    "training.datasets": f"path={work / 'first'} weight=3,path={work / 'other.txt'} epochs=2 exhausted=stop", "training.document_mask": True,
                    "training.pack": "whole", "model.tokenizer": work / "tok", "model.vocab_size": 301}

        def plan(run):
            argv = [harness.TRAIN, "plan", CONFIG, *harness.flags({**settings, "job.dump_folder": run}), "--json"]
            return json.loads(subprocess.run(argv, capture_output=True, text=True, check=True).stdout)

        self.assertEqual([(one["there"], one["files"]) for one in plan(work / "none")["texts"]], [(False, 3), (False, 1)])
        self.assertFalse((work / "none").exists())
        whole, run = work / "whole", work / "run"
        _, err = harness.train(CONFIG, 1, {**settings, "job.dump_folder": whole})
        self.assertEqual(err.count("text becomes tokens once"), 2, err)
        self.assertIn("samples per epoch of first 75 %, other.txt 25 %", err)
        harness.train(CONFIG, 2, {**settings, "job.dump_folder": run, "debug.stop_at_step": 4, "parallelism.pipeline_parallel_degree": 2}, expect=75)
        sets = plan(run)["data"]["sets"]
        self.assertEqual([(one["name"], one["samples"], one["most_epochs"]) for one in sets], [("first", 24, 0), ("other.txt", 8, 2)])
        shutil.rmtree(run / "cache")
        self.assertEqual(plan(run)["data"]["sets"], sets, "what the run has read is known without the tokens")
        (work / "first" / "a.txt").rename(work / "first" / "z.txt")
        (work / "other.txt").rename(work / "moved.txt")
        turned = f"path={work / 'moved.txt'} epochs=2 exhausted=stop,path={work / 'first'} weight=3"
        harness.train(CONFIG, 3, {**settings, "job.dump_folder": run, "training.datasets": turned})
        self.assertEqual(harness.step_lines(run), harness.step_lines(whole))
        self.assertEqual(harness.checkpoint_id(run, 8), harness.checkpoint_id(whole, 8))
        losses = [[event["validation_loss"] for event in harness.events(folder) if event["event"] == "validation"] for folder in (run, whole)]
        self.assertEqual(*losses)
        self.assertEqual(len(losses[0]), 2)


class Mixtures(unittest.TestCase):
    """Three sets: a run of 12 steps and the same run stopped, gone on with on other layouts and with other weights."""

    @classmethod
    def setUpClass(cls):
        cls.work = harness.scratch("mixtures")
        for place, (name, (count, seed)) in enumerate(FILES.items()):
            (cls.work / f"set{place}").mkdir()
            harness.write_text(cls.work / f"set{place}" / name, count, seed)
        harness.write_text(cls.work / "judge.txt", 200, 9)
        cls.settings = {"training.steps": 12, "checkpoint.interval": 4, "training.document_mask": True, "training.datasets": cls.sets(5, 3, 2),
                        "validation.enable": True, "validation.dataset_path": cls.work / "judge.txt", "validation.freq": 6}
        cls.whole = cls.work / "whole"
        harness.train(CONFIG, 2, {**cls.settings, "job.dump_folder": cls.whole, "parallelism.pipeline_parallel_degree": 2})
        cls.stopped = cls.work / "stopped"
        harness.train(CONFIG, 1, {**cls.settings, "job.dump_folder": cls.stopped, "debug.stop_at_step": 4}, expect=75)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.work, ignore_errors=True)

    @classmethod
    def sets(cls, *weights, more=""):
        return ",".join(f"path={cls.work / f'set{place}'} weight={weight}{more if place == 2 else ''}" for place, weight in enumerate(weights))

    def go_on(self, nproc=1, expect=0, extra=(), **overrides):
        run = self.work / f"run-{self.id().rsplit('.', 1)[1]}"
        shutil.copytree(self.stopped, run)
        _, err = harness.train(CONFIG, nproc, {**self.settings, "job.dump_folder": run, **overrides}, extra, expect)
        return run, err

    def test_other_layouts_give_the_samples_and_bits_of_one_that_was_not_stopped(self):
        run, err = self.go_on(3, **{"training.datasets": ",".join(reversed(self.sets(5, 3, 2).split(",")))})
        self.assertIn("samples per epoch of set0 50 %, set1 30 %, set2 20 %", err)
        self.assertEqual(harness.step_lines(run), harness.step_lines(self.whole))
        for step in (8, 12):
            self.assertEqual(harness.checkpoint_id(run, step), harness.checkpoint_id(self.whole, step))
        sets = harness.ckpt("inspect", f"{run}@12")["data"]["sets"]
        self.assertEqual([(one["name"], one["drawn"]) for one in sets], [("set0", 48), ("set1", 29), ("set2", 19)])
        losses = [[event["validation_loss"] for event in harness.events(folder) if event["event"] == "validation"] for folder in (run, self.whole)]
        self.assertEqual(*losses)
        harness.ckpt("verify", f"{run}@12")

    def test_other_weights_are_refused_previewed_and_logged(self):
        other = {"training.datasets": self.sets(2, 3, 5)}
        _, err = self.go_on(expect=13, **other)
        self.assertIn("--allow training.datasets", err)
        shutil.rmtree(self.work / f"run-{self.id().rsplit('.', 1)[1]}")
        run, err = self.go_on(2, extra=["--allow", "training.datasets"], **other)
        self.assertIn("changed: training.datasets", err)
        state = harness.ckpt("inspect", f"{run}@12")
        self.assertEqual([one["drawn"] for one in state["data"]["sets"]], [16 + 13, 10 + 19, 6 + 32])
        self.assertIn("training.datasets: ", state["train_state"]["attempts"][-1]["changed"][0])
        self.assertIn("data: set0 50 -> 20 %, set2 20 -> 50 %", state["train_state"]["attempts"][-1]["notes"])

    def test_two_hundred_sets_go_on_on_another_layout(self):
        (self.work / "many").mkdir()
        for place in range(200):
            harness.write_text(self.work / "many" / f"{place}.txt", 40 + place % 30, place)
        sets = [f"path={self.work / 'many'}/{place}.txt weight={1 + place % 7}" for place in range(200)]
        settings = {**self.settings, "training.steps": 42, "validation.enable": False, "validation.dataset_path": "none", "debug.stop_at_step": 40}
        runs = [self.work / name for name in ("many-whole", "many-stopped")]
        harness.train(CONFIG, 2, {**settings, "job.dump_folder": runs[0], "training.datasets": ",".join(sets)}, expect=75)
        settings["job.dump_folder"] = runs[1]
        harness.train(CONFIG, 1, {**settings, "debug.stop_at_step": 13, "training.datasets": ",".join(sets)}, expect=75)
        harness.train(CONFIG, 2, {**settings, "parallelism.pipeline_parallel_degree": 2, "training.datasets": ",".join(reversed(sets))}, expect=75)
        self.assertEqual(*map(harness.step_lines, runs))
        self.assertEqual(*(harness.checkpoint_id(run, 40) for run in runs))
        drawn = [one["drawn"] for one in harness.ckpt("inspect", f"{runs[1]}@40")["data"]["sets"]]
        self.assertEqual(sum(drawn), 320)
        self.assertLess(max(abs(count - 320 * (1 + place % 7) / sum(1 + i % 7 for i in range(200))) for place, count in enumerate(drawn)), 2)
        # Small sets have gone through several passes by themselves: the epoch that a change begins is one, not one for each of these.
        sets = [one.split(" ")[0] for one in sets]
        harness.train(CONFIG, 1, {**settings, "debug.stop_at_step": 42, "training.datasets": ",".join(sets)}, ["--allow", "training.datasets"])
        self.assertEqual([event["step"] for event in harness.events(runs[1]) if event["event"] == "epoch"].count(41), 1)
        [note] = harness.ckpt("inspect", f"{runs[1]}@42")["train_state"]["attempts"][-1]["notes"]
        self.assertRegex(note, r"^data: 0.txt 0\.\d+ -> 0\.5 %, .*, and 1\d\d more$")
        self.assertLess(len(note), 800)

    def test_plan_says_what_each_set_gives_and_where_the_data_end(self):
        argv = [harness.TRAIN, "plan", str(CONFIG), *harness.flags({**self.settings, "job.dump_folder": self.work / "new"}), "--json"]
        done = harness.subprocess.run(argv, capture_output=True, text=True)
        sets = harness.json.loads(done.stdout)["data"]["sets"]
        self.assertEqual([one["tokens"] for one in sets], [48 * 16, 29 * 16, 19 * 16], done.stderr)
        # 700 bytes are 43 samples of 16: with a share of 20 % they last for 27 steps of 8.
        run = self.work / "ends"
        settings = {**self.settings, "job.dump_folder": run, "training.steps": 40, "training.datasets": self.sets(5, 3, 2, more=" exhausted=stop")}
        _, err = harness.train(CONFIG, 1, settings, expect=75)
        self.assertIn("the data end after step 26, where the run stops: 'set2' has given all of its epochs by then", err)
        self.assertEqual(harness.published_steps(run)[-1], 26)
        _, err = harness.train(CONFIG, 1, settings, expect=2)
        self.assertIn("the data end before step 27", err)


class DocumentEnds(unittest.TestCase):
    """Whoever says where documents end, an index, an id or a folder, they are the same documents."""

    def test_each_gives_the_same_losses(self):
        work = harness.scratch("document-ends")
        self.addCleanup(shutil.rmtree, work, True)
        harness.write_text(work / "book.txt", 2500, 4)
        subprocess.run([harness.ROOT / "tests" / "cli" / "tools" / "small-tokenizer", work / "tok"], check=True)
        harness.ckpt("tokenize", work / "book.txt", "-o", work / "folder", "--tokenizer", work / "tok", "--split", ".")
        (work / "mine").mkdir()
        ids = (work / "folder" / "tokens-00000.bin").read_bytes()
        raw = (work / "folder" / "ends-00000.bin").read_bytes()
        ends = struct.unpack(f"<{len(raw) // 8}Q", raw)
        lengths = [end - begin for begin, end in zip((0, *ends), ends)]
        index = b"MMIDIDX\0\0" + struct.pack(f"<QBQQ{len(ends)}I{len(ends)}Q", 1, 8, len(ends), len(ends) + 1, *lengths, *(2 * begin for begin in (0, *ends[:-1])))
        (work / "mine" / "m.bin").write_bytes(ids)
        (work / "mine" / "m.idx").write_bytes(index + struct.pack(f"<{len(ends) + 1}Q", *range(len(ends) + 1)))
        (work / "mine" / "n.ds").write_bytes(ids)
        (work / "mine" / "n.ds.index").write_bytes(raw)
        (work / "mine" / "raw.bin").write_bytes(ids)
        settings = {"training.dataset": "tokens", "model.vocab_size": 301, "training.document_mask": True, "training.steps": 4, "checkpoint.interval": 4}
        for pack in ("cut", "whole"):
            lines = {}
            for number, (name, nproc, more) in enumerate((("folder", 1, {}), ("mine/m", 2, {"parallelism.pipeline_parallel_degree": 2}), ("mine/n.ds", 1, {}),
                                                          ("mine/raw.bin", 2, {"training.document_end": 300}))):
                run = work / f"{pack}-{number}"
                harness.train(CONFIG, nproc, {**settings, **more, "training.pack": pack, "training.dataset_path": work / name, "job.dump_folder": run})
                lines[name] = harness.step_lines(run)
            for name, rows in lines.items():
                self.assertEqual(rows, lines["folder"], f"{pack}, {name}")
        # Without its ends the same tokens are other data.
        (work / "mine" / "m.idx").write_bytes(index.replace(struct.pack("<2I", *lengths[:2]), struct.pack("<2I", lengths[0] + 1, lengths[1] - 1), 1).replace(
            struct.pack("<2Q", 0, 2 * lengths[0]), struct.pack("<2Q", 0, 2 * lengths[0] + 2), 1) + struct.pack(f"<{len(ends) + 1}Q", *range(len(ends) + 1)))
        _, err = harness.train(CONFIG, 1, {**settings, "training.steps": 8, "training.dataset_path": work / "mine" / "m", "job.dump_folder": work / "cut-1"}, expect=13)
        self.assertIn("changed: m.bin (other contents of", " ".join(err.split()))


class Answers(unittest.TestCase):
    """Prompts and completions, packed whole beside other documents: the answers alone are trained on, with the same bits on every layout."""

    def test_layouts_share_every_bit(self):
        work = harness.scratch("answers")
        self.addCleanup(shutil.rmtree, work, True)
        rows = [{"prompt": "hell " * (1 + i % 7), "completion": "hello " * (1 + i % 3)} for i in range(60)]
        (work / "chats.jsonl").write_text("".join(harness.json.dumps(row) + "\n" for row in rows))
        harness.write_text(work / "book.txt", 900, 4)
        harness.subprocess.run([harness.ROOT / "tests" / "cli" / "tools" / "small-tokenizer", work / "tok"], check=True)
        harness.ckpt("tokenize", work / "chats.jsonl", "-o", work / "chats", "--tokenizer", work / "tok", "--completions")
        harness.ckpt("tokenize", work / "book.txt", "-o", work / "book", "--tokenizer", work / "tok", "--split", ".")
        settings = {"training.dataset": "tokens", "training.datasets": f"path={work / 'chats'} weight=2,path={work / 'book'}", "model.vocab_size": 301,
                    "training.pack": "whole", "training.document_mask": True, "training.steps": 6, "checkpoint.interval": 3, "training.seq_len": 24}
        runs = []
        for nproc, more in ((1, {}), (2, {"parallelism.pipeline_parallel_degree": 2, "parallelism.pipeline_parallel_schedule": "GPipe"}), (4, {})):
            runs.append(work / f"run{nproc}")
            harness.train(CONFIG, nproc, {**settings, **more, "job.dump_folder": runs[-1]})
        for run in runs[1:]:
            self.assertEqual(harness.step_lines(run), harness.step_lines(runs[0]))
            self.assertEqual(harness.checkpoint_id(run, 6), harness.checkpoint_id(runs[0], 6))
        # What is damaged in the data is no damage of a step.
        shutil.rmtree(runs[1] / "checkpoint" / "step-00000006")
        tokenizer = work / "chats" / "tokenizer.json"
        tokenizer.chmod(0o644)
        tokenizer.write_text(tokenizer.read_text() + " ")
        _, err = harness.train(CONFIG, 1, {**settings, "job.dump_folder": runs[1]}, expect=12)
        self.assertIn("chats/tokenizer.json does not match its digest", " ".join(err.split()))
        self.assertNotIn("trying the next older", err)
        # A model that knows nothing has the loss of chance for each token that is trained on.
        self.assertAlmostEqual(float(harness.step_lines(runs[0])[1][1]), math.log(301), delta=0.6)


if __name__ == "__main__":
    unittest.main(verbosity=2)
