"""Every cell of the matrix, run from the beginning to a stop, and again behind a stop on another layout."""

import concurrent.futures
import queue
import shutil

import cells
import curve
from ranks import Processes, Threads, harness

CONFIG = harness.ROOT / "tests" / "fidelity" / "deep.toml"
STEPS = 6


def runs():
    """[(first cell, stop, second cell, over)], those with every pair of settings first; and how many these are."""
    order, covering = cells.in_order(cells.all_cells())
    curves = {}
    for cell in order:
        curves.setdefault(cell.curve, []).append(cell)
    begins = {}
    for same in curves.values():
        # Half a round apart: each cell is once the first and once the second.
        first = same[len(same) // 2:] + same[:len(same) // 2]
        for i, cell in enumerate(same):
            if first[i].row == cell.row:  # the next one, so that a stop always changes the layout
                first[i], first[i - 1] = first[i - 1], first[i]
        begins |= dict(zip(same, first))
    planned, by_processes = [], set()
    for i, cell in enumerate(order):
        over = "threads"
        if i >= covering and cell.row not in by_processes:  # each layout and schedule once
            by_processes.add(cell.row)
            over = "processes"
        planned.append((begins[cell], 1 + i % (STEPS - 1), cell, over))
    return planned, covering


class Matrix:
    def __init__(self, work, tokens, jobs):
        self.work, self.tokens, self.jobs = work, tokens, jobs
        self.ranks = queue.Queue()
        for _ in range(jobs):
            self.ranks.put({"threads": Threads(), "processes": Processes()})
        self.references = {}

    def close(self):
        while not self.ranks.empty():
            self.ranks.get()["threads"].close()

    def leg(self, ranks, cell, run, stop=None):
        overrides = {"training.dataset_path": self.tokens, "job.dump_folder": run, **cells.overrides(cell, self.work)}
        if stop:
            overrides["debug.stop_at_step"] = stop
        else:
            overrides["parallelism.exchange_parts"] = 3  # behind every stop the exchange goes on beside the computing
        ranks.train(CONFIG, cell.ranks, overrides, expect=75 if stop else 0)

    def refer(self):
        """Each curve on one rank, without a stop."""
        ranks = self.ranks.get()
        for dtype in cells.DTYPES:
            for head in cells.HEADS:
                cell = cells.Cell((1, 1), cells.NO_PIPELINE, dtype, head, "none", "late")
                run = self.work / f"reference-{dtype}-{head}"
                self.leg(ranks["threads"], cell, run)  # one rank exchanges nothing
                self.references[cell.curve] = curve.curve_of(run, ranks["threads"], self.tokens)
        self.ranks.put(ranks)
        for (dtype, head), reference in self.references.items():
            if len(reference.lines) != STEPS + 2:
                raise harness.Failure(f"the reference has {len(reference.lines)} lines")
            print(f"{dtype} {head:<8} final id {reference.ids[STEPS]}, eval {reference.loss}", flush=True)

    def carry_out(self, number, planned):
        """What is different, or None."""
        begin, stop, cell, over = planned
        ranks, run = self.ranks.get(), self.work / f"run-{number}"
        try:
            self.leg(ranks[over], begin, run, stop)
            self.leg(ranks[over], cell, run)
            found = curve.curve_of(run, ranks["threads"], self.tokens)
            if len(found.ids) != 2:
                return f"{len(found.ids)} checkpoints, expected 2"
            return curve.difference(self.references[cell.curve], found)
        except harness.Failure as failure:
            return str(failure)
        finally:
            self.ranks.put(ranks)
            shutil.rmtree(run, ignore_errors=True)

    def run(self, planned, done, note):
        """Carries out the runs that are not in `done` ({name of the run: what was different}); tells `note` of each."""
        self.refer()
        with concurrent.futures.ThreadPoolExecutor(self.jobs) as pool:
            waiting = {pool.submit(self.carry_out, number, run): name(run) for number, run in enumerate(planned) if name(run) not in done}
            try:
                for future in concurrent.futures.as_completed(waiting):
                    note(waiting[future], future.result())
            except BaseException:
                pool.shutdown(cancel_futures=True)
                raise


def name(planned):
    begin, stop, cell, over = planned
    return f"{begin} to step {stop}, then {cell}, over {over}"


def verdicts(planned, done):
    """{cell: the problems of its runs}, of all cells that were run."""
    found = {}
    for run in planned:
        if name(run) in done:
            for cell in (run[0], run[2]):
                found.setdefault(cell, []).append(done[name(run)])
    return found


def table(found):
    """A row for each layout and schedule, a mark for each cell: '=' the same bits, 'x' others, '.' not run."""
    heads = [(dtype, head, recomputed) for dtype in cells.DTYPES for head in cells.HEADS for recomputed in cells.RECOMPUTED]
    short = {"none": "none", "full": "full", "selective": "sel"}
    lines = [" " * 26 + "".join(f"{f'{dtype} {head}':<15}" for dtype in cells.DTYPES for head in cells.HEADS).rstrip(),
             f"{'late, always':<26}" + "".join(f"{short[recomputed]:<5}" for _, _, recomputed in heads).rstrip()]
    for mesh, schedule in cells.rows():
        marks = ""
        for dtype, head, recomputed in heads:
            for exchange in cells.EXCHANGES:
                problems = found.get(cells.Cell(mesh, schedule, dtype, head, recomputed, exchange))
                marks += "." if problems is None else "x" if any(problems) else "="
            marks += "   "
        lines.append(f"{f'{mesh[0]}x{mesh[1]} {schedule}':<26}{marks.rstrip()}")
    return "\n".join(lines)


def summary(found):
    every = cells.all_cells()
    seen = set().union(*map(cells.pairs, found)) if found else set()
    possible = set().union(*map(cells.pairs, every))
    return f"{len(found)} of {len(every)} cells, {len(seen)} of {len(possible)} pairs of settings"
