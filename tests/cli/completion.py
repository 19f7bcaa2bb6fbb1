#!/usr/bin/env python3
"""completion.py --bin FOLDER PROGRAM...: the completion scripts parse, and bash completes verbs, flags, values, keys and files.

zsh and fish check the syntax of their scripts where they are installed.
"""
import argparse
import pathlib
import shutil
import subprocess
import sys
import tempfile

ASK = r"""
source "$1"; shift
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
compopt() { :; }
declare -F "_${1//-/_}" > /dev/null || exit 9
"_${1//-/_}"
printf '%s\n' "${COMPREPLY[@]}"
"""

# (what was typed, of which the last word is being completed; what must be offered; what must not)
CASES = {
    "titan-ckpt": [
        ([""], {"ls", "verify", "prune", "completion"}, {"--json"}),
        (["ver"], {"verify"}, {"ls"}),
        (["-"], {"--json", "--help", "--version", "--licenses"}, {"ls", "--keep-last"}),
        (["--color", "always", ""], {"ls", "prune"}, set()),
        (["prune", "run", "--"], {"--keep-last", "--keep-every", "--keep", "--dry-run", "--json"}, {"--tensors"}),
        (["prune", "run", "--keep-last", ""], set(), {"--json", "prune"}),
        (["cat", "-o", "x.npy", "run@1", "--out"], {"--output"}, {"--json"}),
        (["completion", ""], {"bash", "zsh", "fish"}, {"ls"}),
        (["verify", "ru"], set(), {"run"}),
        (["reshard", "a", "b", "--compression", ""], {"none", "zstd"}, {"--json"}),
        (["lr", "set", "a", "b", "--policy", "re"], {"rescale", "rewarm"}, {"keep"}),
        (["lr", "set", "a", "b", "--decay-type", ""], {"linear", "sqrt", "cosine"}, set()),
        (["lr", "set", "a", "b", "--"], {"--steps", "--policy", "--force", "--json"}, {"--config"}),
        (["lr", "show", "--"], {"--config", "--json"}, {"--steps", "--policy", "--force", "--dry-run"}),
        (["lr", "--"], {"--config", "--steps"}, set()),
        (["convert", "a", "b", "--to", ""], {"titan", "hf", "dcp"}, set()),
        (["convert", "a", "b", "--from", "h"], {"hf"}, {"dcp"}),
        (["convert", "a", "b", "--dtype", ""], {"f32", "bf16", "f16"}, set()),
        (["strip", "a", "b", "--dtype", ""], {"f32", "bf16"}, {"f16"}),
        (["ls", "run", "--color", ""], {"auto", "always", "never"}, set()),
    ],
    "titan-train": [
        ([""], {"run", "config"}, {"--json"}),
        (["run", "c.toml", "--resume", "a"], {"auto"}, {"never"}),
        (["run", "c.toml", "--"], {"--nproc", "--set", "--training.steps="}, set()),
        (["run", "c.toml", "--training.s"], {"--training.steps=", "--training.seq_len="}, {"--nproc", "--model.dim="}),
        (["completion", "--training."], set(), {"--training.steps="}),
    ],
}


def check(condition, message):
    if not condition:
        sys.exit(f"error: {message}")


def script(program, shell, folder):
    path = folder / f"{program.name}.{shell}"
    done = subprocess.run([program, "completion", shell], capture_output=True, text=True)
    check(done.returncode == 0 and done.stdout, f"{program.name} completion {shell}: exit {done.returncode}\n{done.stderr}")
    path.write_text(done.stdout)
    return path


def check_bash(program, path):
    done = subprocess.run(["bash", "-n", path], capture_output=True, text=True)
    check(done.returncode == 0 and not done.stderr, f"bash -n {path.name}: {done.stderr}")
    for words, offered, not_offered in CASES[program.name]:
        done = subprocess.run(["bash", "-c", ASK, "ask", path, program.name, *words], capture_output=True, text=True)
        check(done.returncode == 0 and not done.stderr, f"{program.name} {words}: exit {done.returncode}\n{done.stderr}")
        found = set(done.stdout.split("\n")) - {""}
        check(offered <= found, f"{program.name} {words}: {sorted(offered - found)} not offered, found {sorted(found)}")
        check(not found & not_offered, f"{program.name} {words}: {sorted(found & not_offered)} offered")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True, type=pathlib.Path)
    parser.add_argument("programs", nargs="+")
    options = parser.parse_args()
    checked = []
    with tempfile.TemporaryDirectory() as folder:
        for name in options.programs:
            program = options.bin.resolve() / name
            check_bash(program, script(program, "bash", pathlib.Path(folder)))
            checked.append(f"{name} bash ({len(CASES[name])} questions)")
            for shell, syntax in (("zsh", ["zsh", "-n"]), ("fish", ["fish", "--no-execute"])):
                path = script(program, shell, pathlib.Path(folder))
                if shutil.which(shell) is None:
                    continue
                done = subprocess.run([*syntax, path], capture_output=True, text=True)
                check(done.returncode == 0 and not done.stderr, f"{name} {shell}: {done.stderr}")
                checked.append(f"{name} {shell}")
            bad = subprocess.run([program, "completion", "tcsh"], capture_output=True, text=True)
            check(bad.returncode == 2 and "tcsh" in bad.stderr, f"{name} completion tcsh: exit {bad.returncode}")
    print("; ".join(checked))


if __name__ == "__main__":
    main()
