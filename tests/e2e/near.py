#!/usr/bin/env python3
"""near.py [--kills N]: saves in two tiers (checkpoint.near). Kills ranks under --max-restarts while the run folder is slow, and wipes the near folder now and then. Copies catch up with a run folder that
refused everything for a while; a complete run whose last step is only in the near folder copies it. Every run ends with the id of an undisturbed run. TITAN_BIN names the folder of the programs.
"""
import argparse
import fcntl
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import time

import harness
from max_restarts import CONFIG, fail, lines, newest_line, ranks_of, resumes, wait_until

SEED = 20261127
SHIM = pathlib.Path(harness.TRAIN).parent / "titan-fail-calls.so"


def write_config(folder, run, steps, near=True):
    path = folder / f"{run}.toml"
    text = CONFIG.format(folder=folder, run=run, steps=steps)
    path.write_text(text.replace("interval = 5\n", f'interval = 5\nnear = "{folder}/near-{run}"\n') if near else text)
    return path


def store_that(folder, run, effect, **more):
    """The environment in which changes below the steps of the run folder, and these alone, meet `effect`."""
    plan = {"UNDER": folder / run / "checkpoint", "CALL": "any", "K": 1, "STICKY": 1, "MATCH": "/step-", "DO": effect, **more}
    return os.environ | {"LD_PRELOAD": str(SHIM)} | {f"TITAN_SHIM_{key}": str(value) for key, value in plan.items()}


def near_steps(folder, run):
    return sorted(int(path.name[5:]) for path in (folder / f"near-{run}").glob("titan-*/step-????????"))


def wipe(folder, run):
    shutil.rmtree(folder / f"near-{run}", ignore_errors=True)


def start(config, environment, *extra):
    log = open(config.with_suffix(".log"), "a")
    return subprocess.Popen([harness.TRAIN, "run", str(config), "--nproc", "2", *extra], stdout=log, stderr=log, env=environment, start_new_session=True)


def end(job, run):
    """All of the job at once, as a node that dies. The ranks die with the launcher, a little later: with the last one the lock is free."""
    os.killpg(job.pid, signal.SIGKILL)
    job.wait()
    deadline = time.monotonic() + 60
    with open(run / "checkpoint" / "run.lock", "rb+") as file:
        while time.monotonic() < deadline:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            except BlockingIOError:
                time.sleep(0.02)
    fail("a rank outlived its node")


def text_of(config):
    return config.with_suffix(".log").read_text()


def ends_as(folder, run, whole, steps, config):
    if harness.checkpoint_id(folder / run, steps) != harness.checkpoint_id(folder / whole, steps):
        fail(f"{run} has another id:\n{text_of(config)[-3000:]}")
    if harness.half_saved(folder / run):
        fail(f"left over in {run}: {harness.half_saved(folder / run)}")


def killed(folder, kills, whole, steps):
    """Each kill hits a rank; every third time the near folder goes with it. What had been durable is never lost, and what lay near is only where that was wiped."""
    config, dice = write_config(folder, "hurt", steps), random.Random(SEED)
    run, done, mark, near_starts = folder / "hurt", 0, 0, 0
    job = start(config, store_that(folder, "hurt", "slow:4", PACE=50), "--metrics.log_freq=1", "--max-restarts", str(kills + 1))
    while done < kills:
        goal = mark + dice.randint(7, 13)
        there = lambda: max([0, *harness.published_steps(run), *near_steps(folder, "hurt")])  # noqa: E731
        if not wait_until(job, "steps", lambda: newest_line(run) >= goal and there() > mark and len(ranks_of(job)) == 2):
            break
        before, wiped = len(resumes(run)), done % 3 == 2
        if wiped and max(harness.published_steps(run), default=0) <= mark:
            continue  # nothing new would be left, which ends the job
        durable, near, ranks = max(harness.published_steps(run), default=0), there(), ranks_of(job)
        if not ranks:
            continue
        os.kill(dice.choice(ranks), signal.SIGKILL)
        if wiped:
            wipe(folder, "hurt")
        done += 1
        if not wait_until(job, "restart", lambda: len(resumes(run)) > before):
            fail(f"no restart after kill {done}:\n{text_of(config)[-3000:]}")
        mark = resumes(run)[-1]
        if mark < (durable if wiped else near):
            fail(f"kill {done} (near folder {'wiped' if wiped else 'kept'}): step {durable} was durable and step {near} near, and the restart began at step {mark}")
        near_starts += any(line.get("event") == "resume" and line["step"] == mark and "near-hurt" in line["from"] for line in lines(run))
    if job.wait(timeout=300) != 0:
        fail(f"exit code {job.returncode}:\n{text_of(config)[-3000:]}")
    if done == 0 or near_starts == 0:
        fail(f"{done} kills, {near_starts} restarts from the near folder: nothing was tried")
    ends_as(folder, "hurt", whole, steps, config)
    return done, near_starts


