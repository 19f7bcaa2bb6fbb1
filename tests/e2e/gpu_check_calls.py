"""scripts/gpu-check in three calls, as on a borrowed machine, on the fake device: a call continues where the previous one ran out of time, each check runs once, within its limit."""
import json
import pathlib
import subprocess
import sys
import tempfile

import harness

BUDGETS = (200, 75), (450, 75), (570, 0)  # the check of two GPUs may take 540 s; seconds, exit code

with tempfile.TemporaryDirectory() as folder:
    report = pathlib.Path(folder) / "gpu-check.json"
    done = []
    for budget, code in BUDGETS:
        call = subprocess.run([sys.executable, harness.ROOT / "scripts" / "gpu-check", "--device", "fake", "--budget", str(budget), "--out", report], stdout=subprocess.PIPE, text=True)
        print(call.stdout, end="", flush=True)
        assert call.returncode == code, (budget, call.returncode)
        done += [int(line.split()[0]) for line in call.stdout.splitlines() if line[:3].strip().isdigit() and line[5:].startswith(("passed", "skipped"))]
    rows = json.loads(report.read_text())["checks"]
assert sorted(done) == [row["check"] for row in rows], (done, [row["check"] for row in rows])
print(f"{len(rows)} checks in {len(BUDGETS)} calls")
