"""Two ways to train: ranks as threads of one process that stays, or processes over Gloo as people start them."""

import pathlib
import subprocess
import sys
import threading

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
import harness  # noqa: E402

LONGEST = 300  # seconds of one run


def step_folder(run, step):
    return pathlib.Path(run) / "checkpoint" / f"step-{step:08d}"


class Threads:
    name = "threads"

    def __init__(self):
        self.process = None

    def train(self, config, nproc, overrides, expect=0):
        code, text = self.ask("train", nproc, config, *harness.flags(overrides))
        if code != expect:
            raise harness.Failure(f"exit code {code}, expected {expect}: {text}; {nproc} ranks {' '.join(harness.flags(overrides))}")

    def eval(self, checkpoint, tokens, row_length):
        code, text = self.ask("eval", checkpoint, tokens, row_length)
        if code != 0:
            raise harness.Failure(f"eval of {checkpoint}: exit code {code}: {text}")
        return text

    def ask(self, *words):
        if self.process is None:
            self.process = subprocess.Popen([harness.BIN / "titan-thread-train"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        watch = threading.Timer(LONGEST, self.process.kill)
        watch.start()
        try:
            self.process.stdin.write("\t".join(map(str, words)) + "\n")
            self.process.stdin.flush()
            answer = self.process.stdout.readline()
        except BrokenPipeError:
            answer = ""
        finally:
            watch.cancel()
        if not answer:
            code, self.process = self.process.wait(), None
            raise harness.Failure(f"titan-thread-train ended with {code} (killed after {LONGEST} s?) at: {' '.join(map(str, words))}")
        code, _, text = answer.rstrip("\n").partition("\t")
        return int(code), text

    def close(self):
        if self.process is not None:
            self.process.stdin.close()
            self.process.wait()


class Processes:
    name = "processes"

    def train(self, config, nproc, overrides, expect=0):
        return harness.train(config, nproc, overrides, expect=expect, timeout=LONGEST)

    def close(self):
        pass
