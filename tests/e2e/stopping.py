#!/usr/bin/env python3
"""Numbered cases of a user's first hour: stops, ends and starts say what they do, what is lost, and the command that resumes."""

import os
import pathlib
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import harness  # noqa: E402

CONFIG = harness.ROOT / "tests" / "e2e" / "small.toml"
ENDLESS = {"training.steps": 1_000_000}
INTERRUPT, TERMINATE = signal.SIGINT, signal.SIGTERM


class Stopping(unittest.TestCase):
    def setUp(self):
        self.work = harness.scratch("stopping")
        self.data = self.work / "text.txt"
        harness.write_text(self.data, 4_000)
        self.run = self.work / "run"

    def tearDown(self):
        shutil.rmtree(self.work, ignore_errors=True)

    def keys(self, overrides):
        return {"training.dataset_path": self.data, "job.dump_folder": self.run, **overrides}

    def train(self, expect=0, nproc=1, extra=(), config=CONFIG, **overrides):
        overrides = {key.replace("__", "."): value for key, value in overrides.items()}
        return harness.train(config, nproc, self.keys(overrides), extra, expect)[1]

    def wait_for_step(self, step, process):
        deadline = time.time() + 120
        path = self.run / "metrics.jsonl"
        while not path.exists() or f'"step":{step},' not in path.read_text():
            self.assertIsNone(process.poll(), "the run ended early")
            self.assertLess(time.time(), deadline)
            time.sleep(0.02)

    def stop(self, signals, nproc=1, step=7, variables=None, **overrides):
        """Sends `signals` behind each other once `step` is done; returns exit code and stderr."""
        overrides = {key.replace("__", "."): value for key, value in overrides.items()}
        process = harness.start(CONFIG, nproc, self.keys({**ENDLESS, **overrides}), variables=variables)
        self.wait_for_step(step, process)
        for number in signals:
            process.send_signal(number)
            if len(signals) > 1:
                log = self.run / "logs" / "rank-0.log"
                while ": stopping " not in log.read_text() and process.poll() is None:
                    time.sleep(0.002)
        _, log = process.communicate(timeout=120)
        return process.returncode, log

    def go_on_words(self, log):
        """The command of the last line, as a shell would take it apart."""
        last = log.strip().splitlines()[-1]
        self.assertRegex(last, r"^note: .*: \S*titan-train run ")
        return shlex.split(last[last.index(": ", last.index("step")) + 2:])

    def stopped_by(self, name, nproc):
        """On a busy machine rank 0 may hear of a signal through the other rank first."""
        return r"saving step \d+, then stopping \((" + name + ("|asked for on another rank" if nproc > 1 else "") + r")\)"

    def errors(self, log):
        return re.findall(r"^error: .*", log, re.M)

    def test_01_the_first_ctrl_c_says_what_it_does_and_what_a_second_one_would_lose(self):
        for nproc in (1, 2):
            with self.subTest(nproc=nproc):
                shutil.rmtree(self.run, ignore_errors=True)
                code, log = self.stop([INTERRUPT], nproc)
                self.assertEqual(code, 75, log)
                said = re.findall(r"W r0 Ctrl-C: stopping after this step, then saving it; Ctrl-C again stops at once and loses all \d+ steps so far", log)
                self.assertEqual(len(said), 1, log)
                self.assertRegex(log, self.stopped_by("Ctrl-C", nproc))
                step = harness.published_steps(self.run)[-1]
                self.assertIn(f"note: exit 75: saved; the same command continues from step {step}: ", log)
                self.assertEqual(self.go_on_words(log), harness.command(CONFIG, nproc, self.keys(ENDLESS)))
                self.assertEqual(self.errors(log), [])

    def test_02_what_is_lost_is_counted_from_the_newest_save(self):
        self.train(75, debug__stop_at_step=5)
        code, log = self.stop([INTERRUPT], training__steps=100_000, lr_scheduler__total_steps=10)
        self.assertEqual(code, 75, log)
        self.assertRegex(log, r"Ctrl-C again stops at once and loses (the \d+ steps? since step 5|this step)")

    def test_03_the_second_ctrl_c_says_what_was_lost_also_in_the_log(self):
        self.train(75, 2, debug__stop_at_step=2)
        # A save that does not begin: so the second signal comes before it, though the first one may come later than behind step 3.
        held = {"LD_PRELOAD": str(harness.BIN / "titan-fail-calls.so"), "TITAN_SHIM_UNDER": str(self.run), "TITAN_SHIM_RANK": "0", "TITAN_SHIM_CALL": "mkdir",
                "TITAN_SHIM_MATCH": ".tmp-", "TITAN_SHIM_K": "1", "TITAN_SHIM_DO": f"wait:{self.work / 'never'}"}
        code, log = self.stop([INTERRUPT, INTERRUPT], 2, 3, held, training__steps=100_000, lr_scheduler__total_steps=10, checkpoint__interval=100_000)
        self.assertEqual(code, 130, log)
        lost = re.search(r"W r0 Ctrl-C: stopped without a save; (?:the 1 step since step 2 is|the (\d+) steps since step 2 are) lost\n", log)
        self.assertIsNotNone(lost, log)
        done = len([step for step in harness.step_lines(self.run) if step > 2])
        self.assertIn(int(lost[1] or 1) - done, (0, 1), log)  # the line of the last step may be missing
        self.assertIn(lost[0], (self.run / "logs" / "rank-0.log").read_text())
        self.assertIn("note: exit 130: the same command continues from step 2: ", log)
        self.assertEqual(self.errors(log), [])

    def test_04_sigterm_and_sigusr1_say_it_too_and_promise_nothing_of_a_second_one(self):
        for number, name, nproc in ((TERMINATE, "SIGTERM", 1), (TERMINATE, "SIGTERM", 2), (signal.SIGUSR1, "SIGUSR1", 2), (signal.SIGHUP, "SIGHUP", 2)):
            with self.subTest(signal=name, nproc=nproc):
                shutil.rmtree(self.run, ignore_errors=True)
                code, log = self.stop([number], nproc)
                self.assertEqual(code, 75, log)
                self.assertIn(f"{name}: stopping after this step, then saving it\n", log)
                self.assertRegex(log, self.stopped_by(name, nproc))

    def test_05_a_stop_without_checkpoints_says_that_nothing_is_saved(self):
        for number, code in ((INTERRUPT, 130), (TERMINATE, 143)):
            with self.subTest(signal=number):
                shutil.rmtree(self.run, ignore_errors=True)
                ended, log = self.stop([number], checkpoint__enable=False)
                self.assertEqual(ended, code, log)
                self.assertIn("nothing is saved (checkpoint.enable = false)", log)
                self.assertIn(f"note: exit {code}: no step is saved; the same command starts anew: ", log)

    def test_06_exit_75_means_progress(self):
        log = self.train(75, debug__stop_at_step=3)
        self.assertIn("saving step 3, then stopping (debug.stop_at_step)", log)
        again = self.train(0, debug__stop_at_step=3)
        self.assertIn(f"nothing to do, complete: {self.run}/checkpoint/step-00000003 is at debug.stop_at_step = 3\n", again)
        self.assertTrue(again.splitlines()[-1].startswith("note: continue from step 3: "), again)
        past = self.train(0, debug__stop_at_step=2)
        self.assertIn("is past debug.stop_at_step = 2", past)
        self.assertEqual(harness.published_steps(self.run), [3])

    def test_07_the_command_that_goes_on_leaves_out_what_would_be_wrong(self):
        log = self.train(75, extra=["--resume", "never", "--set", "debug.stop_at_step=3"])
        words = self.go_on_words(log)
        self.assertNotIn("--resume", words)
        self.assertFalse([word for word in words if "stop_at_step" in word], words)
        self.assertIn("note: exit 75: saved; continue from step 3: ", log)
        done = subprocess.run(words, capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(harness.published_steps(self.run), [3, 10])

    def test_08_a_stop_in_the_file_is_undone_by_a_flag(self):
        config = self.work / "stops.toml"
        config.write_text(CONFIG.read_text() + "stop_at_step = 3\n")
        self.assertIn("[debug]", config.read_text().split("stop_at_step")[0].split("[job]")[1])
        words = self.go_on_words(self.train(75, config=config))
        self.assertEqual(words[-1], "--debug.stop_at_step=none")
        self.assertEqual(subprocess.run(words, capture_output=True, timeout=300).returncode, 0)

    def test_09_the_run_folders_config_goes_on_beyond_the_stop(self):
        self.train(75, debug__stop_at_step=3)
        self.assertNotIn("stop_at_step", (self.run / "config.toml").read_text())
        done = subprocess.run([harness.TRAIN, "run", str(self.run / "config.toml")], capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(harness.published_steps(self.run), [3, 10])

    def test_10_a_dead_rank_is_one_error_with_its_likely_cause_and_the_way_on(self):
        self.train(75, nproc=2, debug__stop_at_step=5)
        process = harness.start(CONFIG, 2, self.keys({"training.steps": 100_000, "lr_scheduler.total_steps": 10}))
        self.wait_for_step(7, process)
        victim = harness.children(process.pid)[1]
        os.kill(victim, signal.SIGKILL)
        _, log = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 3, log)
        self.assertEqual(self.errors(log), [f"error: rank 1 (pid {victim}) was killed by signal 9 (SIGKILL)"])
        self.assertRegex(log, r"  hint: .*out-of-memory killer")
        self.assertNotIn("its log is", log)
        self.assertIn("note: exit 3: the same command continues from step 5: ", log)

    def test_11_a_complete_run_says_so_first_and_asks_where_another_model_was_meant(self):
        self.train()
        log = self.train(0, model__dim=32)
        self.assertTrue(log.startswith("note: nothing to do, complete: "), log)
        self.assertIn("note: this command asks for another model than that run: did you mean another --job.dump_folder?", log)
        self.assertNotIn("did you mean", self.train(0))

    def test_12_the_banner_counts_one_rank_and_names_the_new_run(self):
        log = self.train(75, debug__stop_at_step=2)
        self.assertIn("1 x 1 (DP x PP), 1 rank, schedule", log)
        self.assertIn(f"start: new run in {self.run}: steps 1 to 10\n", log)
        self.assertRegex(log, r"bit-for-bit with: 4 micro-batches of 2 x 16 tokens, ")
        self.assertIn("same machine class and settings: continues bit for bit", self.train())

    def test_13_more_threads_than_cores_are_a_warning(self):
        cores = sorted(os.sched_getaffinity(0))[:2]
        allowed = lambda: os.sched_setaffinity(0, cores)  # noqa: E731
        for verb, more in (("plan", ["--nproc", "500", "--training.global_batch_size=2000"]), ("run", ["--nproc", "2", "--job.threads_per_rank=2", "--training.steps=1"])):
            with self.subTest(verb=verb):
                words = [harness.TRAIN, verb, str(CONFIG), *harness.flags(self.keys({})), *more]
                done = subprocess.run(words, capture_output=True, text=True, timeout=120, preexec_fn=allowed)
                self.assertEqual(done.returncode, 0, done.stderr)
                ranks = "500 ranks x 1 thread" if verb == "plan" else "2 ranks x 2 threads"
                better = "fewer ranks" if verb == "plan" else r"job\.threads_per_rank = 1"
                self.assertRegex(done.stdout + done.stderr, rf"{ranks} on the {len(cores)} cores? allowed here: they take turns; better {better}")

    def launched(self, world, overrides, per_rank=lambda rank: []):
        """Ranks as another launcher starts them."""
        port = harness.free_port()
        ranks = []
        for rank in range(world):
            env = {**os.environ, "RANK": str(rank), "WORLD_SIZE": str(world), "LOCAL_RANK": str(rank), "LOCAL_WORLD_SIZE": str(world), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
            words = [harness.TRAIN, "run", str(CONFIG), *harness.flags(self.keys(overrides)), *per_rank(rank)]
            ranks.append(subprocess.Popen(words, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True))
        return ranks

    def test_14_under_another_launcher_one_rank_speaks_of_a_stop(self):
        ranks = self.launched(2, ENDLESS)
        self.wait_for_step(7, ranks[0])
        for rank in ranks:
            rank.send_signal(INTERRUPT)
        logs = [rank.communicate(timeout=60)[1] for rank in ranks]
        self.assertEqual([rank.returncode for rank in ranks], [75, 75], logs)
        self.assertIn("Ctrl-C: stopping after this step, then saving it", logs[0])
        step = harness.published_steps(self.run)[-1]
        self.assertTrue(logs[0].endswith(f"note: exit 75: saved; the same job continues from step {step}\n"), logs[0])
        self.assertEqual(logs[1], "")

    def test_15_a_rank_that_ends_before_it_meets_the_others_is_not_silent(self):
        ranks = self.launched(2, {}, lambda rank: ["--training.stepps=3"])
        logs = [rank.communicate(timeout=60)[1] for rank in ranks]
        self.assertEqual([rank.returncode for rank in ranks], [2, 2], logs)
        self.assertEqual(len(self.errors(logs[0])), 1, logs)
        self.assertRegex(logs[1], r"^note: rank 1 ends with exit code 2: .*training\.stepps")

    def test_16_a_start_at_its_stop_is_complete_under_another_launcher_too(self):
        self.train(75, debug__stop_at_step=3)
        before = (self.run / "metrics.jsonl").read_text()
        ranks = self.launched(2, {"debug.stop_at_step": 3})
        logs = [rank.communicate(timeout=60)[1] for rank in ranks]
        self.assertEqual([rank.returncode for rank in ranks], [0, 0], logs)
        self.assertIn("nothing to do, complete: ", logs[0])
        self.assertIn("note: continue from step 3: the same job with ", logs[0])
        self.assertEqual((self.run / "metrics.jsonl").read_text(), before)

    def test_17_a_lost_rank_is_one_error_under_another_launcher(self):
        ranks = self.launched(2, {**ENDLESS, "comm.train_timeout_seconds": 6})
        self.wait_for_step(7, ranks[0])
        ranks[1].kill()
        _, log = ranks[0].communicate(timeout=60)
        ranks[1].communicate()
        self.assertEqual(ranks[0].returncode, 3, log)
        self.assertEqual(len(self.errors(log)), 1, log)
        self.assertIn("note: exit 3: no step is saved; the same job starts anew\n", log)

    def test_18_a_refused_plan_points_to_its_error(self):
        self.train()
        words = [harness.TRAIN, "plan", str(CONFIG), *harness.flags(self.keys({"training.steps": 5}))]
        done = subprocess.run(words, capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 13, done.stderr)
        self.assertRegex(done.stdout, r"start +refused \(see the error below\); the rest shows a fresh start")
        self.assertEqual(len(self.errors(done.stderr)), 1)

    def test_19_a_closed_terminal_saves_and_one_under_nohup_changes_nothing(self):
        for ignored in (False, True):
            with self.subTest(ignored=ignored):
                shutil.rmtree(self.run, ignore_errors=True)
                terminal, side = os.openpty()
                before = lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN if ignored else signal.SIG_DFL)  # noqa: E731
                process = subprocess.Popen(harness.command(CONFIG, 2, self.keys(ENDLESS)), stdout=side, stderr=side, start_new_session=True, preexec_fn=before)
                os.close(side)
                self.wait_for_step(7, process)
                os.close(terminal)  # writes of the job fail with EIO from now on
                process.send_signal(signal.SIGHUP)
                if ignored:
                    self.wait_for_step(int(self.newest_step()) + 20, process)
                    process.send_signal(TERMINATE)
                self.assertEqual(process.wait(120), 75)
                name = "SIGTERM" if ignored else "SIGHUP"
                self.assertRegex((self.run / "logs" / "rank-0.log").read_text(), self.stopped_by(name, 2))
                self.assertEqual(len(harness.published_steps(self.run)), 1)

    def test_20_ranks_have_the_name_of_the_program(self):
        process = harness.start(CONFIG, 2, self.keys(ENDLESS))
        self.wait_for_step(2, process)
        names = [pathlib.Path(f"/proc/{pid}/comm").read_text() for pid in harness.children(process.pid)]
        process.send_signal(TERMINATE)
        process.communicate(timeout=60)
        self.assertEqual(names, ["titan-train\n"] * 2)

    def test_21_data_that_is_cut_short_is_one_error(self):
        process = harness.start(CONFIG, 1, self.keys(ENDLESS))
        self.wait_for_step(2, process)
        os.truncate(self.data, 0)
        _, log = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 3, log)
        self.assertEqual(len(self.errors(log)), 1, log)
        self.assertNotIn("exited with code", log)

    def test_22_step_lines_that_nobody_gets_are_said_once(self):
        lost = f"; training continues, and {self.run}/metrics.jsonl has every step"
        for where, why in (("full", "standard output: write: No space left on device"), ("pipe", "nobody reads standard output any more")):
            with self.subTest(stdout=where):
                shutil.rmtree(self.run, ignore_errors=True)
                if where == "full":
                    out = os.open("/dev/full", os.O_WRONLY)
                else:
                    reading, out = os.pipe()
                    os.close(reading)
                done = subprocess.run(harness.command(CONFIG, 2, self.keys({"metrics.log_freq": 1})), stdout=out, stderr=subprocess.PIPE, text=True, timeout=120)
                os.close(out)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual(re.findall(" W r0 .*lost.*", done.stderr), [f" W r0 step lines are lost: {why}{lost}"])
                self.assertEqual(sorted(harness.step_lines(self.run)), list(range(1, 11)))

    def test_23_a_second_ctrl_c_within_a_save_leaves_nothing_that_is_in_the_way(self):
        saving = lambda: any(self.run.glob("checkpoint/*.tmp-*"))  # noqa: E731
        large = {"model.dim": 512, "model.ffn_dim": 2048, "model.n_layers": 6, "training.steps": 9, "checkpoint.interval": 3}
        process = harness.start(CONFIG, 2, self.keys(large))
        while not saving():
            self.assertIsNone(process.poll(), "the run ended early")
        process.send_signal(INTERRUPT)
        while ": stopping " not in (self.run / "logs" / "rank-0.log").read_text() and process.poll() is None:
            time.sleep(0.002)
        process.send_signal(INTERRUPT)
        _, log = process.communicate(timeout=60)
        self.assertIn(process.returncode, (75, 130), log)  # 75: it had ended meanwhile
        self.assertRegex(log, rf"note: exit {process.returncode}: .*: \S*titan-train run ")
        self.train(0, 2, **{key.replace(".", "__"): value for key, value in large.items()})
        self.assertEqual(harness.leftovers(self.run), [])
        self.assertEqual(harness.published_steps(self.run)[-1], 9)

    def test_24_a_signal_to_one_rank_or_to_a_stopped_launcher_saves_too(self):
        def to_rank_1(process):
            os.kill(harness.children(process.pid)[1], TERMINATE)

        def to_the_stopped_launcher(process):
            for number in (signal.SIGSTOP, INTERRUPT, signal.SIGCONT):
                process.send_signal(number)

        for act, said in ((to_rank_1, "asked for on another rank"), (to_the_stopped_launcher, "Ctrl-C")):
            with self.subTest(said=said):
                shutil.rmtree(self.run, ignore_errors=True)
                process = harness.start(CONFIG, 2, self.keys(ENDLESS))
                self.wait_for_step(7, process)
                act(process)
                _, log = process.communicate(timeout=60)
                self.assertEqual(process.returncode, 75, log)
                self.assertIn(f", then stopping ({said})", log)
                self.assertEqual(self.errors(log), [])
                self.assertIn(f"note: exit 75: saved; the same command continues from step {harness.published_steps(self.run)[-1]}: ", log)

    def ends_at_once(self, process, code=75):
        """The seconds that a SIGTERM takes are those of work that is left, and of a save of a few kilobytes."""
        self.addCleanup(process.kill)
        begin = time.time()
        process.send_signal(TERMINATE)
        _, log = process.communicate(timeout=60)
        self.assertEqual(process.returncode, code, log)
        self.assertLess(time.time() - begin, 30, log)
        self.assertEqual(harness.half_saved(self.run), [])
        return log

    def test_25_a_stop_within_a_validation_saves_first_and_ends_at_once(self):
        held_back = self.work / "held-back.txt"
        held_back.write_text("the leaf of a titan\n" * 200_000)  # minutes of it
        validation = {"validation.enable": True, "validation.freq": 1, "validation.dataset_path": held_back, "validation.local_batch_size": 1}
        for nproc, more in ((1, {}), (2, {}), (2, {"parallelism.pipeline_parallel_degree": 2}), (1, {"training.steps": 1})):
            with self.subTest(nproc=nproc, more=more):
                shutil.rmtree(self.run, ignore_errors=True)
                process = harness.start(CONFIG, nproc, self.keys(ENDLESS | validation | more))
                self.wait_for_step(1, process)
                time.sleep(0.3)  # into the validation; right before it is as good
                last = "training.steps" in more
                log = self.ends_at_once(process, 0 if last else 75)
                self.assertIn("the validation of step 1 is left out: the run stops", log)
                self.assertEqual(harness.published_steps(self.run), [1])
                self.assertFalse([event for event in harness.events(self.run) if event["event"] == "validation"])

    def newest_step(self):
        return re.findall(r'"step":(\d+),', (self.run / "metrics.jsonl").read_text())[-1]


if __name__ == "__main__":
    unittest.main(verbosity=2)
