"""Runs titan-train and titan-ckpt for the end-to-end tests, and reads their output and files. Standard library only."""

import json
import os
import pathlib
import random
import signal
import socket
import struct
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
# `bin`: where the tree is a folder of `scripts/package --gpu-kit`.
BIN = pathlib.Path(os.environ.get("TITAN_BIN", ROOT / "bin" if (ROOT / "bin" / "titan-train").exists() else ROOT / "build" / "bin"))
TRAIN = str(BIN / "titan-train")
CKPT = str(BIN / "titan-ckpt")


# What these tests hold is of the CPU, also on a host with GPUs, which "auto" would take.
VISIBLE_GPUS = os.environ.get("CUDA_VISIBLE_DEVICES")
os.environ["CUDA_VISIBLE_DEVICES"] = ""


def see_gpus():
    """For what is about GPUs: those that the environment shows."""
    os.environ.pop("CUDA_VISIBLE_DEVICES", None)
    if VISIBLE_GPUS is not None:
        os.environ["CUDA_VISIBLE_DEVICES"] = VISIBLE_GPUS


class Failure(Exception):
    """A run that did not do what it should; the message says which and shows its output."""


def write_tokens(path, count, vocab, seed=1):
    """Writes `count` u16 tokens below `vocab`: a noisy but learnable sequence, the same for the same seed."""
    rng = random.Random(seed)
    tokens, state = [], 0
    for _ in range(count):
        state = rng.randrange(vocab) if rng.random() < 0.2 else (state * 5 + 17) % vocab
        tokens.append(state)
    pathlib.Path(path).write_bytes(struct.pack(f"<{count}H", *tokens))


def write_text(path, count, seed=1):
    """Writes `count` bytes of made-up English-like text."""
    rng = random.Random(seed)
    words = ["the", "quick", "leaf", "of", "a", "titan", "saves", "every", "step", "and", "resumes", "where", "it", "stopped"]
    text = ""
    while len(text) < count:
        text += rng.choice(words) + rng.choice([" ", " ", " ", ". ", "\n"])
    pathlib.Path(path).write_text(text[:count])


def flags(overrides):
    """{"training.steps": 3} -> ["--training.steps=3"]"""
    return [f"--{key}={str(value).lower() if isinstance(value, bool) else value}" for key, value in overrides.items()]


def command(config, nproc=1, overrides=None, extra=()):
    return [TRAIN, "run", str(config), "--nproc", str(nproc), *extra, *flags(overrides or {})]


def paced(milliseconds):
    """Variables with which a run rests so long before each line of a step: so a test that acts meanwhile is in time on a busy machine, too."""
    return {"LD_PRELOAD": str(BIN / "titan-fail-calls.so"), "TITAN_SHIM_PACE": str(milliseconds)}


def train(config, nproc=1, overrides=None, extra=(), expect=0, timeout=600):
    """Runs titan-train to its end; returns (stdout, stderr). Raises Failure on another exit code."""
    args = command(config, nproc, overrides, extra)
    done = subprocess.run(args, capture_output=True, text=True, timeout=timeout)
    if done.returncode != expect:
        raise Failure(f"exit code {done.returncode}, expected {expect}: {' '.join(args)}\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}")
    return done.stdout, done.stderr


def start(config, nproc=1, overrides=None, extra=(), variables=None):
    """Starts titan-train in a session of its own, with stderr as a pipe of text lines."""
    return subprocess.Popen(command(config, nproc, overrides, extra), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
                            env=os.environ | (variables or {}))


def free_port():
    """One of this host where nobody listens now, and which the kernel gives nobody who asks for any."""
    while True:
        port = random.SystemRandom().randrange(15_000, 32_000)  # below net.ipv4.ip_local_port_range
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
                return port
            except OSError:
                continue


def start_each(argv, environments, per_host=None):
    """Starts a rank in each of these environments, as the launcher of a cluster does; they are on one host, or say that so many are on each."""
    local = per_host or len(environments)
    port = free_port()
    ranks = []
    for rank, environment in enumerate(environments):
        place = {"RANK": rank, "WORLD_SIZE": len(environments), "LOCAL_RANK": rank % local, "LOCAL_WORLD_SIZE": local,
                 "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
        ranks.append(subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
                                      env=environment | {key: str(value) for key, value in place.items()}))
    return ranks


def ckpt(*args, expect=0):
    """Runs titan-ckpt with --json; returns the parsed document."""
    done = subprocess.run([CKPT, *map(str, args), "--json"], capture_output=True, text=True, timeout=300)
    if done.returncode != expect:
        raise Failure(f"exit code {done.returncode}, expected {expect}: titan-ckpt {' '.join(map(str, args))}\n{done.stdout}\n{done.stderr}")
    return json.loads(done.stdout.strip().splitlines()[-1]) if done.stdout.strip() else None


def checkpoint_id(run, step):
    return ckpt("inspect", f"{run}@{step}")["id"]


def published_steps(run):
    folder = pathlib.Path(run) / "checkpoint"
    return sorted(int(p.name[5:]) for p in folder.glob("step-????????") if p.is_dir()) if folder.exists() else []


def leftovers(run):
    folder = pathlib.Path(run) / "checkpoint"
    return sorted(p.name for p in folder.iterdir() if ".tmp-" in p.name or p.name.startswith(".trash-") or p.name == "latest.tmp") if folder.exists() else []


def half_saved(run):
    """What no stop leaves. The rest of a deletion may be left to the next start."""
    return [name for name in leftovers(run) if not name.startswith(".trash-")]


def step_lines(run):
    """{step: the text of the layout-independent fields}, from metrics.jsonl, character for character."""
    result = {}
    for line in (pathlib.Path(run) / "metrics.jsonl").read_text().splitlines():
        fields = json.loads(line)
        if "event" in fields:
            continue
        if fields["step"] in result:
            raise Failure(f"step {fields['step']} stands twice in {run}/metrics.jsonl")
        result[fields["step"]] = tuple(_raw(line, key) for key in ("step", "loss", "grad_norm", "lr", "tokens"))
    return result


def _raw(line, key):
    """The characters of a number in a JSON line: floats are compared as printed."""
    begin = line.index(f'"{key}":') + len(key) + 3
    end = begin
    while line[end] not in ",}":
        end += 1
    return line[begin:end]


def events(run):
    lines = (pathlib.Path(run) / "metrics.jsonl").read_text().splitlines()
    return [fields for fields in map(json.loads, lines) if "event" in fields]


def children(pid):
    """Process ids of the direct children that are alive."""
    try:
        return [int(c) for c in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except FileNotFoundError:
        return []


def alive(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def kill(pid):
    os.kill(pid, signal.SIGKILL)


def kill_together(pids):
    """Kills processes before one of them can notice, and say, that another is gone."""
    for number in (signal.SIGSTOP, signal.SIGKILL):
        for pid in pids:
            os.kill(pid, number)


def scratch(prefix):
    return pathlib.Path(tempfile.mkdtemp(prefix=f"titan-{prefix}-"))
