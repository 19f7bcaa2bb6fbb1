#!/usr/bin/env python3
"""A rank that cannot connect to its peers ends with its exit code and says why on its own stderr, since launchers other than Titan's give every rank one."""

import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import harness  # noqa: E402

CONFIG = harness.ROOT / "tests" / "e2e" / "small.toml"
TORCHRUN = harness.ROOT / ".deps" / "venv" / "bin" / "torchrun"


def listener():
    probe = socket.socket()
    probe.bind(("127.0.0.1", harness.free_port()))
    return probe


class NoSilentExit(unittest.TestCase):
    def setUp(self):
        self.work = harness.scratch("silent-exit")
        self.data = self.work / "text.txt"
        harness.write_text(self.data, 4_000)
        self.run = self.work / "run"
        self.reserved = listener()  # bound and not listening: connections to it are refused, and nobody else gets the port
        self.port = self.reserved.getsockname()[1]
        self.log = None

    def tearDown(self):
        self.reserved.close()
        if self.log:
            self.log.close()
        shutil.rmtree(self.work, ignore_errors=True)

    def flags(self, **overrides):
        merged = {"training.dataset_path": self.data, "job.dump_folder": self.run, "training.steps": 1_000_000}
        merged.update({key.replace("__", "."): value for key, value in overrides.items()})
        return harness.flags(merged)

    def rank(self, number, world=2, address="127.0.0.1", variables=None, **overrides):
        environment = {**os.environ, "RANK": str(number), "WORLD_SIZE": str(world), "MASTER_ADDR": address, "MASTER_PORT": str(self.port), **(variables or {})}
        return subprocess.Popen([harness.TRAIN, "run", str(CONFIG), *self.flags(**overrides)], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def ended(self, process, code, *texts, timeout=60):
        out, log = process.communicate(timeout=timeout)
        self.assertEqual(process.returncode, code, log)
        self.assertEqual(log.count("error: "), 1, log)
        self.assertNotIn("[E", log, "c10d's own lines say no more")
        for text in texts:
            self.assertRegex(log, text)
        return log

    def free_port(self):
        """From now on somebody may listen on the port."""
        self.reserved.close()

    def test_01_nobody_listens_at_the_master(self):
        process = self.rank(1, address="127.0.0.9", comm__init_timeout_seconds=2)
        self.ended(process, 3, rf"error: rank 1 could not connect to rank 0 at 127\.0\.0\.9:{self.port} within 2 s \(comm\.init_timeout_seconds\): Connection refused",
                   r"hint: 127\.0\.0\.9 is a loopback address")

    def test_02_the_masters_name_is_not_known(self):
        for number in (0, 1):
            self.free_port()
            process = self.rank(number, address="no-such-host.invalid")
            self.ended(process, 3, f"error: rank {number}: MASTER_ADDR=no-such-host.invalid does not resolve to an address on this host: ", "hint: .*getent hosts")

    def test_03_the_port_is_taken(self):
        self.reserved.listen()
        process = self.rank(0)
        self.ended(process, 3, rf"error: rank 0 cannot listen on port {self.port} of this host \(MASTER_PORT\): Address already in use", f"hint: .*ss -ltnp 'sport = :{self.port}'")

    def test_04_the_port_is_anothers_who_says_nothing(self):
        self.reserved.listen()
        process = self.rank(1, comm__init_timeout_seconds=1)
        self.ended(process, 3, rf"error: rank 1 did not meet its peers .* waiting for the answer of rank 0 at 127\.0\.0\.1:{self.port}, which accepts connections")

    def test_05_a_rank_that_leaves_before_all_met_tells_the_others(self):
        self.free_port()
        first = self.rank(0)
        second = self.rank(1, variables={"GLOO_SOCKET_IFNAME": "nosuch0"})
        self.ended(second, 2, "error: GLOO_SOCKET_IFNAME names 'nosuch0'", r"hint: the addresses of this host: .*lo 127\.0\.0\.1")
        self.ended(first, 3, "error: another rank left before all had met: rank 1: GLOO_SOCKET_IFNAME names 'nosuch0'")

    def wait_until_met(self, ranks):
        """Until each of them says that it waits for the rank that is missing."""
        deadline = time.time() + 60
        for number, _ in enumerate(ranks):
            log = self.run / "logs" / f"rank-{number}.log"
            while not log.exists() or "is waiting for rank" not in log.read_text():
                self.assertLess(time.time(), deadline)
                time.sleep(0.05)

    def test_06_a_rank_that_is_stopped_while_it_waits_says_for_whom(self):
        self.free_port()
        ranks = [self.rank(number, world=3) for number in range(2)]
        self.wait_until_met(ranks)
        ranks[1].send_signal(signal.SIGTERM)
        self.ended(ranks[1], 143, "error: rank 1 was stopped by a signal while it was waiting for rank 2 at ")
        self.ended(ranks[0], 3, "error: another rank left before all had met: rank 1 was stopped by a signal while it was waiting for rank 2")

    def test_07_two_processes_with_one_number(self):
        self.free_port()
        ranks = [self.rank(number, world=3) for number in range(2)]
        self.wait_until_met(ranks)
        again = self.rank(1, world=3)
        self.ended(again, 3, rf"error: rank 1 is already at 127\.0\.0\.1:{self.port}: process {ranks[1].pid} on host ", "hint: give every process a RANK of its own")
        self.assertEqual([process.poll() for process in ranks], [None, None], "the others go on waiting")
        for process in ranks:
            process.kill()
            process.communicate()

    def test_08_what_all_ranks_refuse_each_of_them_says(self):
        self.free_port()
        ranks = [self.rank(number, training__steps="many") for number in range(2)]
        self.ended(ranks[0], 2, "error: .*training.steps")
        _, log = ranks[1].communicate(timeout=60)
        self.assertEqual(ranks[1].returncode, 2, log)
        self.assertRegex(log, "note: rank 1 ends with exit code 2: .*training.steps")

    def under_torchrun(self):
        """A job of four ranks that has done three steps: (agent, {rank: process id})."""
        words = [str(TORCHRUN), "--standalone", "--local-addr=127.0.0.1", "--no-python", "--nproc-per-node=4", harness.TRAIN, "run", str(CONFIG)]
        if self.log:
            self.log.close()
        self.log = open(self.work / "torchrun.txt", "w+")
        agent = subprocess.Popen([*words, *self.flags(lr_scheduler__total_steps=1_000_000)], stdout=subprocess.DEVNULL, stderr=self.log, start_new_session=True)
        deadline = time.time() + 120
        while not (self.run / "metrics.jsonl").exists() or '"step":3,' not in (self.run / "metrics.jsonl").read_text():
            self.assertLess(time.time(), deadline)
            self.assertIsNone(agent.poll(), (self.work / "torchrun.txt").read_text())
            time.sleep(0.05)
        ranks = {}
        for pid in harness.children(agent.pid):
            environment = pathlib.Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
            ranks.update({int(entry[5:]): pid for entry in environment if entry.startswith(b"RANK=")})
        self.assertEqual(sorted(ranks), [0, 1, 2, 3])
        return agent, ranks

    def test_09_ranks_save_and_end_when_torchruns_agent_is_killed(self):
        agent, ranks = self.under_torchrun()
        agent.kill()
        agent.wait()
        deadline = time.time() + 60
        while any(map(harness.alive, ranks.values())):
            self.assertLess(time.time(), deadline, "a rank outlived the agent")
            time.sleep(0.05)
        steps = harness.published_steps(self.run)
        self.assertEqual(steps, [max(harness.step_lines(self.run))], "the step that was under way is saved")
        # The folder is free at once.
        harness.train(CONFIG, 2, {"training.dataset_path": self.data, "job.dump_folder": self.run, "training.steps": steps[0] + 2, "lr_scheduler.total_steps": 1_000_000})

    def test_10_survivors_of_two_killed_ranks_name_both(self):
        agent, ranks = self.under_torchrun()
        harness.kill_together([ranks[0], ranks[3]])
        agent.wait(timeout=90)
        log = (self.work / "torchrun.txt").read_text()
        for number in (1, 2):
            self.assertRegex(log, f"error: ranks 0, 3 are gone: .*, noticed by rank {number} in ")

    def test_11_a_closed_terminal_of_torchrun_saves_and_says_how_to_go_on(self):
        for whom in ("agent", "rank 2"):
            with self.subTest(signalled=whom):
                shutil.rmtree(self.run, ignore_errors=True)
                agent, ranks = self.under_torchrun()
                self.assertEqual({pathlib.Path(f"/proc/{pid}/comm").read_text() for pid in ranks.values()}, {"titan-train\n"})
                os.kill(agent.pid if whom == "agent" else ranks[2], signal.SIGHUP)
                agent.wait(timeout=60)
                deadline = time.time() + 60
                while any(map(harness.alive, ranks.values())):
                    self.assertLess(time.time(), deadline, "a rank outlived the agent")
                    time.sleep(0.05)
                log = (self.work / "torchrun.txt").read_text()
                steps = harness.published_steps(self.run)
                self.assertEqual(steps, [max(harness.step_lines(self.run))], log)
                self.assertRegex(log, r"saving step \d+, then stopping \(\w+")
                self.assertIn(f"note: exit 75: saved; the same job continues from step {steps[0]}\n", log)
                self.assertEqual(harness.leftovers(self.run), [])


if __name__ == "__main__":
    unittest.main(verbosity=2)
