#!/usr/bin/env python3
"""agree.py [NAME ...]: over every folder of recipes.py, `titan-ckpt convert --dry-run`, `titan-train plan` and `titan-train run` end with the same
code, the one that the recipe names, and say the same thing.

Two folders are tried at a time. TITAN_BIN names the folder of the programs. Exit 1 with a line for each folder that is not as its recipe says.
"""
import concurrent.futures
import pathlib
import shutil
import subprocess
import sys

import recipes

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "e2e"))
import harness  # noqa: E402

SETTINGS = {"job.threads_per_rank": 1, "training.local_batch_size": 1, "training.seq_len": 16, "training.steps": 1, "training.mixed_precision_param": "float32",
            "lr_scheduler.warmup_steps": 1, "checkpoint.interval": 1}
TITAN_TOML = "[model]\nn_heads = 4\nnorm_eps = 1e-5\nrope_theta = 10000.0\nrope_scaling = \"none\"\n[parallelism]\ndata_parallel_shard_degree = 1\n"
LEAST = 60


def ended(args):
    done = subprocess.run([str(a) for a in args], capture_output=True, text=True, timeout=300)
    return done.returncode, done.stdout + done.stderr


def attempt(one, scratch):
    """What is wrong with one folder, a line each."""
    home = scratch / one["name"]
    folder = home / "it"
    folder.mkdir(parents=True)
    path = one["make"](folder) or folder
    convert = [str(scratch / flag) if flag == "TITAN.toml" else flag for flag in one["convert"]]
    start = [scratch / "run.toml", "--init-from", path, f"--job.dump_folder={home / 'run'}", *one["flags"], *one["train"], *harness.flags(SETTINGS)]
    tries = {"convert --dry-run": ended([harness.CKPT, "convert", path, home / "new", "--to", "titan", "--dry-run", *one["flags"], *convert]),
             "plan": ended([harness.TRAIN, "plan", *start]),
             "run": ended([harness.TRAIN, "run", *start])}
    wrong = []
    for program, (code, text) in tries.items():
        expected = one["code"][program] if isinstance(one["code"], dict) else one["code"]
        if code != expected or one["says"] not in text:
            wrong.append(f"{one['name']}: {program} ended with {code}, expected {expected} and \"{one['says']}\":\n{text[-1500:]}")
    return wrong


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
    shutil.rmtree(scratch)
    print("\n".join(wrong))
    print(f"{len(chosen)} folders, {len(wrong)} answers that are not as they should be")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
