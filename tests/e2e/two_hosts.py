#!/usr/bin/env python3
"""Ranks on two hosts: two network namespaces with two links between them, each with a host name of its own that /etc/hosts there gives as
127.0.1.1, as Debian does. If they cannot be created, a SKIP line has the call that failed."""

import os
import pathlib
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import harness  # noqa: E402

CONFIG = harness.ROOT / "tests" / "e2e" / "small.toml"
HOSTS = ("node-a", "node-b")
PORT = 29500  # of a network that nobody else is in


class CannotMake(Exception):
    pass


def call(*words):
    try:
        done = subprocess.run([str(word) for word in words], capture_output=True, text=True)
    except OSError as error:
        raise CannotMake(f"{words[0]}: {error}") from error
    if done.returncode != 0:
        raise CannotMake(f"{' '.join(map(str, words))}: {done.stderr.strip()}")
    return done.stdout


class Network:
    """Two hosts; link 0 is 10.77.0.0/24 and link 1 is 10.78.0.0/24 between them."""

    def __init__(self, work):
        self.names = [f"titan-{os.getpid()}-{host}" for host in HOSTS]
        self.hosts_files = []
        try:
            for name in self.names:
                call("ip", "netns", "add", name)
            for link in range(2):
                ends = [f"tv{os.getpid() % 100000}{link}{end}" for end in "ab"]
                call("ip", "link", "add", ends[0], "netns", self.names[0], "type", "veth", "peer", "name", ends[1], "netns", self.names[1])
                for host, name in enumerate(self.names):
                    call("ip", "-n", name, "link", "set", ends[host], "name", f"eth{link}")
                    call("ip", "-n", name, "addr", "add", f"10.7{7 + link}.0.{host + 1}/24", "dev", f"eth{link}")
                    call("ip", "-n", name, "link", "set", f"eth{link}", "up")
            for host, name in enumerate(self.names):
                call("ip", "-n", name, "link", "set", "lo", "up")
                call("ip", "-n", name, "route", "add", "default", "via", f"10.77.0.{2 - host}")
                path = work / f"hosts-{host}"
                path.write_text(f"127.0.0.1 localhost\n127.0.1.1 {HOSTS[host]}\n10.77.0.{2 - host} {HOSTS[1 - host]}\n")
                self.hosts_files.append(path)
            call(*self.on(0, "getent", "hosts", HOSTS[0]))
        except CannotMake:
            self.remove()
            raise

    def remove(self):
        for name in self.names:
            subprocess.run(["ip", "netns", "del", name], capture_output=True)

    def on(self, host, *words, before="true"):
        """The words of a command that runs `words` on a host; `before` is done there first, as root of its mounts."""
        script = f'hostname {HOSTS[host]} && mount --bind {self.hosts_files[host]} /etc/hosts && {before} && exec "$@"'
        return ["ip", "netns", "exec", self.names[host], "unshare", "--mount", "--uts", "sh", "-c", script, "sh", *map(str, words)]

    def packets(self, link):
        return int(call("ip", "netns", "exec", self.names[1], "cat", f"/sys/class/net/eth{link}/statistics/rx_packets"))


