#!/usr/bin/env python3
"""scripts/mutate on a toy tree: tells each outcome, and puts the file back whatever happens to it."""

import os
import pathlib
import signal
import subprocess
import sys
import tempfile

MUTATE = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "mutate"

CMAKE = """cmake_minimum_required(VERSION 3.25)
project(toy LANGUAGES CXX)
add_executable(toy toy.cpp)
"""
SOURCE = """int capped(int x) { return x > 3 ? 3 : x; }
int main() { return capped(4) == 3 && capped(2) == 2 ? 0 : 1; }
"""
HEAD = """[stage.toy]
targets = ["toy"]
command = "./toy"
timeout = 60
[stage.held]
targets = ["toy"]
command = "echo begun > $MUTATE_FIFO; cat $MUTATE_FIFO"
timeout = 60
[stage.short]
targets = ["toy"]
command = "./toy && ! grep -q 9 ../toy.cpp || cat $MUTATE_FIFO"
timeout = 1
"""
MUTANTS = {"kills": ("toy.cpp", "x > 3", "x > 4", "toy"), "lives": ("toy.cpp", "x > 3", "x >= 3", "toy"),
           "gone": ("toy.cpp", "x > 5", "x > 6", "toy"), "twice": ("toy.cpp", "capped", "cupped", "toy"),
           "broken": ("toy.cpp", "x > 3", "x > ", "toy"), "hangs": ("toy.cpp", "capped(4)", "capped(9)", "short"),
           "held": ("toy.cpp", "x > 3", "x > 2", "held")}


class Toy:
    """A tree with one source file, and a pipe at which the stage "held" waits."""

    def __init__(self, folder):
        self.root, self.fifo = folder, folder / "fifo"
        os.mkfifo(self.fifo)
        (folder / "CMakeLists.txt").write_text(CMAKE)
        (folder / "toy.cpp").write_text(SOURCE)
        (folder / "tests").mkdir()
        text = HEAD
        for name, (file, old, new, stage) in MUTANTS.items():
            text += f'[[mutant]]\nid = "{name}"\narea = "toy"\nfile = "{file}"\nold = "{old}"\nnew = "{new}"\nwhat = "w"\nstages = ["{stage}"]\n'
        (folder / "tests" / "mutants.toml").write_text(text)
        subprocess.run(["cmake", "-S", folder, "-B", folder / "build"], check=True, stdout=subprocess.DEVNULL)

    def start(self, *arguments):
        return subprocess.Popen([sys.executable, MUTATE, "--tree", self.root, *arguments], text=True, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, env={**os.environ, "MUTATE_FIFO": str(self.fifo)})

    def run(self, *arguments):
        process = self.start(*arguments)
        output, _ = process.communicate(timeout=300)
        return process.returncode, output

    def source(self):
        return (self.root / "toy.cpp").read_text()

    def stop_in_the_middle(self, number):
        """Sends a signal while a mutant is tried. Returns the exit code."""
        process = self.start("--id", "held", "--no-baseline")
        with open(self.fifo) as begun:
            begun.read()
        expect("x > 2" in self.source(), "the change is not there while its tests run")
        process.send_signal(number)
        process.wait(timeout=60)
        release = os.open(self.fifo, os.O_RDWR)  # what a SIGKILL left running reads its end
        os.close(release)
        return process.returncode


def expect(condition, text):
    if not condition:
        raise SystemExit(f"error: {text}")


def main():
    with tempfile.TemporaryDirectory() as folder:
        toy = Toy(pathlib.Path(folder))
        tried = [argument for name in MUTANTS if name != "held" for argument in ("--id", name)]
        code, output = toy.run(*tried)
        lines = {line.split("  ")[0] + " " + name for line in output.splitlines() for name in MUTANTS if f" {name} " in line}
        wanted = {"killed kills", "SURVIVED lives", "text not found gone", "text not found twice", "does not build broken", "killed hangs"}
        expect(code == 1 and lines == wanted, f"exit code {code}, expected 1 and {sorted(wanted)}:\n{output}")
        expect("no end within 1 s" in output and "toy: 2 of 6 killed" in output, output)
        expect(toy.source() == SOURCE, "the source is not as it was")

        code, output = toy.run("--id", "kills")
        expect(code == 0, f"exit code {code} although all were killed:\n{output}")
        code, output = toy.run("--check")
        expect(code == 1 and "gone: its text occurs 0 times" in output and "twice: its text occurs 3 times" in output, output)
        expect(toy.run("--check", "--id", "kills")[0] == 0, "a text that is there once is refused")
        expect(toy.run("--id", "nobody")[0] == 2, "an unknown id is taken")

        for number in (signal.SIGINT, signal.SIGTERM):
            expect(toy.stop_in_the_middle(number) == 130, f"not 130 after signal {number}")
            expect(toy.source() == SOURCE, f"the source is not as it was after signal {number}")
        toy.stop_in_the_middle(signal.SIGKILL)
        expect(toy.source() != SOURCE, "a SIGKILL leaves no time to put the file back")
        code, output = toy.run("--restore")
        expect(code == 0 and "put back" in output and toy.source() == SOURCE, f"not put back:\n{output}")

        (toy.root / "toy.cpp").write_text(SOURCE.replace("== 3", "== 5"))
        code, output = toy.run("--id", "kills")
        expect(code == 2 and "baseline red: stage toy" in output, f"exit code {code}:\n{output}")
    print("every outcome told, every file put back")


if __name__ == "__main__":
    main()
