"""What the checks of scripts/gpu-check share: the machine, its device, a folder, ways to train there, and limits."""
import contextlib
import dataclasses
import importlib.util
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import threading

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
import harness  # noqa: E402

harness.see_gpus()

HERE = pathlib.Path(__file__).resolve().parent
CONFIG = harness.ROOT / "tests" / "e2e" / "small.toml"
GIB = 1 << 30
# layers, dim, heads, heads of keys and values, ffn, vocabulary, tokens of a row
TINY = (4, 64, 4, 2, 172, 256, 64)
SMALL = (6, 256, 8, 4, 704, 4096, 256)
GPT_125M = (12, 768, 12, 12, 2048, 50304, 1024)
LLAMA_1B = (16, 2048, 32, 8, 8192, 32768, 2048)
LAYER_OF_8B = (4096, 32, 8, 14336)


class Skip(Exception):
    """This machine lacks what the check needs."""


class TooLong(harness.Failure):
    """The check reached its limit."""


@dataclasses.dataclass
class Check:
    number: int
    title: str
    run: callable
    gpus: int = 1  # that it needs; 0: it runs on the CPU, too
    seconds: int = 120  # the limit
    gib: int = 1  # of disk that must be free


@contextlib.contextmanager
def limit(seconds):
    """Raises TooLong in what is inside, wherever it waits."""
    def ring(*_):
        raise TooLong(f"not done after {seconds} s")

    before = signal.signal(signal.SIGALRM, ring)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@contextlib.contextmanager
def running(process):
    """No process of its session outlives the block: ranks die with the launcher that started them."""
    with process:
        try:
            yield process
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)


def ended(argv, **more):
    """(exit code, output, errors) of a command, which the check's limit ends with all that it started."""
    with running(subprocess.Popen(list(map(str, argv)), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True, **more)) as process:
        out, errors = process.communicate()
    return process.returncode, out, errors


def model(shape, **more):
    names = ("model.n_layers", "model.dim", "model.n_heads", "model.n_kv_heads", "model.ffn_dim", "model.vocab_size", "training.seq_len")
    return dict(zip(names, shape)) | more


def find_torch():
    """The programs of a kit look for LibTorch where this Python has it."""
    torch = importlib.util.find_spec("torch")
    if (harness.ROOT / "libexec").is_dir() and torch is not None:
        os.environ.setdefault("TITAN_TORCH_DIR", torch.submodule_search_locations[0])


