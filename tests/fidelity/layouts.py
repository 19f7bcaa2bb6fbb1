"""A model whose tensors have several leaves, over processes: every layout, numbers of micro-batches that no degree divides, two stops."""

import random
import shutil

from ranks import harness

CONFIG = harness.ROOT / "tests" / "fidelity" / "wide.toml"
LAYOUTS = [(1, 1, "1F1B"), (2, 1, "1F1B"), (3, 1, "1F1B"), (4, 1, "1F1B"), (1, 2, "GPipe"), (1, 2, "1F1B"),
           (2, 2, "GPipe"), (2, 2, "1F1B"), (1, 4, "GPipe"), (1, 4, "1F1B")]
QUICK_LAYOUTS = [(1, 1, "1F1B"), (3, 1, "1F1B"), (2, 2, "1F1B"), (1, 4, "GPipe")]


def cases(quick):
    if quick:
        return [("float32", True, 7), ("bfloat16", False, 8)]
    return [(dtype, tied, count) for dtype in ("float32", "bfloat16") for tied in (True, False) for count in (8, 7, 12)]


def name(case):
    dtype, tied, count = case
    return f"{'fp32' if dtype == 'float32' else 'bf16'} {'tied' if tied else 'untied'} M={count}"


def text(layout):
    return f"{layout[0]}x{layout[1]} {layout[2]}"


class Case:
    def __init__(self, case, work, data, steps):
        self.case, self.folder, self.steps = case, work / "run", steps
        dtype, tied, count = case
        self.base = {"training.mixed_precision_param": dtype, "model.tied_embeddings": tied, "training.global_batch_size": 2 * count,
                     "training.steps": steps, "lr_scheduler.total_steps": steps, "training.dataset_path": data}
        self.reference, self.problems = None, []

    def start(self, layout, **more):
        dp, pp, schedule = layout
        overrides = {**self.base, "parallelism.pipeline_parallel_degree": pp, "parallelism.pipeline_parallel_schedule": schedule,
                     "job.dump_folder": self.folder, **more}
        harness.train(CONFIG, dp * pp, overrides, expect=75 if "debug.stop_at_step" in more else 0)

    def compare(self, what):
        lines, digest = harness.step_lines(self.folder), harness.checkpoint_id(self.folder, self.steps)
        shutil.rmtree(self.folder)
        if self.reference is None:
            self.reference = lines, digest
            if len(lines) != self.steps:
                self.problems.append(f"{what}: {len(lines)} steps in metrics.jsonl, expected {self.steps}")
        for step, expected in self.reference[0].items():
            if lines.get(step) != expected:
                return self.problems.append(f"{what}: step {step}: {lines.get(step)} expected {expected}")
        if len(lines) != len(self.reference[0]):
            self.problems.append(f"{what}: {len(lines)} steps in metrics.jsonl, expected {len(self.reference[0])}")
        if digest != self.reference[1]:
            self.problems.append(f"{what}: id {digest} expected {self.reference[1]}")

    def run(self, layouts, chains):
        """Returns what is different."""
        shutil.rmtree(self.folder, ignore_errors=True)
        for layout in layouts:
            self.start(layout)
            self.compare(text(layout))
        # Gradients that are exchanged after each micro-batch, in small buffers.
        for layout in [(3, 1, "1F1B")] + ([] if self.case[1] else [(2, 2, "GPipe")]):
            self.start(layout, **{"parallelism.gradient_exchange": "always", "comm.exchange_bytes": 100_000})
            self.compare(f"{text(layout)} exchanged after each micro-batch")
        # Stops in between, each resumed on another layout: a chain of three layouts and two stops.
        rng = random.Random(f"20 {name(self.case)}")
        for _ in range(chains):
            chain = rng.sample(layouts, 3)
            points = sorted(rng.sample(range(1, self.steps), 2))
            for layout, point in zip(chain, points):
                self.start(layout, **{"debug.stop_at_step": point})
            self.start(chain[-1])
            self.compare(f"stopped at {points} on {' -> '.join(map(text, chain))}")
        return self.problems


def check(work, state, quick, steps, chains, only):
    """Runs what `state` does not have yet; returns what is different."""
    data = work / "tokens.bin"
    harness.write_tokens(data, 60_000, 4099)
    layouts = QUICK_LAYOUTS if quick else LAYOUTS
    problems = []
    for each in cases(quick):
        title = name(each)
        if only not in title:
            continue
        what = f"{title}, {steps} steps, {chains} chains"
        if what not in state.part("layouts"):
            case = Case(each, work, data, steps)
            state.note("layouts", what, {"problems": case.run(layouts, chains), "id": case.reference[1]})
        result = state.part("layouts")[what]
        problems += [f"{title}: {problem}" for problem in result["problems"]]
        print(f"{title:<26}{len(layouts):>8} layouts{2 * chains:>4} stops  id {result['id']}  {'same bits' if not result['problems'] else 'DIFFERENT'}", flush=True)
    return problems