def outage(folder, whole, steps):
    """The run folder refuses everything for two seconds. Two steps wait for it, the newest and the one before it or the one whose copy is being tried;
    what is given up is said to be."""
    config = write_config(folder, "outage", steps)
    job = start(config, store_that(folder, "outage", 5, MS=2000, SHARED=folder / "outage.count"))
    if job.wait(timeout=120) != 0:
        fail(f"an outage: exit code {job.returncode}\n{text_of(config)[-3000:]}")
    given_up = [event["step"] for event in harness.events(folder / "outage") if event["event"] == "save_failed"]
    missing = [step for step in range(5, steps + 1, 5) if step not in harness.published_steps(folder / "outage")]
    if "its copy is tried again later" not in text_of(config) or sorted(given_up) != missing or steps in missing or len(missing) > steps // 5 - 2:
        fail(f"an outage: {missing} are missing, {given_up} were given up\n{text_of(config)[-3000:]}")
    ends_as(folder, "outage", whole, steps, config)


def brought_home(folder, whole, steps):
    """The node dies twice while the run folder takes nothing: in the middle, and behind the last step. A last command finds the run complete, and nothing in the near folder."""
    config = write_config(folder, "home", steps)
    away = store_that(folder, "home", 5)
    for last in (10, steps):
        job = start(config, away, *([f"--debug.stop_at_step={last}"] if last < steps else []))
        if not wait_until(job, "the last step", lambda: near_steps(folder, "home")[-1:] == [last]):
            fail(f"step {last} did not come:\n{text_of(config)[-3000:]}")
        end(job, folder / "home")
        if harness.published_steps(folder / "home"):
            fail("the run folder was to refuse everything")
        if len(near_steps(folder, "home")) != 2:
            fail(f"two steps wait while the run folder refuses, found {near_steps(folder, 'home')}")
    if (code := start(config, os.environ).wait(timeout=60)) != 0 or "nothing to do, complete" not in text_of(config):
        fail(f"a step that lies near alone: exit code {code}\n{text_of(config)[-3000:]}")
    if harness.published_steps(folder / "home") != [steps] or near_steps(folder, "home"):
        fail(f"brought home: {harness.published_steps(folder / 'home')}, left near: {near_steps(folder, 'home')}")
    ends_as(folder, "home", whole, steps, config)


def stopped(folder, steps):
    """A stop waits for the copy; what counts as durable is what the run folder has."""
    config = write_config(folder, "stopped", 100 * steps)
    status = folder / "status.prom"
    job = start(config, store_that(folder, "stopped", "slow:4"), f"--metrics.status_file={status}")
    if not wait_until(job, "a near step", lambda: near_steps(folder, "stopped")):
        fail("no step came near")
    job.terminate()
    if job.wait(timeout=60) != 75:
        fail(f"a stop: exit code {job.returncode}\n{text_of(config)[-3000:]}")
    newest = max(harness.published_steps(folder / "stopped"))
    if newest != newest_line(folder / "stopped"):
        fail(f"stopped behind step {newest_line(folder / 'stopped')}, and step {newest} is durable")
    durable = [line for line in status.read_text().splitlines() if line.startswith("titan_last_durable_step{")]
    if not durable or int(float(durable[0].split()[-1])) != newest:
        fail(f"last durable step {newest}: {durable}")
    named = {event["event"]: event for event in harness.events(folder / "stopped")}
    if f"/near-stopped/" not in named["save_near"]["path"] or named["save_commit"]["path"] != str(folder / "stopped" / "checkpoint" / f"step-{newest:08d}"):
        fail(f"events: {json.dumps(named)}")


def refused(folder):
    config = write_config(folder, "refused", 4)
    done = subprocess.run(harness.command(config, extra=["--checkpoint.near=shm"]), capture_output=True, text=True)
    if done.returncode != 2 or "checkpoint.near = shm: expected an absolute path" not in done.stderr:
        fail(f"a relative path: exit code {done.returncode}\n{done.stderr}")
    for verb, place, words in (("run", "refused/near", "lies in the run folder"), ("plan", "link", "lies in the run folder"), ("plan", "", "holds the run folder")):
        if place == "link":
            (folder / "refused").mkdir()
            (folder / "link").symlink_to("refused")
        done = subprocess.run([harness.TRAIN, verb, str(config), f"--checkpoint.near={folder / place}"], capture_output=True, text=True)
        if done.returncode != 2 or f"checkpoint.near = {folder / place} {words} {folder}/refused" not in done.stderr:
            fail(f"{verb} with a near folder at {place}: exit code {done.returncode}\n{done.stderr}")
    other_host = store_that(folder, "refused", 2, UNDER=folder / "near-refused", CALL="open", MATCH="seen", RANK=1)
    done = subprocess.run(harness.command(config, nproc=2), capture_output=True, text=True, env=other_host)
    if done.returncode != 2 or "is not one folder for all ranks: rank 1 does not find there" not in done.stderr:
        fail(f"two hosts: exit code {done.returncode}\n{done.stderr}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=3)
    kills = parser.parse_args().kills
    folder = harness.scratch("near")
    harness.write_text(folder / "text.txt", 20000)
    few, many = 20, 20 * kills + 20
    for run, steps in (("whole-few", few), ("whole-many", many)):
        harness.train(write_config(folder, run, steps, near=False), nproc=2)
    refused(folder)
    brought_home(folder, "whole-few", few)
    outage(folder, "whole-few", few)
    stopped(folder, few)
    done, near_starts = killed(folder, kills, "whole-many", many)
    print(f"seed {SEED}: {done} kills, {near_starts} restarts from the near folder; no durable step was lost, and each end has the id of an undisturbed run")


if __name__ == "__main__":
    main()
