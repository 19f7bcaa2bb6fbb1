"""Compares the pipeline schedules with the tables that torch.distributed.pipelining.schedules makes.

For p 2..8 ranks, v 1..4 stages a rank and m 1..32 micro-batches the order of compute actions must be equal, action for
action. torch's REDUCE_GRAD is not an action here, and its overlapped pairs (DualPipeV) are two consecutive actions.
If one of the two refuses a shape, the other must refuse it, too. meant() lists intended differences.
"""
import collections
import itertools
import os
import re
import subprocess
import types

import torch.distributed.pipelining.schedules as torch_schedules

TOOL = os.path.join(os.environ.get("TITAN_BIN", "build/bin"), "titan-schedule-tables")
LETTERS = {
    "FORWARD": "F",
    "FULL_BACKWARD": "B",
    "BACKWARD_INPUT": "I",
    "BACKWARD_WEIGHT": "W",
}
SINGLE = {"GPipe": torch_schedules.ScheduleGPipe, "1F1B": torch_schedules.Schedule1F1B}
MULTI = {
    "Interleaved1F1B": torch_schedules.ScheduleInterleaved1F1B,
    "LoopedBFS": torch_schedules.ScheduleLoopedBFS,
    "InterleavedZeroBubble": torch_schedules.ScheduleInterleavedZeroBubble,
    "ZBVZeroBubble": torch_schedules.ScheduleZBVZeroBubble,
    "DualPipeV": torch_schedules.ScheduleDualPipeV,
}


def stage(p, v, index):
    return types.SimpleNamespace(
        is_first=index == 0,
        is_last=index == p * v - 1,
        num_stages=p * v,
        group_size=p,
        group_rank=0,
        stage_index=index,
        has_backward=True,
        device="cpu",
        stage_index_to_group_rank=None,
        submod=None,
        group=None,
    )


def cells(order):
    """The compute actions of each rank, as text."""
    rows = []
    for rank in sorted(order):
        row = []
        for action in order[rank]:
            for part in getattr(action, "sub_actions", None) or [action]:
                letter = part and LETTERS.get(part.computation_type.name)
                if letter:
                    row.append(f"{part.stage_index}{letter}{part.microbatch_index}")
        rows.append(row)
    return rows


def theirs(name, p, v, m):
    """torch's table; None where it refuses the shape."""
    try:
        if name in SINGLE:
            made = SINGLE[name](stage(p, 1, 0), m)
        else:
            made = MULTI[name]([stage(p, v, s) for s in range(v)], m)
    except (ValueError, AssertionError):
        return None
    return cells(made.pipeline_order)


def ours():
    tables = {}
    for line in subprocess.run([TOOL], capture_output=True, text=True, check=True).stdout.splitlines():
        if line.startswith("= "):
            name, p, v, m = line[2:].split()
            rows = tables[name, int(p), int(v), int(m)] = []
        else:
            rows.append(line.split(","))
    return tables


def kinds(rows):
    return [[re.sub(r"\d+$", "", cell) for cell in row] for row in rows]


def meant(name, p, v, m, mine, other):
    """Why a difference is one that is meant; None: it is not."""
    if name == "1F1B" and other is None and m < p:
        return "torch's 1F1B refuses fewer micro-batches than ranks; they can be carried out"
    if name == "1F1B" and mine and other and kinds(mine) == kinds(other) and mine[:-1] == other[:-1]:
        return "torch's listing counts the forwards of the last stage from 1; what it runs begins with 0"
    if v == 1 and mine is None and name in ("Interleaved1F1B", "LoopedBFS"):
        return "one stage a rank is called 1F1B or GPipe"
    return None


def main():
    # Transfers are not compared, and take long to work out.
    torch_schedules._PipelineScheduleRuntime._prepare_schedule_with_comms = lambda self, actions, format="": None
    tables = ours()
    equal, named, wrong = collections.Counter(), collections.Counter(), []
    for name in [*SINGLE, *MULTI]:
        for p, v, m in itertools.product(range(2, 9), range(1, 5), range(1, 33)):
            if name in SINGLE and v > 1:
                continue
            # With one stage a rank it is ZB-H1.
            called = "ZB-H1" if name == "InterleavedZeroBubble" and v == 1 else name
            mine, other = tables.get((called, p, v, m)), theirs(name, p, v, m)
            if mine == other:
                equal[called, "refused" if mine is None else "equal"] += 1
            elif reason := meant(name, p, v, m, mine, other):
                named[name, reason] += 1
            else:
                wrong.append((name, p, v, m, mine, other))
    for name, p, v, m, mine, other in wrong[:10]:
        print(f"{name} p {p} v {v} m {m}:")
        for rank in range(p):
            print("  ours ", ",".join(mine[rank]) if mine else "refused")
            print("  torch", ",".join(other[rank]) if other else "refused")
    for (name, reason), count in named.items():
        print(f"{name}: {count} shapes differ: {reason}")
    for (name, what), count in sorted(equal.items()):
        print(f"{name}: {count} shapes {what}" + (" by both" if what == "refused" else ""))
    print(f"wrong: {len(wrong)} {dict(collections.Counter(w[0] for w in wrong))}")
    compared = {name for name, what in equal if what == "equal"} | {name for name, _ in named}
    return 1 if wrong or len(compared) < 8 else 0


if __name__ == "__main__":
    raise SystemExit(main())
