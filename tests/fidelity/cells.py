"""The matrix: which cells there are, what each is on a command line, and an order that soon has every pair of settings."""

import itertools
import random
from typing import NamedTuple

MICRO_BATCHES, STAGES = 16, 12
MESHES = [(1, 1), (2, 1), (3, 1), (4, 1), (1, 2), (2, 2), (1, 4)]
NO_PIPELINE = "-"
# Name: (schedule, stages on a rank, whether they lie in a V, whether a file has the order).
SCHEDULES = {
    "GPipe": ("GPipe", 1, False, False),
    "1F1B": ("1F1B", 1, False, False),
    "ZB-H1": ("ZB-H1", 1, False, False),
    "Interleaved1F1B": ("Interleaved1F1B", 2, False, False),
    "12 stages": ("Interleaved1F1B", 0, False, False),
    "LoopedBFS": ("LoopedBFS", 2, False, False),
    "InterleavedZeroBubble": ("InterleavedZeroBubble", 2, False, False),
    "ZBVZeroBubble": ("ZBVZeroBubble", 2, True, False),
    "DualPipeV": ("DualPipeV", 2, True, False),
    "file": ("PipelineScheduleSingle", 1, False, True),
    "file in a V": ("ZBVZeroBubble", 2, True, True),
}
DTYPES, HEADS = ("fp32", "bf16"), ("tied", "untied")
RECOMPUTED, EXCHANGES = ("none", "full", "selective"), ("late", "always")


class Cell(NamedTuple):
    mesh: tuple
    schedule: str
    dtype: str
    head: str
    recomputed: str
    exchange: str

    @property
    def curve(self):
        """What shapes the bits: all cells of one curve are equal."""
        return self.dtype, self.head

    @property
    def ranks(self):
        return self.mesh[0] * self.mesh[1]

    @property
    def row(self):
        return f"{self.mesh[0]}x{self.mesh[1]} {self.schedule}"

    def __str__(self):
        return f"{self.row} {self.dtype} {self.head} {self.recomputed} {self.exchange}"


def rows():
    return [(mesh, schedule) for mesh in MESHES for schedule in (SCHEDULES if mesh[1] > 1 else [NO_PIPELINE])]


def all_cells():
    return [Cell(*row, *rest) for row in rows() for rest in itertools.product(DTYPES, HEADS, RECOMPUTED, EXCHANGES)]


def pairs(cell):
    """The pairs of settings that a cell has: each as ((place, value), (place, value))."""
    return set(itertools.combinations(enumerate(cell), 2))


def in_order(cells):
    """All cells, and how many of the first of them have every pair of settings that any has."""
    rest = list(cells)
    random.Random(4).shuffle(rest)
    chosen, open_pairs = [], set().union(*map(pairs, rest))
    while open_pairs:
        best = max(rest, key=lambda cell: len(pairs(cell) & open_pairs))
        rest.remove(best)
        chosen.append(best)
        open_pairs -= pairs(best)
    return chosen + rest, len(chosen)


def own_order(ranks, chunks, in_a_v, micro_batches):
    """A schedule that no generator makes, as torchtitan writes them: all forwards, the gradients of inputs backwards, those of weights last."""
    lines = []
    for rank in range(ranks):
        stages = [rank, 2 * ranks - 1 - rank] if in_a_v else [rank + ranks * chunk for chunk in range(chunks)]
        cells = [f"{stage}F{m}" for stage in stages for m in range(micro_batches)]
        cells += [f"{stage}I{m}" for stage in reversed(stages) for m in reversed(range(micro_batches))]
        cells += [f"{stage}W{m}" for m in range(micro_batches) for stage in stages]
        lines.append(",".join(cells))
    return "\n".join(lines) + "\n"


def overrides(cell, work):
    """What a command line says for a cell. Files of schedules go to `work`."""
    dp, pp = cell.mesh
    keys = {"training.mixed_precision_param": {"fp32": "float32", "bf16": "bfloat16"}[cell.dtype],
            "model.tied_embeddings": cell.head == "tied",
            "activation_checkpoint.mode": cell.recomputed,
            "parallelism.gradient_exchange": cell.exchange,
            "parallelism.pipeline_parallel_degree": pp}
    if cell.recomputed == "selective":
        keys["activation_checkpoint.selective_ac_option"] = "2"
    if cell.exchange == "always":
        keys["comm.exchange_bytes"] = 100_000  # several messages
    if cell.schedule == NO_PIPELINE:
        return keys
    schedule, chunks, in_a_v, from_file = SCHEDULES[cell.schedule]
    keys["parallelism.pipeline_parallel_schedule"] = schedule
    if chunks == 0:
        keys["parallelism.pipeline_parallel_layers_per_stage"] = 1
    if from_file:
        file = work / f"{dp}x{pp}{'v' if in_a_v else ''}.csv"
        file.write_text(own_order(pp, chunks, in_a_v, MICRO_BATCHES // dp))
        keys["parallelism.pipeline_parallel_schedule_csv"] = file
    return keys