class Machine:
    def __init__(self, args, work):
        self.device, self.work = args.device, work
        self.rehearsal = args.device != "cuda"
        self.python = os.environ.get("TITAN_PYTHON") or next(iter(map(str, harness.ROOT.glob(".deps/venv/bin/python"))), sys.executable)
        find_torch()
        self.names = []
        self.gpus = self.count_gpus() if args.device == "cuda" else 0
        self.out_folder = args.out.absolute().parent
        self.tokens = work / "tokens.bin"
        harness.write_tokens(self.tokens, 40_000 if self.rehearsal else 600_000, 256)

    def count_gpus(self):
        try:
            done = subprocess.run(["nvidia-smi", "--query-gpu=name,driver_version,memory.total", "--format=csv,noheader"], capture_output=True, text=True, timeout=60)
        except (OSError, subprocess.TimeoutExpired):
            return 0
        self.names = done.stdout.strip().splitlines() if done.returncode == 0 else []
        visible = os.environ.get("CUDA_VISIBLE_DEVICES")
        return len(self.names) if visible is None else min(len(self.names), len([word for word in visible.split(",") if word]))

    def sheet(self):
        """The name by which plan --device knows this GPU, or None."""
        if self.rehearsal:
            return "h100"
        return next((known for known in ("a100", "b200", "h100", "h200") if known in (self.names or [""])[0].lower()), None)

    def pick(self, *shapes):
        """The first shape that the rehearsal takes, else the others."""
        return [TINY] if self.rehearsal else list(shapes)

    def settings(self, shape, steps, folder, **more):
        base = {"training.device": "cuda" if self.device == "cuda" else "cpu", "training.dataset": "tokens", "training.dataset_path": self.tokens, "training.steps": steps,
                "lr_scheduler.total_steps": steps, "lr_scheduler.warmup_steps": 2, "training.local_batch_size": 1, "training.global_batch_size": 8,
                "training.mixed_precision_param": "bfloat16", "checkpoint.interval": max(1, steps // 2), "checkpoint.keep_latest_k": 2,
                "debug.seed": 5, "metrics.log_freq": 1, "job.dump_folder": folder, "validation.enable": False,
                "comm.init_timeout_seconds": 60, "comm.train_timeout_seconds": 60}
        if self.rehearsal:
            base |= {"job.threads_per_rank": 1, "training.cpu_gemm": "mkl"}  # the fake device computes its products by MKL
        return base | model(shape) | {key.replace("__", "."): value for key, value in more.items()}

    @contextlib.contextmanager
    def used_bytes(self, most):
        """Puts into most["bytes"] the most of a GPU's memory that was taken meanwhile, by whomever: contexts and NCCL's buffers are in it."""
        over = threading.Event()

        def look():
            while not over.wait(0.5):
                done = subprocess.run(["nvidia-smi", "--query-gpu=memory.used", "--format=csv,noheader,nounits"], capture_output=True, text=True)
                used = [int(word) << 20 for word in done.stdout.split() if word.isdigit()]
                most["bytes"] = max([most.get("bytes", 0), *used])

        if self.device != "cuda":
            yield
            return
        thread = threading.Thread(target=look)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()

    def train(self, name, shape, steps, ranks=1, expect=0, env=None, before=(), **more):
        """One run in a folder of this name. `env`: variables that it has besides; `before`: a command that starts it. Returns its folder."""
        folder = self.work / name
        self.use("cpu" if more.get("training__device") == "cpu" else self.device)
        argv = [*before, *harness.command(CONFIG, ranks, self.settings(shape, steps, folder, **more))]
        code, out, errors = ended(argv, env=os.environ | (env or {}))
        if code != expect:
            raise harness.Failure(f"{name}: exit code {code}, expected {expect}: {out[-300:]} {errors[-1500:]}")
        return folder

    def planned(self, shape, steps, *words, **more):
        """What plan says of such a run, as --json gives it."""
        code, out, errors = ended([harness.TRAIN, "plan", CONFIG, *harness.flags(self.settings(shape, steps, self.work / "planned", **more)), *words, "--json"])
        if code != 0:
            raise harness.Failure(f"plan: exit code {code}: {errors[-600:]}")
        return json.loads(out)

    def clear(self):
        """Removes the runs: those of 1B take 13 GB a checkpoint."""
        for folder in self.work.iterdir():
            if folder.is_dir():
                shutil.rmtree(folder, ignore_errors=True)

    def use(self, device):
        """The program that the harness runs: what it calls the CPU is the fake device in one of them."""
        harness.TRAIN = str(harness.BIN / ("titan-train-fake" if device == "fake" else "titan-train"))

    def same(self, one, other, steps):
        """Raises Failure unless both runs have the same losses and the same id."""
        ours, theirs = harness.step_lines(one), harness.step_lines(other)
        for step in theirs:
            if ours.get(step) != theirs[step]:
                raise harness.Failure(f"{one.name} and {other.name} differ at step {step}: {ours.get(step)}, {theirs[step]}")
        if harness.checkpoint_id(one, steps) != harness.checkpoint_id(other, steps):
            raise harness.Failure(f"{one.name} and {other.name} end with different ids")

    def steps_of(self, folder):
        return [line for line in map(json.loads, (folder / "metrics.jsonl").read_text().splitlines()) if "event" not in line]

    def torch(self, script, *what):
        """What a script of this folder finds by the Python package of the same LibTorch."""
        code, out, errors = ended([self.python, "-W", "ignore", HERE / f"{script}.py", *what, *(["--device=cpu"] if self.rehearsal else [])])
        if code == 77:
            raise Skip(out.strip().splitlines()[-1])
        if code != 0:
            raise harness.Failure((errors or out).strip()[-600:])
        return json.loads(out.strip().splitlines()[-1])
