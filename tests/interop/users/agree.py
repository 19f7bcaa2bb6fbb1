#!/usr/bin/env python3
"""agree.py [NAME ...]: over every folder of recipes.py, `titan-ckpt convert --dry-run`, `titan-train plan` and `titan-train run` end with the same
code, the one that the recipe names, and say the same thing.

Two folders are tried at a time. TITAN_BIN names the folder of the programs. Exit 1 with a line for each folder that is not as its recipe says.
"""
import concurrent.futures
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading

import recipes

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "e2e"))
import harness  # noqa: E402

SETTINGS = {"job.threads_per_rank": 1, "training.local_batch_size": 1, "training.seq_len": 16, "training.steps": 1, "training.mixed_precision_param": "float32",
            "lr_scheduler.warmup_steps": 1, "checkpoint.interval": 1}
TITAN_TOML = "[model]\nn_heads = 4\nnorm_eps = 1e-5\nrope_theta = 10000.0\nrope_scaling = \"none\"\n[parallelism]\ndata_parallel_shard_degree = 1\n"
LEAST = 60
MAKING = threading.Lock()  # torch's random numbers and default dtype belong to the whole process
STATE_TOML = """
[job]
dump_folder = "{home}/run"
threads_per_rank = 1
[model]
dim = 32
n_layers = 2
n_heads = 4
n_kv_heads = 2
ffn_dim = 64
vocab_size = 256
norm_eps = 1e-5
rope_theta = 10000.0
rope_scaling = "none"
[optimizer]
lr = 1e-3
[lr_scheduler]
warmup_steps = 1
min_lr_factor = 1.0
[training]
dataset_path = "{text}"
local_batch_size = 1
global_batch_size = 1
seq_len = 16
steps = 4
mixed_precision_param = "float32"
[parallelism]
data_parallel_shard_degree = 1
"""


def ended(args):
    done = subprocess.run([str(a) for a in args], capture_output=True, text=True, timeout=300)
    return done.returncode, done.stdout + done.stderr


def attempt(one, scratch):
    """What is wrong with one folder, a line each."""
    home = scratch / one["name"]
    folder = home / "it"
    folder.mkdir(parents=True)
    with MAKING:
        path = one["make"](folder) or folder
    convert = [str(scratch / flag) if flag == "TITAN.toml" else flag for flag in one["convert"]]
    start = [scratch / "run.toml", "--init-from", path, f"--job.dump_folder={home / 'run'}", *one["flags"], *one["train"], *harness.flags(SETTINGS)]
    tries = {"convert --dry-run": ended([harness.CKPT, "convert", path, home / "new", "--to", "titan", "--dry-run", *one["flags"], *convert]),
             "plan": ended([harness.TRAIN, "plan", *start]),
             "run": ended([harness.TRAIN, "run", *start])}
    wrong = []
    for program, (code, text) in tries.items():
        expected = one["code"][program] if isinstance(one["code"], dict) else one["code"]
        says = one["says"].get(program, "") if isinstance(one["says"], dict) else one["says"]
        if code != expected or says not in text:
            wrong.append(f"{one['name']}: {program} ended with {code}, expected {expected} and \"{says}\":\n{text[-1500:]}")
    if one["keeps"] and not wrong:
        kept = home / "run" / "checkpoint" / "step-00000001" / "hf" / "config.json"
        config = json.loads(kept.read_text()) if kept.exists() else {}
        wrong += [f"{one['name']}: {key} is {config.get(key)} in the run's config.json, expected {value}" for key, value in one["keeps"].items() if config.get(key) != value]
    return wrong


def attempt_state(one, scratch):
    """The same of a run with its optimizer, of a precision."""
    home = pathlib.Path(tempfile.mkdtemp(dir=scratch))
    config, run, source = home / "run.toml", home / "run", home / "step-3"
    config.write_text(STATE_TOML.format(home=home, text=scratch / "text.txt"))
    with MAKING:
        recipes.put_state(source, **one["precision"])
    convert = [harness.CKPT, "convert", source, run / "checkpoint" / "step-00000003", "--to", "titan", "--config", config]
    (run / "checkpoint").mkdir(parents=True)
    tries = {"convert --dry-run": ended([*convert, "--dry-run"]), "convert": ended(convert)}
    if one["code"] == 0:
        tries["verify"] = ended([harness.CKPT, "verify", run])
        for verb in ("plan", "run"):
            tries[verb] = ended([harness.TRAIN, verb, config, "--allow", "training.dataset"])
    expected = one["code"] if isinstance(one["code"], dict) else dict.fromkeys(tries, one["code"])
    return [f"{one['source']}: {program} ended with {code}, expected {expected[program]} and \"{one['says']}\":\n{text[-1500:]}"
            for program, (code, text) in tries.items() if code != expected[program] or (program.startswith("convert") and one["says"] not in text)]


def main(names):
    chosen = [one for one in recipes.RECIPES if not names or one["name"] in names]
    if not names and len(chosen) < LEAST:
        sys.exit(f"{len(chosen)} folders, expected at least {LEAST}")
    scratch = harness.scratch("users")
    harness.write_text(scratch / "text.txt", 4000)
    (scratch / "run.toml").write_text(f"[training]\ndataset_path = \"{scratch / 'text.txt'}\"\n")
    (scratch / "TITAN.toml").write_text(TITAN_TOML)
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        wrong = [line for lines in pool.map(lambda one: attempt(one, scratch), chosen) for line in lines]
        wrong += [line for lines in pool.map(lambda one: attempt_state(one, scratch), [] if names else recipes.STATES) for line in lines]
    shutil.rmtree(scratch)
    print("\n".join(wrong))
    print(f"{len(chosen)} folders, {0 if names else len(recipes.STATES)} states, {len(wrong)} answers that are not as they should be")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
