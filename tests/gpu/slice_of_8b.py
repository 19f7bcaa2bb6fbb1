"""Checks of scripts/gpu-check at the shapes of an 8B model: two and four of its 32 layers with embedding and head. The difference is a layer, the rest what
stands around them."""
import json
import os
import shutil
import statistics

from machine import LAYER_OF_8B, TINY, Skip, TooLong, harness

VOCABULARY, TOKENS = 128256, 8192
LAYERS_OF_ALL = 32
MICRO_BATCHES = 4
WARM = 2
NOT_STRICT = {"debug__deterministic": False}
# Name: layers, settings.
WAYS = {"4 layers": (4, {}), "2 layers": (2, {}), "4 layers, computed again": (4, {"activation_checkpoint__mode": "full"}),
        "4 layers, not deterministic": (4, NOT_STRICT), "4 layers, cudnn": (4, NOT_STRICT | {"training__attention": "cudnn"})}


def shape(m, layers, vocabulary=VOCABULARY, tokens=TOKENS):
    return (layers, *TINY[1:]) if m.rehearsal else (layers, *LAYER_OF_8B, vocabulary, tokens)


def batch(m):
    return {"training__global_batch_size": MICRO_BATCHES, "checkpoint__enable": False}


def timed(m, name, layers, more):
    steps = WARM + (2 if m.rehearsal else 5)
    taken = {}
    with m.used_bytes(taken):
        folder = m.train("slice-" + name.replace(" ", "-").replace(",", ""), shape(m, layers), steps, **batch(m), **more)
    lines = m.steps_of(folder)
    return {"step_s": statistics.median(line["time_s"] for line in lines[WARM:]), "tokens_per_s": statistics.median(line["tps_total"] for line in lines[WARM:]),
            "peak_bytes": lines[-1].get("tensor_bytes"), "taken_bytes": taken.get("bytes")}


def shares(m, rows):
    """Of the peak of this GPU that all 32 layers would reach: by how much plan's times are too short or too long."""
    if m.sheet() is None:
        return {}
    whole = lambda four, two: four + (LAYERS_OF_ALL - 4) / 2 * (four - two)  # noqa: E731
    plans = [m.planned(shape(m, layers), 4, "--device", m.sheet(), **batch(m))["device"] for layers in (4, 2)]
    around = [plan["step"]["total_s"] - plan["step"]["pipeline_s"] for plan in plans]
    measured = whole(*(rows[name]["step_s"] - rest for name, rest in zip(("4 layers", "2 layers"), around)))
    expected = whole(*(plan["step"]["pipeline_s"] for plan in plans))
    if measured <= 0:
        return {}
    return {"calibration": {"device": m.sheet(), "compute_share": min(1.0, plans[0]["compute_share"] * expected / measured)}}


def speed(m):
    rows = {}
    for name, (layers, more) in WAYS.items():
        if m.rehearsal and more.get("training__attention"):
            continue
        try:
            rows[name] = timed(m, name, layers, more)
        except harness.Failure as failure:  # what was measured before is kept
            if name in ("4 layers", "2 layers"):
                raise
            rows[name] = {"failed": str(failure)[-300:]}
            if isinstance(failure, TooLong):
                break
    rows["a layer"] = {"seconds": (rows["4 layers"]["step_s"] - rows["2 layers"]["step_s"]) / 2 / MICRO_BATCHES}
    return rows | shares(m, rows)


def bits(m):
    """Above 8,192 tokens at once other kernels run than for small models: stopped and resumed, and computed again."""
    model = shape(m, 2, 32768)
    settings = {"training__global_batch_size": 4, "training__local_batch_size": 2, "checkpoint__interval": 4}
    through = m.train("wide-through", model, 4, **settings)
    parts = m.train("wide-parts", model, 4, expect=75, debug__stop_at_step=2, **settings)
    m.train("wide-parts", model, 4, **settings)
    m.same(through, parts, 4)
    shutil.rmtree(parts)
    m.same(through, m.train("wide-again", model, 4, activation_checkpoint__mode="full", **settings), 4)
    return {"tokens_at_once": 2 * model[-1]}


def eager(m):
    if m.rehearsal:
        raise Skip("the compiled one is of the same script")
    return m.torch("eager", "eager", *shape(m, 4), MICRO_BATCHES)


def compiled(m):
    return m.torch("eager", "compile", *shape(m, 4), MICRO_BATCHES)


def trace(m):
    """What the GPU did in one step, as LibTorch's profiler has it: a file for chrome://tracing or Perfetto, beside the JSON of the checks."""
    file = m.out_folder / "gpu-trace.json"
    m.train("traced", shape(m, 2), 5, env={"TITAN_GPU_TRACE": str(file)}, **batch(m))
    if not file.exists():
        if m.rehearsal:
            return {}
        raise harness.Failure("the profiler wrote no trace")
    return {"file": file.name, "bytes": os.path.getsize(file)} | busy(json.loads(file.read_text())["traceEvents"])


def busy(events, most=12):
    """How much of the step a GPU computes or copies, in how many kernels, and which take longest."""
    work = sorted((event["ts"], event["dur"], event["name"]) for event in events if event.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset"))
    if not work:
        raise harness.Failure("the trace has no kernel")
    over, idle, by_name = work[0][0], 0.0, {}
    for begin, length, name in work:
        idle += max(0.0, begin - over)
        over = max(over, begin + length)
        by_name[name[:100]] = by_name.get(name[:100], 0) + length
    span = over - work[0][0]
    return {"seconds": span / 1e6, "kernels": len(work), "kernels_per_s": len(work) / span * 1e6, "idle_share": idle / span,
            "longest_us": dict(sorted(by_name.items(), key=lambda row: -row[1])[:most])}


def sanitizer(m):
    tool = shutil.which("compute-sanitizer") or next((path for path in ("/usr/local/cuda/bin/compute-sanitizer",) if os.path.exists(path)), None)
    if tool is None:
        raise Skip("there is no compute-sanitizer")
    m.train("sanitized", TINY, 2, before=[tool, "--tool", "memcheck", "--error-exitcode", "9", "--target-processes", "all"],
            env={"PYTORCH_NO_CUDA_MEMORY_CACHING": "1"}, checkpoint__enable=False)
    return {"tool": tool}
