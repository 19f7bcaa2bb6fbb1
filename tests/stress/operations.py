"""The operations of the stress driver. Each has `draw`, which returns its parameters or None where it makes no sense,
and `do`, which carries it out and asks the model. Parameters are plain values: a log of them is a replay."""

from folder_operations import Damage, LinkFolder, LinkStep, Pin, Repair
from tool_operations import Derive, List, Mend, Prune, Reshard, StripInPlace, Thin
from train_operations import FullDisk, Hiccup, KilledTrain, Train, TwoAtOnce

WEIGHTS = [
    (Train(), 30),
    (KilledTrain(), 14),
    (FullDisk(), 5),
    (Hiccup(), 6),
    (TwoAtOnce(), 4),
    (Reshard(), 12),
    (Derive(), 4),
    (StripInPlace(), 2),
    (Prune(), 7),
    (Thin(), 2),
    (Mend(), 3),
    (Damage(), 14),
    (Pin(), 7),
    (LinkStep(), 4),
    (LinkFolder(), 1),
    (List(), 3),
    (Repair(), 2),
]
BY_NAME = {operation.name: operation for operation, _ in WEIGHTS}


left_out = set()


def leave_out(names):
    unknown = names - set(BY_NAME)
    if unknown:
        raise SystemExit(f"no operation is called {sorted(unknown)}; there are {sorted(BY_NAME)}")
    left_out.update(names)


def draw(world, rng):
    """The next operation and its parameters."""
    while True:
        operation = rng.choices([o for o, _ in WEIGHTS], [w for _, w in WEIGHTS])[0]
        if operation.name in left_out:
            continue
        parameters = operation.draw(world, rng)
        if parameters is not None:
            return operation, parameters
