"""Steps raised under every policy for the learning rate, while stages move between a loop and a V."""

import shutil

import cells
import curve
from matrix import CONFIG
from ranks import harness

POLICIES = ("keep", "rescale", "extend", "rewarm", "config")
STOP, FIRST, LAST = 3, 6, 8


def _cell(mesh, schedule):
    return cells.Cell(mesh, schedule, "fp32", "tied", "none", "late")


ONE_RANK = _cell((1, 1), cells.NO_PIPELINE)
MOVES = [(_cell((1, 4), "Interleaved1F1B"), _cell((2, 2), "ZBVZeroBubble")),
         (_cell((1, 4), "DualPipeV"), _cell((1, 2), "1F1B")),
         (_cell((2, 2), "file in a V"), _cell((1, 4), "12 stages")),
         (_cell((4, 1), cells.NO_PIPELINE), _cell((1, 4), "ZBVZeroBubble"))]


def _raised(threads, work, tokens, begin, end, policy):
    run = work / "raised"
    shutil.rmtree(run, ignore_errors=True)
    same = {"training.dataset_path": tokens, "job.dump_folder": run, "lr_scheduler.min_lr_factor": 0.1}
    threads.train(CONFIG, begin.ranks, {**same, "training.steps": FIRST, "debug.stop_at_step": STOP, **cells.overrides(begin, work)}, expect=75)
    threads.train(CONFIG, end.ranks, {**same, "training.steps": LAST, "checkpoint.on_drift": "policy", "lr_scheduler.on_change": policy,
                                      **cells.overrides(end, work)})
    return curve.curve_of(run, threads, tokens)


def check(threads, work, tokens, quick):
    """Returns what is different."""
    problems, rates = [], {}
    for i, policy in enumerate(POLICIES):
        reference = _raised(threads, work, tokens, ONE_RANK, ONE_RANK, policy)
        rates.setdefault(tuple(line.split()[9] for line in reference.lines if " lr " in line), []).append(policy)
        moves = [MOVES[i % len(MOVES)]] if quick else MOVES
        for begin, end in moves:
            try:
                different = curve.difference(reference, _raised(threads, work, tokens, begin, end, policy), all_ids=True)
            except harness.Failure as failure:
                different = str(failure)
            if different:
                problems.append(f"steps raised under {policy}, {begin.row} then {end.row}: {different}")
        print(f"steps raised to {LAST} under {policy:<8} {len(moves)} changes of placement, id {reference.ids[LAST]}", flush=True)
    problems += [f"the policies {' and '.join(same)} have one curve" for same in rates.values() if len(same) > 1]
    return problems
