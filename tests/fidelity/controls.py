"""What does decide bits is never called the same class: threads, the size of a micro-batch, the library of products."""

import shutil

import cells
import curve
from matrix import CONFIG
from policies import ONE_RANK
from ranks import LONGEST, Processes, harness

STOP, STEPS = 2, 4
CONTROLS = {"two threads": {"job.threads_per_rank": 2},
            "micro-batches of 2": {"training.local_batch_size": 2},
            "another library of products": None}  # the one that is not the machine's


def _run(work, tokens, changes, stop=None):
    overrides = {"training.dataset_path": tokens, "job.dump_folder": work / "control", "training.steps": STEPS, **cells.overrides(ONE_RANK, work), **changes}
    if stop:
        overrides["debug.stop_at_step"] = stop
    return Processes().train(CONFIG, 1, overrides, expect=75 if stop else 0)


def _other_library(class_line):
    return {"training.cpu_gemm": "mkl" if "gemm onednn" in class_line else "onednn"}


def check(threads, work, tokens):
    """Returns what is wrong."""
    run, problems = work / "control", []
    _run(work, tokens, {})
    reference = curve.curve_of(run, threads, tokens)
    (own_class,) = reference.classes
    for name, changes in CONTROLS.items():
        changes = changes or _other_library(own_class)
        shutil.rmtree(run)
        _run(work, tokens, changes)
        found = curve.curve_of(run, threads, tokens)
        if reference.classes & found.classes:
            problems.append(f"{name}: called the same class, {own_class}")
        same = found.lines == reference.lines
        if name == "micro-batches of 2" and same:
            problems.append(f"{name}: the same lines, so that nothing is compared")

        # A run that goes on says so, or is refused.
        shutil.rmtree(run)
        _run(work, tokens, {}, stop=STOP)
        overrides = {"training.dataset_path": tokens, "job.dump_folder": run, "training.steps": STEPS, **cells.overrides(ONE_RANK, work), **changes}
        code, err = _attempt(overrides)
        if code == 0 and "not bitwise: " not in err:
            problems.append(f"{name}: a run goes on as if nothing had changed")
        if code == 0 and len(curve.classes_of(run, STEPS)) != 2:
            problems.append(f"{name}: the checkpoint does not know that the class changed")
        print(f"{name:<28} {'the same' if same else 'other'} bits, another class; going on is {'noted' if code == 0 else f'refused ({code})'}", flush=True)
    shutil.rmtree(run)
    return problems


def _attempt(overrides):
    done = harness.subprocess.run(harness.command(CONFIG, 1, overrides), capture_output=True, text=True, timeout=LONGEST)
    return done.returncode, done.stderr
