#!/usr/bin/env python3
"""Terminal output: both programs on a pseudo-terminal of 80 columns. No line is wider, the progress bar is erased at the end, and a pipe gets none of it."""

import fcntl
import os
import pathlib
import pty
import re
import shutil
import struct
import subprocess
import sys
import termios
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import harness  # noqa: E402

CONFIG = harness.ROOT / "tests" / "e2e" / "small.toml"
CKPT = pathlib.Path(harness.TRAIN).parent / "titan-ckpt"
COLUMNS = 80
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def on_terminal(argv, columns=COLUMNS, cwd=None, **environment):
    """Runs argv with all streams on a terminal; returns the exit status and the bytes it wrote."""
    parent, child = pty.openpty()
    fcntl.ioctl(child, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    env = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "COLUMNS", "CLICOLOR_FORCE")}
    env.update({"TERM": "xterm", **environment})
    process = subprocess.Popen(list(map(str, argv)), stdin=child, stdout=child, stderr=child, env=env, cwd=cwd, start_new_session=True)
    os.close(child)
    out = b""
    while True:
        try:
            got = os.read(parent, 65536)
        except OSError:
            break
        if not got:
            break
        out += got
    os.close(parent)
    return process.wait(), out.decode()


def screen(text):
    """The lines that stand on the terminal at the end, and every line that was ever drawn, without colours."""
    drawn, lines, line, column = [], [], "", 0
    for part in re.split(r"(\x1b\[[0-9;?]*[A-Za-z]|\r|\n)", text):
        if part == "\n":
            lines.append(line)
            line, column = "", 0
        elif part == "\r":
            drawn.append(line)
            column = 0
        elif part in ("\x1b[K", "\x1b[J"):
            line = line[:column]
        elif part and not part.startswith("\x1b"):
            line = line[:column].ljust(column) + part + line[column + len(part) :]
            column += len(part)
    return lines + ([line] if line else []), drawn + lines


class Terminal(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.work = harness.scratch("terminal")
        harness.write_text(cls.work / "text.txt", 4_000)
        cls.settings = {
            "training.dataset_path": "text.txt",
            "job.dump_folder": "run",
            "training.steps": 12,
            "checkpoint.interval": 4,
            "metrics.log_freq": 2,
        }
        cls.command = harness.command(CONFIG, 2, cls.settings)
        cls.code, cls.text = on_terminal(cls.command, cwd=cls.work)
        cls.lines, cls.drawn = screen(cls.text)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.work, ignore_errors=True)

    def fits(self, drawn, columns=COLUMNS, but=r"^$"):
        for line in drawn:
            if not re.search(but, line):
                self.assertLessEqual(len(line), columns, line)

    def test_a_run_reads_along_and_ends_with_a_summary(self):
        self.assertEqual(self.code, 0, self.text)
        self.fits(self.drawn, but="^continue ")  # a line to paste stays one line
        steps = [line for line in self.lines if re.match(r"step +\d+/12  loss", line)]
        self.assertEqual([int(re.match(r"step +(\d+)", line)[1]) for line in steps], [1, 2, 4, 6, 8, 10, 12], self.text)
        self.assertRegex(steps[3], r"^step  6/12  loss  +\d\.\d{4}  lr \d\.\d\de-\d+  tok/s +[\d.]+k? \( *[\d.]+k? a rank\)  eta ")
        for name in ("loss", "lr", "tok/s", "eta"):
            self.assertEqual({line.find(name) for line in steps}, {steps[0].find(name)}, "columns are aligned")
        self.assertEqual(len([line for line in self.lines if "saved" in line]), 3, "one line a save")
        self.assertNotIn("n/a", "\n".join(steps))
        tail = "\n".join(self.lines[-4:])
        self.assertRegex(tail, r"done +12 steps in .*, 6,144 tokens|done +12 steps in")
        self.assertRegex(tail, r"loss +\d.* at step 12, best \d.* at step \d+")
        self.assertRegex(tail, r"newest +run/checkpoint/step-00000012")
        self.assertRegex(tail, r"continue +.*--training.steps=24")

    def test_the_bar_is_drawn_below_and_gone_at_the_end(self):
        bars = [line for line in self.drawn if re.match(r"\[[\d.hms]+\] +\d+%  step", line)]
        self.assertTrue(bars, self.text)
        self.assertTrue(all(len(bar) < COLUMNS for bar in bars))
        self.assertFalse([line for line in self.lines if re.match(r"\[[\d.hms]+\] +\d+%", line)], self.text)

    def test_the_line_that_goes_on_goes_on(self):
        line = next(line for line in self.lines if line.startswith("continue "))[len("continue ") :].strip()
        done = subprocess.run(line, shell=True, cwd=self.work, capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("step: 24", done.stdout)
        self.assertNotIn("\x1b", done.stdout + done.stderr)

    def test_a_narrow_and_a_dumb_terminal(self):
        settings = {**self.settings, "job.dump_folder": "narrow"}
        code, text = on_terminal(harness.command(CONFIG, 1, settings), columns=50, cwd=self.work)
        self.assertEqual(code, 0, text)
        steps = [line for line in screen(text)[0] if line.startswith("step")]
        self.fits(steps, 50)
        for environment in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
            settings["job.dump_folder"] = next(iter(environment))
            code, text = on_terminal(harness.command(CONFIG, 1, settings), cwd=self.work, **environment)
            self.assertEqual(code, 0, text)
            self.assertNotIn("\x1b", text, environment)

    def test_every_answer_fits(self):
        train = harness.TRAIN
        flags = harness.flags(self.settings)
        for argv, code in (
            ([CKPT, "ls", "run"], 0),
            ([CKPT, "inspect", "run@8"], 0),
            ([CKPT, "inspect", "run@8", "--stats", "--sort", "norm", "--top", "5"], 0),
            ([CKPT, "inspect", "run@8", "--tensors", "*"], 0),
            ([CKPT, "diff", "run@4", "run@8"], 1),
            ([CKPT, "diff", "run@4", "run@8", "--stats", "--moments", "--top", "all"], 1),
            ([CKPT, "verify", "run"], 0),
            ([CKPT, "prune", "run", "--keep-last", "1", "--dry-run"], 0),
            ([CKPT, "lr", "show", "run@8"], 0),
            ([CKPT, "--help"], 0),
            ([CKPT, "diff", "--help"], 0),
            ([train, "run", "--help"], 0),
            ([train, "plan", CONFIG, *flags, "--job.dump_folder=other"], 0),
            ([CKPT, "reshard", "run@8", "made/wide", "--dp", "2"], 0),
        ):
            with self.subTest(argv=argv[1:]):
                got, text = on_terminal(argv, cwd=self.work)
                self.assertEqual(got, code, text)
                self.fits(screen(text)[1], but=r"^\S+$|/")  # a path stays whole


if __name__ == "__main__":
    unittest.main()
