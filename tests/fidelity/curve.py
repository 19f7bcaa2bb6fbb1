"""What a run leaves behind that no layout may change, and how two runs differ."""

import json
import pathlib
from typing import NamedTuple

from ranks import harness, step_folder

STEP = ("step", "loss", "max_loss", "grad_norm", "lr", "tokens", "samples")
VALIDATION = ("step", "validation_loss", "validation_tokens")
EVAL_ROW, EVAL_ROWS = 16, 24


class Curve(NamedTuple):
    lines: list   # of steps and validations, each a text of its numbers as metrics.jsonl has them
    ids: dict     # {step: id}
    loss: str     # of `eval` on the last checkpoint
    classes: set  # what the starts say of the machine and the settings that decide bits


def lines_of(run):
    found = []
    for line in (pathlib.Path(run) / "metrics.jsonl").read_text().splitlines():
        event = json.loads(line).get("event")
        if event in (None, "validation"):
            found.append(" ".join(f"{key} {harness._raw(line, key)}" for key in (VALIDATION if event else STEP)))
    return found


def classes_of(run, step):
    state = json.loads((step_folder(run, step) / "train_state.json").read_text())
    return {attempt["environment"] for attempt in state["attempts"]}


def curve_of(run, threads, tokens):
    steps = harness.published_steps(run)
    last, few = step_folder(run, steps[-1]), pathlib.Path(run) / "few.bin"
    few.write_bytes(pathlib.Path(tokens).read_bytes()[:2 * EVAL_ROW * EVAL_ROWS])
    return Curve(lines_of(run), {step: harness.checkpoint_id(run, step) for step in steps}, threads.eval(last, few, EVAL_ROW),
                 classes_of(run, steps[-1]))


def difference(expected, found, all_ids=False):
    """What is first different, or None. Ids are compared of the steps that both have, or all."""
    for line, other in zip(expected.lines, found.lines):
        if line != other:
            return f"{other}; expected {line}"
    if len(expected.lines) != len(found.lines):
        return f"{len(found.lines)} lines of steps and validations; expected {len(expected.lines)}"
    for step in sorted(expected.ids.keys() | found.ids.keys() if all_ids else expected.ids.keys() & found.ids.keys()):
        if expected.ids.get(step) != found.ids.get(step):
            return f"step {step}: id {found.ids.get(step)}; expected {expected.ids.get(step)}"
    if max(expected.ids) != max(found.ids):
        return f"the last checkpoint is step {max(found.ids)}; expected {max(expected.ids)}"
    if expected.loss != found.loss:
        return f"eval: loss {found.loss}; expected {expected.loss}"
    if expected.classes != found.classes:
        return f"class {found.classes}; expected {expected.classes}"
    return None
