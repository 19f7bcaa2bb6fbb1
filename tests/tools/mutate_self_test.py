#!/usr/bin/env python3
"""scripts/mutate on a toy tree: tells each outcome, and puts the file back whatever happens to it."""

import json
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
[stage.some]
targets = ["toy"]
command = "./toy {filter}"
timeout = 60
[stage.listed]
targets = ["toy"]
command = "./lister {filter}"
timeout = 60
[stage.short]
targets = ["toy"]
command = "./toy && ! grep -q 9 ../toy.cpp || cat $MUTATE_FIFO"
timeout = 10
"""
MUTANTS = {"kills": ("toy.cpp", "x > 3", "x > 4", "toy"), "lives": ("toy.cpp", "x > 3", "x >= 3", "toy"),
           "gone": ("toy.cpp", "x > 5", "x > 6", "toy"), "twice": ("toy.cpp", "capped", "cupped", "toy"),
           "broken": ("toy.cpp", "x > 3", "x > ", "toy"), "hangs": ("toy.cpp", "capped(4)", "capped(9)", "short"),
           "held": ("toy.cpp", "x > 3", "x > 2", "held")}


def look_at_filters(toy):
    """--check: a filter that matches no test of a built program."""
    lister = toy.root / "build" / "lister"
    lister.write_text("#!/bin/sh\nprintf 'Suite.\\n  One\\n  Two  # GetParam() = 2\\n'\n")
    lister.chmod(0o755)
    for fitting in ("Suite.*", "Suite.Two", "Other.*:*One"):
        toy.write("filters", mutant("chooses", *MUTANTS["kills"][:3], "listed") + f'filter = "{fitting}"\n')
        expect(toy.run("--check", "--id", "chooses")[0] == 0, f"the filter {fitting} is refused")
    toy.write("filters", mutant("chooses", *MUTANTS["kills"][:3], "listed") + 'filter = "Other.*"\n')
    code, output = toy.run("--check", "--id", "chooses")
    expect(code == 1 and "chooses: its filter Other.* matches no test of stage listed" in output, output)
    toy.write("filters", "")


def mutant(name, file, old, new, *stages):
    stages = ", ".join(f'"{stage}"' for stage in stages)
    return f'[[mutant]]\nid = "{name}"\nfile = "{file}"\nold = "{old}"\nnew = "{new}"\nwhat = "w"\nstages = [{stages}]\n'


class Toy:
    """A tree with one source file, and a pipe at which the stage "held" waits."""

    def __init__(self, folder):
        self.root, self.fifo = folder, folder / "fifo"
        os.mkfifo(self.fifo)
        # git sees the toy's repository alone
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        self.environment |= {"MUTATE_FIFO": str(self.fifo), "GIT_CEILING_DIRECTORIES": str(folder.resolve().parent)}
        (folder / "CMakeLists.txt").write_text(CMAKE)
        (folder / "toy.cpp").write_text(SOURCE)
        (folder / "tests").mkdir()
        (folder / "tests" / "mutant_stages.toml").write_text(HEAD)
        self.write("toy", "".join(mutant(name, *what) for name, what in MUTANTS.items()))
        subprocess.run(["cmake", "-S", folder, "-B", folder / "build"], check=True, stdout=subprocess.DEVNULL)

    def write(self, area, text):
        """The mutants of one folder; with "" none."""
        (self.root / "tests" / area).mkdir(parents=True, exist_ok=True)
        path = self.root / "tests" / area / "mutants.toml"
        if text:
            path.write_text(text)
        else:
            path.unlink()

    def git(self, *arguments):
        """The words that git prints."""
        options = ["-c", "user.name=toy", "-c", "user.email=toy@localhost", "-c", "commit.gpgsign=false"]
        return subprocess.run(["git", *options, *arguments], cwd=self.root, env=self.environment, check=True, text=True,
                              stdout=subprocess.PIPE).stdout.split()

    def start(self, *arguments):
        return subprocess.Popen([sys.executable, MUTATE, "--tree", self.root, *arguments], text=True, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, env=self.environment)

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


def tell_files_apart(toy):
    """Each folder has its file; what is wrong in one is told with its name."""
    kills = MUTANTS["kills"]
    toy.write("part/one", mutant("one", *kills) + mutant("two", *kills))
    toy.write("partial", mutant("three", *kills))
    for arguments, names in [(["--area", "part"], "one two"), (["--area", "tests/part/one/"], "one two"), (["--area", "partial"], "three"),
                             (["--id", "t[wh][or]*", "--id", "one"], "one two three"), (["--from", "broken", "--area", "toy"], "broken hangs held"),
                             (["--from", "two", "--id", "t*"], "two three twice")]:
        code, output = toy.run("--list", *arguments)
        listed = " ".join(line.split()[0] for line in output.splitlines())
        expect(code == 0 and listed == names, f"{arguments}: exit code {code}, expected {names}:\n{output}")
    expect(toy.run("--list", "--area", "par")[0] == 2, "half the name of a folder is an area")
    expect(toy.run("--check", "--area", "part")[0] == 0, "mutants of a folder are not found")

    stage = '[stage.more]\ntargets = ["toy"]\ncommand = "./toy"\ntimeout = 60\n'
    for text, told in [(mutant("kills", *kills), ["kills is there twice", "tests/partial/mutants.toml", "tests/toy/mutants.toml"]),
                       (mutant("four", *kills[:3], "nowhere"), ["tests/partial/mutants.toml: four", "tests/mutant_stages.toml", "'nowhere'"]),
                       (mutant("four", *kills[:3]), ["tests/partial/mutants.toml: four names no stage"]),
                       (mutant("four", *kills) + 'area = "toy"\n', ["tests/partial/mutants.toml: four", "unknown fields: ['area']"]),
                       (mutant("four", *kills).replace('what = "w"\n', ""), ["tests/partial/mutants.toml: four lacks ['what']"]),
                       (stage + mutant("four", *kills), ["partial/mutants.toml: has ['mutant', 'stage'], expected [mutant] alone"]),
                       ("[[mutant", ["partial/mutants.toml: "])]:
        toy.write("partial", text)
        code, output = toy.run("--check", "--id", "kills")
        expect(code == 2 and all(part in output for part in told), f"exit code {code}, expected 2 and {told}:\n{output}")
    toy.write("partial", "")
    toy.write("part/one", "")


def choose_changed(toy):
    """Mutants of changed files alone, those with the quickest tests first."""

    def expect_listed(names, arguments=(), revision="HEAD"):
        code, output = toy.run("--list", "--changed", *arguments)
        told, *lines = output.splitlines()
        listed = " ".join(line.split()[0] for line in lines)
        expect(code == 0 and listed == names and told.endswith(f"differ from {revision}"), f"{names}: exit code {code}:\n{output}")

    times = toy.root / "build" / "mutate.times.json"
    times.unlink()
    expect(toy.run("--list", "--changed")[0] == 2, "--changed does not say that there is no checkout")
    (toy.root / ".gitignore").write_text("/build/\n/fifo\n")
    toy.write("part", "".join(mutant(name, file, "x", "y", *stages) for name, file, *stages in [
        ("slow", "part.txt", "toy", "held"), ("short", "part.txt", "short"), ("middle", "part.txt", "toy"), ("new", "new.txt", "toy")])
              + mutant("some", "some.txt", "x", "y", "some") + 'filter = "A.*"\n' + mutant("all", "some.txt", "x", "y", "some"))
    (toy.root / "part.txt").write_text("x\n")
    (toy.root / "some.txt").write_text("x\n")
    toy.git("init", "--quiet", "--initial-branch=work")
    for message in ("first", "second"):
        toy.git("add", ".")
        toy.git("commit", "--quiet", "-m", message)
        (toy.root / "part.txt").write_text(f"x {message}\n")
    expect_listed("short middle slow")
    (toy.root / "new.txt").write_text("x\n")
    expect_listed("short middle new slow")
    expect_listed("middle", ["--id", "middle"])

    times.write_text(json.dumps({"toy": {"*": 0.5}, "held": {"*": 0.1}}))
    expect_listed("middle new slow short")
    (toy.root / "some.txt").write_text("x 2\n")
    times.write_text(json.dumps({"toy": {"*": 0.5}, "some": {"*": 30, "A.*": 0.2}}))
    expect_listed("some middle new short all slow")
    times.write_text(json.dumps({"toy": {"*": 0.5}, "some": {"*": 0.7}}))
    expect_listed("middle new some all short slow")
    toy.git("checkout", "--quiet", "some.txt")
    times.write_text("no JSON")
    expect_listed("short middle new slow")

    toy.git("checkout", "--quiet", "part.txt")
    (toy.root / "new.txt").unlink()
    expect_listed("short middle slow", revision="HEAD~1")
    expect_listed("", ["HEAD"], "HEAD")
    expect(toy.run("--list", "--changed", "nothing")[0] == 2, "an unknown revision is taken")
    commits = toy.git("rev-list", "HEAD")
    toy.git("update-ref", "refs/remotes/origin/main", commits[1])
    toy.git("commit", "--quiet", "--allow-empty", "-m", "third")
    expect_listed("short middle slow", revision=commits[1])

    toy.git("reset", "--quiet", "--soft", commits[0])
    toy.git("update-ref", "refs/remotes/origin/main", commits[0])
    expect_listed("short middle slow", revision="HEAD~1")

    times.unlink()
    toy_source = toy.root / "toy.cpp"
    toy_source.write_text(SOURCE + "// changed\n")
    code, output = toy.run("--changed", "--id", "kills", "--id", "middle", "--id", "hangs")
    tried = [line.split()[1] for line in output.splitlines() if line.startswith("killed")]
    expect(code == 0 and sorted(tried) == ["hangs", "kills"], f"exit code {code}:\n{output}")
    measured = json.loads(times.read_text())
    expect(measured.keys() == {"toy", "short"} and measured["toy"].keys() == {"*"}, f"times of the baseline are not kept: {measured}")
    toy_source.write_text(SOURCE)


def main():
    with tempfile.TemporaryDirectory() as folder:
        toy = Toy(pathlib.Path(folder))
        tried = [argument for name in MUTANTS if name != "held" for argument in ("--id", name)]
        code, output = toy.run(*tried)
        lines = {line.split("  ")[0] + " " + name for line in output.splitlines() for name in MUTANTS if f" {name} " in line}
        wanted = {"killed kills", "SURVIVED lives", "text not found gone", "text not found twice", "does not build broken", "killed hangs"}
        expect(code == 1 and lines == wanted, f"exit code {code}, expected 1 and {sorted(wanted)}:\n{output}")
        expect("no end within 10 s" in output and "toy: 2 of 6 killed" in output, output)
        expect(toy.source() == SOURCE, "the source is not as it was")

        code, output = toy.run("--id", "kills")
        expect(code == 0, f"exit code {code} although all were killed:\n{output}")
        code, output = toy.run("--check")
        expect(code == 1 and "gone: its text occurs 0 times" in output and "twice: its text occurs 3 times" in output, output)
        expect(toy.run("--check", "--id", "kills")[0] == 0, "a text that is there once is refused")
        expect(toy.run("--id", "nobody")[0] == 2, "an unknown id is taken")
        look_at_filters(toy)

        for number in (signal.SIGINT, signal.SIGTERM):
            expect(toy.stop_in_the_middle(number) == 130, f"not 130 after signal {number}")
            expect(toy.source() == SOURCE, f"the source is not as it was after signal {number}")
        toy.stop_in_the_middle(signal.SIGKILL)
        expect(toy.source() != SOURCE, "a SIGKILL leaves no time to put the file back")
        code, output = toy.run("--restore")
        expect(code == 0 and "put back" in output and toy.source() == SOURCE, f"not put back:\n{output}")

        tell_files_apart(toy)
        choose_changed(toy)

        (toy.root / "toy.cpp").write_text(SOURCE.replace("== 3", "== 5"))
        code, output = toy.run("--id", "kills")
        expect(code == 2 and "baseline red: stage toy" in output, f"exit code {code}:\n{output}")
    print("every outcome told, every file put back")


if __name__ == "__main__":
    main()
