#!/usr/bin/env python3
"""completion.py --bin FOLDER PROGRAM...: the completion scripts parse, and bash completes verbs, flags, values, keys, files,
steps of a run and tensors of a checkpoint.

zsh and fish check the syntax of their scripts where they are installed, and fish answers the questions about steps and tensors.
"""
import argparse
import os
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
replaced=${!#}
(($# > 2)) && [[ ${@: -2:1} == @ ]] && replaced=@$replaced  # as readline does
"_${1//-/_}" "$1" "$replaced"
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
        # Where "@" breaks words, it is replaced together with what follows it.
        (["inspect", "my-run", "@"], {"@latest", "@20", "@10"}, {"@30"}),
        (["inspect", "my-run", "@", "1"], {"@10"}, {"@latest", "@20"}),
        (["lr", "set", "my-run", "@", ""], {"@latest", "@20"}, set()),
        (["ls", "nowhere", "@"], set(), {"@latest"}),
        (["cat", "my-run", "@", "latest", "layers.0.attention.w"], {"layers.0.attention.wq.weight"}, {"norm.weight", "latest"}),
        (["cat", "-o", "x.npy", "my-run", "@", "10", "norm"], {"norm.weight", "norm.weight.exp_avg"}, {"output.weight"}),
        (["cat", "my-run", "@", "latest", "norm.weight", ""], set(), {"norm.weight"}),
    ],
    "titan-train": [
        ([""], {"run", "config"}, {"--json"}),
        (["run", "c.toml", "--resume", "a"], {"auto"}, {"never"}),
        (["run", "c.toml", "--"], {"--nproc", "--set", "--training.steps="}, set()),
        (["run", "c.toml", "--training.s"], {"--training.steps=", "--training.seq_len="}, {"--nproc", "--model.dim="}),
        (["completion", "--training."], set(), {"--training.steps="}),
        (["run", "c.toml", "--init-from", "=", "my-run", "@", "2"], {"@20"}, {"@10"}),
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


def check_bash(program, path, environment):
    done = subprocess.run(["bash", "-n", path], capture_output=True, text=True)
    check(done.returncode == 0 and not done.stderr, f"bash -n {path.name}: {done.stderr}")
    for words, offered, not_offered in CASES[program.name]:
        ask = ["bash", "-c", ASK, "ask", path, program.name, *words]
        done = subprocess.run(ask, capture_output=True, text=True, cwd=path.parent, env=environment)
        check(done.returncode == 0 and not done.stderr, f"{program.name} {words}: exit {done.returncode}\n{done.stderr}")
        found = set(done.stdout.split("\n")) - {""}
        check(offered <= found, f"{program.name} {words}: {sorted(offered - found)} not offered, found {sorted(found)}")
        check(not found & not_offered, f"{program.name} {words}: {sorted(found & not_offered)} offered")
    # Without "@" among the breaks the whole word is replaced.
    ask = ["bash", "-c", ASK, "ask", path, program.name, "inspect" if program.name == "titan-ckpt" else "eval", "my-run@l"]
    done = subprocess.run(ask, capture_output=True, text=True, cwd=path.parent, env=environment)
    check(done.stdout == "my-run@latest\n", f"{program.name} my-run@l: {done.stdout}{done.stderr}")


FISH = [
    ("titan-ckpt inspect my-run@", {"my-run@latest", "my-run@20", "my-run@10"}),
    ("titan-ckpt cat my-run@10 norm.w", {"norm.weight", "norm.weight.exp_avg"}),
    ("titan-train run c.toml --resume my-run@2", {"my-run@20"}),
]


def check_fish(program, path, environment):
    for line, offered in FISH:
        if not line.startswith(program.name + " "):
            continue
        ask = ["fish", "--no-config", "-c", f"source {path}; complete -C '{line}'"]
        done = subprocess.run(ask, capture_output=True, text=True, cwd=path.parent, env=environment)
        found = {row.split("\t")[0] for row in done.stdout.splitlines()}
        check(offered <= found and done.returncode == 0, f"fish: {line}: found {sorted(found)}\n{done.stderr}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True, type=pathlib.Path)
    parser.add_argument("programs", nargs="+")
    options = parser.parse_args()
    checked = []
    environment = dict(os.environ, PATH=f"{options.bin.resolve()}:{os.environ['PATH']}")
    with tempfile.TemporaryDirectory() as folder:
        for step in ("10", "20"):
            subprocess.run([options.bin.resolve() / "titan-make-checkpoint", "my-run/checkpoint", f"step={step}"], cwd=folder, check=True, stdout=subprocess.DEVNULL)
        for name in options.programs:
            program = options.bin.resolve() / name
            check_bash(program, script(program, "bash", pathlib.Path(folder)), environment)
            checked.append(f"{name} bash ({len(CASES[name])} questions)")
            for shell, syntax in (("zsh", ["zsh", "-n"]), ("fish", ["fish", "--no-execute"])):
                path = script(program, shell, pathlib.Path(folder))
                if shutil.which(shell) is None:
                    continue
                done = subprocess.run([*syntax, path], capture_output=True, text=True)
                check(done.returncode == 0 and not done.stderr, f"{name} {shell}: {done.stderr}")
                if shell == "fish":
                    check_fish(program, path, environment)
                checked.append(f"{name} {shell}")
            bad = subprocess.run([program, "completion", "tcsh"], capture_output=True, text=True)
            check(bad.returncode == 2 and "tcsh" in bad.stderr, f"{name} completion tcsh: exit {bad.returncode}")
    print("; ".join(checked))


if __name__ == "__main__":
    main()
