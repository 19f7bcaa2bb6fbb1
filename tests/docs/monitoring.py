#!/usr/bin/env python3
"""monitoring.py ROOT: alerts and dashboard of configs/monitoring name what metrics.status_file writes, scripts/send-metrics sends what a run has measured, scripts/upload-step a step.

The packages wandb and mlflow are played by modules that note what they are told.
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

STAND_IN = '''
import atexit, json
calls = []
class Run:
    def __getattr__(self, name):
        return lambda *args, **named: calls.append([name, args, named])
def init(**named):
    calls.append(["init", (), named])
    return Run()
def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    return lambda *args, **named: calls.append([name, args, named])
atexit.register(lambda: open("calls.json", "w").write(json.dumps(calls)))
'''
LINES = [
    {"event": "run_start", "step": 0, "time": "x"},
    {"step": 1, "loss": 3.0, "lr": 0.1},
    {"step": 2, "loss": 2.5, "lr": 0.1},
    {"event": "save_commit", "step": 2, "seconds": 0.5, "id": "ab"},
    {"step": 2, "loss": 2.4, "lr": 0.1},
    "{\"step\": 3, \"lo",
]


def check_names(root):
    source = (root / "libtrain/job/metrics/status_file.cpp").read_text()
    written = set(re.findall(r'"(titan_\w+)"', source))
    scrubbed = set(re.findall(r'"(titan_\w+[a-z])"', (root / "ckpt/ops/scrub.cpp").read_text()))
    found = {}
    alerts = (root / "configs/monitoring/alerts.yml").read_text()
    dashboard = json.loads((root / "configs/monitoring/grafana.json").read_text())
    expressions = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    found["alerts.yml"] = set(re.findall(r"\btitan_\w+", "\n".join(re.findall(r"expr: (.*)", alerts))))
    found["grafana.json"] = set(re.findall(r"\btitan_\w+", "\n".join(expressions)))
    found["operations.md"] = set(re.findall(r"\btitan_\w+", (root / "docs/operations.md").read_text()))
    problems = [f"{name} names {metric}, which no run writes" for name, metrics in found.items() for metric in sorted(metrics - written - scrubbed)]
    problems += [f"{name} lacks {metric}" for name in ("grafana.json", "operations.md") for metric in sorted((written | (scrubbed if name == "operations.md" else set())) - found[name])]
    rules = re.findall(r"- alert: (\w+)\n(.*?)(?=\n      - alert|\Z)", alerts, re.S)
    problems += [f"alert {name} lacks {part}" for name, body in rules for part in ("expr", "labels", "annotations", "summary", "action") if f"{part}:" not in body]
    ids = [panel["id"] for panel in dashboard["panels"]]
    if len(written) < 10 or len(rules) < 5 or len(set(ids)) != len(ids):
        problems.append("too few names or alerts, or a panel's id twice")
    return problems


RCLONE = """#!/bin/sh
echo "$1 $2" >> calls
mkdir -p "$(dirname "$3")"
case $1 in copy) mkdir -p "$3"; cp -r "$2/." "$3"; rm -f "$3/manifest.json";; copyto) cp "$2" "$3";; esac
"""


def check_upload(root):
    """A published step goes to the remote with its manifest last."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        step, there = folder / "step-00000010", folder / "bucket" / "run" / "step-00000010"
        (step / "model").mkdir(parents=True)
        (step / "model" / "shard-00000.h5").write_text("leaves")
        (step / "manifest.json").write_text("{}")
        (folder / "rclone").write_text(RCLONE)
        (folder / "rclone").chmod(0o755)
        env = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}", "TITAN_CHECKPOINT": str(step)}
        upload = [str(root / "scripts/upload-step")]
        done = subprocess.run([*upload, "bucket/run/"], cwd=folder, env=env, capture_output=True, text=True)
        problems = [] if done.returncode == 0 else [f"upload-step: {done.stderr}"]
        if (folder / "calls").read_text().split() != ["copy", str(step), "copyto", f"{step}/manifest.json"]:
            problems.append(f"upload-step called {(folder / 'calls').read_text()}")
        if not (there / "manifest.json").exists() or not (there / "model" / "shard-00000.h5").exists():
            problems.append("upload-step left something out")
        codes = [subprocess.run([*upload, *words], cwd=folder, env=env, capture_output=True).returncode for words in ([], ["bucket", "nowhere"])]
        if codes != [2, 10]:
            problems.append(f"upload-step ends with {codes}, expected 2 and 10")
    return problems


def calls_of(root, to, folder, *more):
    stand_in = folder / "modules"
    stand_in.mkdir(exist_ok=True)
    (stand_in / f"{to}.py").write_text(STAND_IN)
    run = folder / "run"
    run.mkdir(exist_ok=True)
    (run / "metrics.jsonl").write_text("\n".join(line if isinstance(line, str) else json.dumps(line) for line in LINES))
    (run / "config.toml").write_text("[training]\nsteps = 4\n")
    done = subprocess.run([sys.executable, str(root / "scripts/send-metrics"), "run", "--to", to, "--project", "p", *more], cwd=folder,
                          env={**os.environ, "PYTHONPATH": str(stand_in)}, capture_output=True, text=True, timeout=60)
    if done.returncode != 0:
        raise SystemExit(f"send-metrics --to {to}: {done.stderr}")
    return json.loads((folder / "calls.json").read_text()), done.stdout


def check_senders(root):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        calls, said = calls_of(root, "wandb", folder)
        logged = [args[0] for call, args, _ in calls if call == "log"]
        wanted = [{"step": 1, "loss": 3.0, "lr": 0.1}, {"step": 2, "loss": 2.4, "lr": 0.1, "save_commit/seconds": 0.5}]
        problems = [] if logged == wanted else [f"wandb got {logged}"]
        if calls[0][2].get("config") != {"training.steps": 4} or calls[-1][0] != "finish" or "2 steps" not in said:
            problems.append(f"wandb was told {calls[0]} .. {calls[-1]}: {said}")
        (folder / "run" / "run.lock").write_text('{"heartbeat": 0}')
        calls, said = calls_of(root, "wandb", folder, "--follow")
        if [args[0]["step"] for call, args, _ in calls if call == "log"] != [1, 2, 2, 2] or "4 lines" not in said:
            problems.append(f"--follow of a run that has ended: {said}")
        calls, _ = calls_of(root, "mlflow", folder)
        logged = [(named["step"], args[0]["loss"]) for call, args, named in calls if call == "log_metrics"]
        if logged != [(1, 3.0), (2, 2.4)] or calls[-1][0] != "end_run":
            problems.append(f"mlflow got {logged}")
        missing = subprocess.run([sys.executable, str(root / "scripts/send-metrics"), "nowhere", "--to", "wandb"], cwd=folder, capture_output=True, text=True)
        if missing.returncode == 0 or "hint:" not in missing.stderr:
            problems.append("a run that is not there is no error")
    return problems


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    problems = check_names(root) + check_senders(root) + check_upload(root)
    print("\n".join(problems) if problems else "alerts, dashboard and senders fit what a run writes")
    sys.exit(1 if problems else 0)


main()