class TwoHosts(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.work = harness.scratch("hosts")
        cls.data = cls.work / "text.txt"
        harness.write_text(cls.data, 4_000)
        cls.network = Network(cls.work)

    @classmethod
    def tearDownClass(cls):
        cls.network.remove()
        shutil.rmtree(cls.work, ignore_errors=True)

    def setUp(self):
        self.run = self.work / self.id().rsplit(".", 1)[1]

    def start(self, master, before=("true", "true"), overrides=({}, {}), only=(0, 1), local=1, **variables):
        """Starts `local` ranks on each host; returns [(exit code, output)]."""
        processes = []
        for host, local_rank in [(host, rank) for host in only for rank in range(local)]:
            flags = {"training.dataset_path": self.data, "job.dump_folder": self.run, "training.steps": 4, "comm.init_timeout_seconds": 60, **overrides[host]}
            clean = {name: value for name, value in os.environ.items() if not name.startswith("GLOO_")}
            environment = {**clean, "RANK": str(local * host + local_rank), "WORLD_SIZE": str(2 * local), "LOCAL_RANK": str(local_rank), "LOCAL_WORLD_SIZE": str(local), "MASTER_ADDR": master,
                           "MASTER_PORT": str(PORT)}
            environment.update({name: value[host] for name, value in variables.items()})
            words = self.network.on(host, harness.TRAIN, "run", CONFIG, *harness.flags(flags), before=before[host])
            processes.append(subprocess.Popen(words, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True))
        return [(process.returncode, out) for process in processes for out in [process.communicate(timeout=200)[0]]]

    def trained(self, ended):
        self.assertEqual({code for code, _ in ended}, {0}, ended)
        self.assertEqual(harness.published_steps(self.run), [4])

    def test_01_hosts_whose_own_name_is_loopback_meet(self):
        self.trained(self.start(HOSTS[0]))

    def test_02_an_address_leads_over_its_own_link(self):
        before = [self.network.packets(link) for link in range(2)]
        self.trained(self.start("10.78.0.1"))
        self.assertGreater(self.network.packets(1) - before[1], 100)
        self.assertLess(self.network.packets(0) - before[0], 100)

    def test_03_gloo_socket_ifname_is_honoured(self):
        before = self.network.packets(1)
        self.trained(self.start("10.77.0.1", GLOO_SOCKET_IFNAME=("eth1", "eth1")))
        self.assertGreater(self.network.packets(1) - before, 100)

    def test_04_loopback_between_hosts_is_refused_and_the_other_rank_hears_of_it(self):
        ended = self.start("10.77.0.1", GLOO_SOCKET_IFNAME=("eth0", "lo"))
        self.assertEqual([code for code, _ in ended], [3, 2], ended)
        self.assertIn("error: GLOO_SOCKET_IFNAME names the loopback interface 'lo', but the ranks are on several hosts", ended[1][1])
        self.assertIn("eth0 10.77.0.2", ended[1][1])
        self.assertRegex(ended[0][1], "error: another rank left before all had met: rank 1: GLOO_SOCKET_IFNAME names")

    def test_05_a_host_that_is_not_there_is_said(self):
        ended = self.start("10.77.0.99", overrides=({}, {"comm.init_timeout_seconds": 2}), only=(1,))
        self.assertEqual(ended[0][0], 3, ended)
        self.assertRegex(ended[0][1], r"error: rank 1 could not connect to rank 0 at 10\.77\.0\.99:29500 within 2 s \(comm\.init_timeout_seconds\): (No route to host|no answer)")
        self.assertRegex(ended[0][1], "hint: is that host up, and does its firewall let port 29500 through")

    def test_06_another_hosts_loopback_name_is_said(self):
        # Rank 1 takes its own host for the master.
        ended = self.start(HOSTS[1], overrides=({}, {"comm.init_timeout_seconds": 2}), only=(1,))
        self.assertEqual(ended[0][0], 3, ended)
        self.assertRegex(ended[0][1], "error: rank 1 could not connect to rank 0 at node-b:29500 .*: Connection refused")
        self.assertIn("hint: node-b is a loopback address on this host", ended[0][1])

    def test_07_exchange_within_hosts_leads_to_the_same_id(self):
        shared = {"training.dataset_path": self.data, "training.steps": 4, "training.global_batch_size": 14}
        alone = self.work / "late"
        harness.train(CONFIG, 1, {**shared, "job.dump_folder": alone})
        expected = harness.checkpoint_id(alone, 4)
        both = {**shared, "parallelism.gradient_exchange": "node"}
        ended = self.start(HOSTS[0], overrides=(both, both), local=2)
        self.trained(ended)
        self.assertIn("gradients: 2 groups of 2 data-parallel ranks on one node exchange them after each micro-batch", ended[0][1])
        self.assertEqual(harness.checkpoint_id(self.run, 4), expected)
        # Each host has one stage: its ranks are all that exchange.
        shutil.rmtree(self.run)
        pipeline = {**both, "parallelism.pipeline_parallel_degree": 2}
        ended = self.start(HOSTS[0], overrides=(pipeline, pipeline), local=2)
        self.trained(ended)
        self.assertNotIn("gradients: 2 groups", ended[0][1])
        self.assertEqual(harness.checkpoint_id(self.run, 4), expected)


if __name__ == "__main__":
    probe = harness.scratch("hosts")
    try:
        Network(probe).remove()
    except CannotMake as error:
        print(f"SKIP: two hosts cannot be made here: {error}")
        sys.exit(0)
    finally:
        shutil.rmtree(probe, ignore_errors=True)
    unittest.main(verbosity=2)
