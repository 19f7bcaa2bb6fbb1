"""Runs the real programs for the stress driver, with calls that fail where that is asked for."""

import dataclasses
import os
import pathlib
import re
import subprocess
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
import harness  # noqa: E402

CONFIG = harness.ROOT / "tests" / "e2e" / "small.toml"
SHIM = harness.BIN / "titan-fail-calls.so"
TOOL = harness.BIN / "titan-ckpt-dynamic"
HANG = 600  # s; a start takes one or two on a quiet machine, and minutes on a starved one

SAVED = re.compile(r"step (\d+) saved: (\S+) id=([0-9a-f]{32})")
RESUMED = re.compile(r"start: resume at step (\d+) ")
LEVEL = re.compile(r"^\S+Z ([EWI]) r(\d+) ")


@dataclasses.dataclass
class Outcome:
    command: str
    code: int
    out: str
    err: str
    struck: str = ""  # what the shim did: "pwrite /path"

    @property
    def saved(self):
        """{step: id} of what was announced as saved."""
        return {int(step): digest for step, _, digest in SAVED.findall(self.err)}

    @property
    def resumed(self):
        found = RESUMED.search(self.err)
        return int(found.group(1)) if found else None

    def lines(self, level):
        return [line for line in self.err.splitlines() if (m := LEVEL.match(line)) and m.group(1) == level]

    @property
    def errors(self):
        return [line for line in self.err.splitlines() if line.startswith("error:")]

    def text(self):
        shim = f"; shim: {self.struck}" if self.struck else ""
        return f"{self.command}\nexit code {self.code}{shim}\n{self.out[-1500:]}\n{self.err[-5000:]}"


def shim_environment(under, log, plan):
    """`plan`: {"rank", "call", "k", "do", "sticky", "match", "no_flags"}, each may be left out."""
    environment = dict(
        os.environ, LD_PRELOAD=str(SHIM), TITAN_SHIM_UNDER=":".join(map(str, under)), TITAN_SHIM_LOG=str(log)
    )
    for key, value in plan.items():
        environment["TITAN_SHIM_" + key.upper()] = str(int(value)) if isinstance(value, bool) else str(value)
    return environment


def struck(log):
    if not log.exists():
        return ""
    found = [
        line.split(" FIRED ", 1)[1] for line in log.read_text(errors="replace").splitlines() if " FIRED " in line
    ]
    return found[0] if found else ""


def run(command, under=(), plan=None, scratch=None, on_line=None, timeout=HANG, limit=None):
    """Runs `command` to its end; `on_line(process, line)` sees the lines of stderr as they come."""
    log = scratch / "shim.log" if scratch else None
    if log and log.exists():
        log.unlink()
    environment = shim_environment(under, log, plan) if plan is not None else None
    command = list(map(str, command))
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        env=environment,
        start_new_session=True,
        preexec_fn=limit,
    )
    texts = {"out": [], "err": []}

    def pump(stream, name):
        for line in stream:
            texts[name].append(line)
            if name == "err" and on_line:
                on_line(process, line)

    threads = [
        threading.Thread(target=pump, args=(stream, name), daemon=True)
        for stream, name in ((process.stdout, "out"), (process.stderr, "err"))
    ]
    for thread in threads:
        thread.start()
    try:
        code = process.wait(timeout=timeout)
    except subprocess.TimeoutExpired:
        end_session(process.pid)
        code = None
    deadline = time.time() + 120  # ranks that outlive their launcher hold the pipes open
    for thread in threads:
        thread.join(max(0.1, deadline - time.time()))
    if any(thread.is_alive() for thread in threads):
        end_session(process.pid)
        code = None
    return Outcome(
        " ".join(command), code, "".join(texts["out"]), "".join(texts["err"]), struck(log) if plan is not None else ""
    )


def end_session(session):
    """Ends what we started: all processes of the session that a start makes."""
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            fields = (entry / "stat").read_text().rsplit(")", 1)[1].split()
            if int(fields[3]) == session:
                harness.kill(int(entry.name))
        except (OSError, IndexError):
            continue


def train_command(overrides, nproc, extra=()):
    return harness.command(CONFIG, nproc, overrides, extra)


def tool_command(*args):
    """titan-ckpt; the dynamically linked one, which is the same program, so that calls can be made to fail."""
    return [TOOL, *args]
