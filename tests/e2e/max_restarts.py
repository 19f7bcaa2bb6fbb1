#!/usr/bin/env python3
"""max_restarts.py [--kills N]: kills ranks under --max-restarts. The run must end with the id of an undisturbed run; prints the time from a kill to the next finished step.

Also: a failure that repeats after a restart ends the run, a stop is not a failure, and a launcher other than Titan's is refused. TITAN_BIN names the folder of the programs.
"""
import argparse
import json
import os
import random
import signal
import statistics
import subprocess
import sys
import time

import harness

SEED = 20261126
CONFIG = """[training]
dataset_path = "{folder}/text.txt"
local_batch_size = 2
global_batch_size = 8
seq_len = 32
steps = {steps}
mixed_precision_param = "float32"
[job]
dump_folder = "{folder}/{run}"
threads_per_rank = 1
[lr_scheduler]
warmup_steps = 1
[debug]
seed = 7
[checkpoint]
interval = 5
[metrics]
log_freq = 1
[model]
dim = 16
n_layers = 2
n_heads = 2
ffn_dim = 32
vocab_size = 256
"""


def fail(text):
    sys.exit(f"error: {text}")


def write_config(folder, run, steps):
    path = folder / f"{run}.toml"
    path.write_text(CONFIG.format(folder=folder, run=run, steps=steps))
    return path


def ranks_of(job):
    """Pids of the ranks: children of the launcher, which is the only child of what was started."""
    for launcher in harness.children(job.pid):
        ranks = harness.children(launcher)
        if len(ranks) == 2:
            return ranks
    return []


def lines(run):
    """The whole lines of a metrics.jsonl that grows."""
    try:
        text = (run / "metrics.jsonl").read_text()
    except FileNotFoundError:
        return []
    return [json.loads(line) for line in text[:text.rfind("\n") + 1].splitlines()]


def newest_line(run):
    return max((line["step"] for line in lines(run) if "loss" in line), default=0)


def resumes(run):
    return [line["step"] for line in lines(run) if line.get("event") == "resume"]


def wait_until(job, what, reached, seconds=120):
    end = time.monotonic() + seconds
    while not reached():
        if job.poll() is not None or time.monotonic() > end:
            return reached()
        time.sleep(0.01)
    return True


def killed(folder, kills, steps):
    """Kills a rank each time a few steps were published; the run must end by itself."""
    whole, hurt = write_config(folder, "whole", steps), write_config(folder, "hurt", steps)
    harness.train(whole, nproc=2)
    run, dice, waits, done = folder / "hurt", random.Random(SEED), [], 0
    log = open(folder / "hurt.log", "w")
    job = subprocess.Popen([harness.TRAIN, "run", str(hurt), "--nproc", "2", "--max-restarts", str(kills + 1)], stdout=log, stderr=log,
                           env=os.environ | harness.paced(50))
    mark = 0  # where the last start began
    while done < kills:
        goal = mark + dice.randint(6, 12)
        if not wait_until(job, "steps", lambda: newest_line(run) >= goal and harness.published_steps(run) and len(ranks_of(job)) == 2):
            break
        if max(harness.published_steps(run)) <= mark:  # the next failure would end the run
            time.sleep(0.01)
            continue
        before = len(resumes(run))
        began = time.monotonic()
        os.kill(dice.choice(ranks_of(job)), signal.SIGKILL)
        done += 1
        if not wait_until(job, "restart", lambda: len(resumes(run)) > before):
            fail(f"no restart after kill {done}:\n{(folder / 'hurt.log').read_text()[-3000:]}")
        start = resumes(run)[-1]
        wait_until(job, "a step", lambda: newest_line(run) > start)
        waits.append(time.monotonic() - began)
        mark = start
    code = job.wait(timeout=300)
    if code != 0:
        fail(f"exit code {code}:\n{(folder / 'hurt.log').read_text()[-3000:]}")
    if done != kills:
        fail(f"{done} of {kills} kills: the run was too fast")
    if harness.checkpoint_id(run, steps) != harness.checkpoint_id(folder / "whole", steps):
        fail("the run that was killed has another id")
    restarts = (folder / "hurt.log").read_text().count("note: restart ")
    if restarts != done:
        fail(f"{done} kills, {restarts} restarts")
    return done, waits


def same_failure_again(folder):
    """A gradient that is never finite: restarts meet it again, and no newer step comes."""
    config = write_config(folder, "spoilt", 40)
    done = subprocess.run([harness.TRAIN, "run", str(config), "--nproc", "2", "--max-restarts", "5"], capture_output=True, text=True,
                          env={**os.environ, "TITAN_SPOIL_GRADIENT": "0:60-63:tok_embeddings.weight"})
    if done.returncode != 3 or done.stderr.count("note: restart ") != 3 or "no step newer than step 5 came in 3 starts" not in done.stderr:
        fail(f"a failure that comes again: exit code {done.returncode}\n{done.stderr[-3000:]}")


def stopped(folder):
    config = write_config(folder, "stopped", 2000)
    job = subprocess.Popen([harness.TRAIN, "run", str(config), "--nproc", "2", "--max-restarts", "5"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if not wait_until(job, "steps", lambda: newest_line(folder / "stopped") >= 3):
        fail("the run ended before it was stopped")
    job.send_signal(signal.SIGTERM)
    error = job.communicate(timeout=120)[1]
    if job.returncode != 75 or "note: restart" in error:
        fail(f"a stop: exit code {job.returncode}\n{error[-2000:]}")


def refused(folder):
    config = write_config(folder, "refused", 4)
    environment = {**os.environ, "RANK": "0", "WORLD_SIZE": "1", "LOCAL_RANK": "0", "LOCAL_WORLD_SIZE": "1", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(harness.free_port())}
    done = subprocess.run([harness.TRAIN, "run", str(config), "--max-restarts", "2"], capture_output=True, text=True, env=environment)
    if done.returncode != 2 or "--max-restarts is for titan-train's own launcher" not in done.stderr:
        fail(f"under torchrun: exit code {done.returncode}\n{done.stderr}")
    done = subprocess.run([harness.TRAIN, "run", str(config), "--max-restarts", "many"], capture_output=True, text=True)
    if done.returncode != 2 or "expected a number of 0 or more" not in done.stderr:
        fail(f"no number: exit code {done.returncode}\n{done.stderr}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=3)
    kills = parser.parse_args().kills
    folder = harness.scratch("restarts")
    harness.write_text(folder / "text.txt", 20000)
    refused(folder)
    same_failure_again(folder)
    stopped(folder)
    done, waits = killed(folder, kills, 20 * kills + 20)
    print(f"seed {SEED}: {done} kills, each restarted, the id is that of an undisturbed run; {statistics.median(waits):.1f} s from a kill to the next finished step (median), {max(waits):.1f} s at most")


if __name__ == "__main__":
    main()
