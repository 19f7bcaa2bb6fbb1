#!/usr/bin/env python3
"""Mistakes that users make on their first day, one numbered row each: the exit code, one error that names the cause, and a hint.

The table is ROWS. The same rules apply to every row, besides its own texts: exactly one line begins with "error:", no command fails
without a message, errors of the operating system have a path, and no unfinished files stay behind. `plan` leaves the
whole folder as it was, names and times. A row with `also` runs `titan-train run` in place of `plan` as well: both exit alike."""

import dataclasses
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import harness  # noqa: E402

TOOLS = harness.ROOT / "tests" / "cli" / "tools"
ERRNO = re.compile("Permission denied|No such file or directory|Not a directory|Is a directory|File exists|Read-only file system|No space left")
SMALL = """[model]
dim = 16
n_layers = 2
n_heads = 2
ffn_dim = 32
vocab_size = 256
[optimizer]
lr = 1e-3
[lr_scheduler]
warmup_steps = 2
total_steps = 12
[training]
dataset_path = "text.txt"
local_batch_size = 2
global_batch_size = 4
seq_len = 16
steps = 12
mixed_precision_param = "float32"
[checkpoint]
interval = 4
[job]
dump_folder = "run"
threads_per_rank = 1
[debug]
seed = 3
"""


@dataclasses.dataclass
class Row:
    id: int
    reference: str       # section and row, or words, of the design page "the first hour"
    command: str         # a line of bash, in the prepared folder
    code: int
    error: str           # regular expressions: of the lines "error:" and "caused by:",
    hint: str = ""       # of the line "hint:"; "" where the error says what to do itself
    also: bool = False   # `plan` in the command: `run` exits alike
    leaves: str = ""     # names that the command may leave behind: a regular expression


PLAN = "titan-train plan own.toml "
RUN = "titan-train run own.toml "
NEW = "--job.dump_folder=new "
TOKENS = "--training.dataset=tokens --training.dataset_path="
STEP = "run/checkpoint/step-00000008"
LOGS = r"new(/logs(/rank-\d\.log)?|/checkpoint|/run.lock|/checkpoint/run.lock|/config.toml|/metrics.jsonl)?"

ROWS = [
    # What was typed: verbs, flags, keys.
    Row(1, "2 typos of verbs", "titan-train runn own.toml", 2, "runn", "run"),
    Row(2, "2 typos of verbs", "titan-ckpt inspekt run@latest", 2, "inspekt", "inspect"),
    Row(3, "2 typos of flags", "titan-train plan own.toml --nprocs 2", 2, "nprocs", "nproc"),
    Row(4, "2 typos of flags", "titan-ckpt inspect run@latest --tensor", 2, "--tensor", "--tensors"),
    Row(5, "1.6 own TOML from memory", PLAN + "--training.max_steps=4", 2, "unknown key 'training.max_steps' .did you mean 'training.steps'", ""),
    Row(6, "2 typos together", PLAN + "--training.stepps=4 --optimiser.lr=1", 2, "(?s)training.stepps.*training.steps.*optimiser", ""),
    Row(7, "2 a type error", PLAN + "--training.steps=many", 2, "training.steps.*integer", ""),
    Row(8, "2 a typo with line and column", "sed 's/^seq_len/seqlen/' own.toml > typo.toml; titan-train plan typo.toml", 2, r"typo\.toml:\d+:\d+.*seqlen.*seq_len", "",
        leaves="typo.toml"),
    Row(9, "2 config that is not there", "titan-train plan nowhere.toml", 2, "nowhere.toml"),
    Row(10, "1.8 plot is in --help", "titan-ckpt plot run -o loss.png", 2, r"loss\.png", r"x\.svg"),
    Row(11, "house 1 the range of holdout", PLAN + NEW + "--validation.enable --validation.holdout=0.7", 2, "validation.holdout.*0.5", "", also=True),
    Row(12, "2 wrong dtype name", PLAN + TOKENS + "tokens.bin --training.token_dtype=int8", 2, "token_dtype.*uint16"),
    # What the data are.
    Row(13, "2 missing dataset", PLAN + NEW + "--training.dataset_path=nowhere.txt", 2, "nowhere.txt", "a file, a folder", also=True),
    Row(14, "2 empty dataset", PLAN + NEW + "--training.dataset_path=empty.txt", 2, "the dataset is empty .empty.txt", "", also=True),
    Row(15, "2 not UTF-8", PLAN + NEW + "--training.dataset_path=latin.txt", 2, r"latin.txt.*UTF-8.*\d", "iconv", also=True),
    Row(16, "2 a vocabulary below 256", PLAN + NEW + "--model.vocab_size=200", 2, "200.*256", "vocab_size=256", also=True),
    Row(17, "1.14 token id outside the vocabulary", PLAN + NEW + TOKENS + "bad.bin", 2, r"bad.bin.* id 32767 is outside the vocabulary of 256", "token_dtype", also=True,
        leaves=LOGS),
    Row(18, "house 2 token id of validation data", PLAN + NEW + TOKENS + "tokens.bin --validation.enable --validation.freq=1 --validation.dataset_path=bad.bin", 2,
        r"bad.bin.* id 32767 is outside the vocabulary", "token_dtype", also=True, leaves=LOGS),
    Row(19, "2 too little text", PLAN + NEW + "--training.seq_len=5000", 2, "too short for one sample of 5001", "seq_len", also=True),
    # Ranks, stages, batches.
    Row(20, "2 nproc x PP", PLAN + "--nproc 3 --parallelism.pipeline_parallel_degree=2", 2, "3.*pipeline_parallel_degree|pipeline_parallel_degree.*3", "--nproc 4", also=True),
    Row(21, "2 PP > parts", PLAN + NEW + "--nproc 5 --parallelism.pipeline_parallel_degree=5", 2, "more stages than the model has parts", "degree=4", also=True),
    Row(22, "3 M", PLAN + NEW + "--nproc 4", 2, "2 micro-batches per step .* are fewer than the 4 data-parallel ranks", "at most 2 data-parallel ranks", also=True),
    Row(23, "2 half-set torchrun variables", "RANK=0 " + PLAN, 2, "half set: RANK is set, WORLD_SIZE is not", "--nproc", also=True),
    Row(24, "2 half-set torchrun variables", "WORLD_SIZE=2 " + PLAN + "--nproc 2", 2, "half set: WORLD_SIZE is set, RANK is not", "unset", also=True),
    Row(25, "2 Slurm without RANK", "SLURM_NTASKS=4 SLURM_PROCID=0 " + PLAN, 2, "Slurm started 4 tasks", "torchrun", also=True),
    Row(26, "2 nproc beside a launcher", "RANK=0 WORLD_SIZE=1 " + PLAN + "--nproc 2", 2, "--nproc 2, but the environment says WORLD_SIZE=1", "leave out --nproc", also=True),
    Row(27, "2 few open files", "ulimit -n 40; " + PLAN, 3, "ulimit -n", "ulimit -n", also=True),
    # The run folder.
    Row(28, "1.14 two runs at once", PLAN + "--job.dump_folder=busy", 11, r"busy(/checkpoint)? is locked by a live run or tool: process \d+", "stop that run", also=True,
        leaves=r"busy/logs(/rank-0.log)?"),
    Row(29, "2 prune of a live run", "titan-ckpt prune busy --keep-last 1", 11, "locked by a live run", "stop that run"),
    Row(30, "2 bare errno 1: run folder is a file", PLAN + "--job.dump_folder=text.txt", 3, "text.txt", "dump_folder|folder", also=True),
    Row(31, "2 bare errno 2: no right to create it", "bound_by_modes " + PLAN + "--job.dump_folder=perm/new", 3, "perm/new.*perm|perm", "perm|folder"),
    Row(32, "2 bare errno 3: no right to rewrite", "bound_by_modes titan-ckpt strip run@8 perm/z", 3, "perm"),
    Row(33, "2 bare errno 4: run.lock of another", "bound_by_modes " + PLAN + "--job.dump_folder=theirs", 3, "theirs.*run.lock|run.lock", "theirs|folder|owner"),
    Row(34, "1.14 disk smaller than one checkpoint", PLAN + "--job.dump_folder=small/run --checkpoint.keep_latest_k=1", 3,
        r"not enough space for .*small/run/checkpoint.* about \d+\.\d MiB, \d.* are free; the first save would fail", "free some space", also=True, leaves=r"small/run.*"),
    Row(35, "1.14 disk smaller than what is kept", PLAN + "--job.dump_folder=medium/run --model.dim=64 --model.ffn_dim=256 --model.n_layers=3", 3,
        r"not enough space for the 3 checkpoints .* about \d+\.\d MiB, \d.* are free; save 3 of this run would fail", "keep_latest_k=1", also=True, leaves=r"medium/run.*"),
    Row(36, "house 3 stop without checkpoints", PLAN + NEW + "--debug.stop_at_step=4 --checkpoint.no_enable", 2, "debug.stop_at_step = 4 saves a step, but checkpoint.enable = false",
        "leave one of them out", also=True),
    # Going on.
    Row(37, "3 raise steps", PLAN + "--training.steps=40 --lr_scheduler.total_steps=40", 13, "differs from checkpoint|planned for|total_steps", "--allow", also=True),
    Row(38, "3 raise steps without a policy", PLAN + "--training.steps=40 --lr_scheduler.total_steps=40 --allow training.steps,lr_scheduler.total_steps", 2, "on_change",
        "--lr_scheduler.on_change=", also=True),
    Row(39, "2 steps behind the checkpoint", PLAN + "--training.steps=4", 13, "at step 8, beyond training.steps = 4", "raise training.steps", also=True),
    Row(40, "1.3 --resume required and nothing there", PLAN + NEW + "--resume required", 10, "no checkpoint in new/checkpoint to resume", "mounted", also=True),
    Row(41, "2 --resume never where there are steps", PLAN + "--resume never", 2, "holds steps 8, 4", "dump_folder", also=True),
    Row(42, "2 a path that is not there", PLAN + "--resume run@77", 10, "no step 77: it holds steps 8, 4", "", also=True),
    Row(43, "2 the weights are not there", PLAN + NEW + "--init-from nowhere", 10, "nowhere", "RUN@latest", also=True),
    Row(44, "2 another setting that shapes the curve", PLAN + "--optimizer.weight_decay=0.3", 13, "(?s)weight_decay.*0.1.*0.3|differs", "--allow", also=True),
    # titan-ckpt.
    Row(45, "2 unknown step", "titan-ckpt inspect run@77", 10, "no step 77: it holds steps 8, 4"),
    Row(46, "2 misspelt tensor", "titan-ckpt cat run@8 layers.0.attention.wq.wieght", 10, "wieght", "layers.0.attention.wq.weight"),
    Row(47, "3 inspect RUN", "titan-ckpt inspect run", 10, "run folder, not a checkpoint", "run@latest"),
    Row(48, "2 existing destination", "titan-ckpt strip run@8 wide", 2, "exists", "force|another name|--force"),
    Row(49, "2 destination = source", f"titan-ckpt strip {STEP} {STEP} --force", 2, "the destination .* is the source", "choose another name"),
    Row(50, "1 parents made by strip", "titan-ckpt strip run@8 none/none/new", 2, "there is no folder none/none", "mkdir"),
    Row(51, "2 read-only folder", "bound_by_modes titan-ckpt cat run@8 norm.weight -o perm/x.npy", 3, "perm"),
    Row(52, "2 truncated", "titan-ckpt inspect cut@8", 12, "manifest.json"),
    Row(53, "2 flipped", "titan-ckpt cat flipped@8 tok_embeddings.weight -o x.npy", 12, "leaf 0 of tensor 'tok_embeddings.weight'.*offset", "titan-ckpt verify flipped@8"),
    Row(54, "2 a folder that is no run", "titan-ckpt ls perm", 10, "perm is not a run folder", ""),
    Row(55, "1.9 eval of text", "titan-train eval run@8 --tokens text.txt --seq-len 16", 2, "outside the vocabulary of 256", ""),
    Row(56, "3 eval without a length that a run stored", "titan-train eval hf --tokens tokens.bin", 2, "one stream of 4000 tokens", "--seq-len"),
    Row(57, "2 full disk", "titan-ckpt reshard wide@10 small/wide --dp 2", 3, r"small/wide needs about \d+\.\d MiB, \d.*iB are free", "another disk"),
    Row(58, "2 every step damaged", PLAN + "--job.dump_folder=lost", 12, "no step in lost/checkpoint can be resumed", "verify", also=True),
    Row(59, "1.9 a folder that holds nothing", "titan-ckpt convert empty out --to hf", 10, "empty.*no checkpoint of a format that is known", "known are"),
    Row(60, "2 a mesh that does not fit", "titan-ckpt reshard run@8 out --dp 1 --pp 9", 13, "largest feasible pipeline degree is 4", "--pp 4"),
    # Words in the wrong place.
    Row(61, "1.3 a mistyped word after --resume", PLAN + "--resume Auto", 2, "--resume Auto: expected auto, required, never or a path", "did you mean `auto`", also=True),
    Row(62, "1.3 another word after --resume", PLAN + "--resume sometimes", 2, "--resume sometimes: expected auto, required, never or a path", "no file or folder", also=True),
    Row(63, "1 the verb is missing", "titan-train own.toml", 2, "unknown verb `own.toml`", "did you mean `titan-train run own.toml`"),
    Row(64, "1 the verb is missing, flags first", "titan-train --nproc 2 --training.steps=3 own.toml", 2, "unknown verb `own.toml`", "did you mean `titan-train run own.toml`"),
    Row(65, "1 a flag before its verb", "titan-train --nproc 2 run own.toml", 2, "`--nproc` is before the verb", "after `titan-train run`"),
    Row(66, "1 a run folder in place of the verb", "titan-train run/", 2, "unknown verb `run/`", "did you mean `titan-train run run/config.toml`"),
    Row(67, "1 a checkpoint in place of the verb", f"titan-train {STEP}", 2, "unknown verb", f"did you mean `titan-train eval {STEP} --tokens FILE`"),
    Row(68, "1 a run folder in place of the file", "titan-train run run", 2, "'run': Is a directory", "did you mean `run/config.toml`"),
    Row(69, "1 a key without dashes", "titan-train run own.toml training.steps=3", 2, "unexpected argument `training.steps=3`", "did you mean `--training.steps=3`"),
    Row(70, "1 the verb is missing", f"titan-ckpt {STEP}", 2, "unknown verb", f"did you mean `titan-ckpt inspect {STEP}`"),
    Row(71, "1 the verb is missing", "titan-ckpt run@8", 2, "unknown verb `run@8`", "did you mean `titan-ckpt inspect run@8`"),
    Row(72, "1 the verb is missing", "titan-ckpt run", 2, "unknown verb `run`", "did you mean `titan-ckpt ls run` or `titan-ckpt inspect run@latest`"),
    Row(73, "1.13 a run folder as data", PLAN + NEW + "--training.dataset_path=run", 2, "'run' is a run folder, not a folder of data", "--job.dump_folder=run", also=True),
    Row(74, "1.13 a checkpoint as data", PLAN + NEW + f"--training.dataset_path={STEP}", 2, f"'{STEP}' is a checkpoint, not a folder of data", f"--resume {STEP}", also=True),
    Row(75, "1.13 a NumPy array under the name of tokens", PLAN + NEW + TOKENS + "array.bin", 2, "'array.bin' holds elements of type '<f4'; expected are little-endian ids", r"numpy.load\(FILE\).astype", also=True),
]

# Where neighbours of this table mend the words: the rules above hold, of the texts only what is sure.
LOOSE = [
    Row(101, "1.3 no model asked for", "sed '/^\\[model\\]/,/^vocab_size/d' own.toml > bare.toml; titan-train plan bare.toml " + NEW, 2, "model", "flavor|init-from|resume",
        leaves="bare.toml"),
    Row(102, "1.13 a .jsonl is not text", PLAN + NEW + "--training.dataset_path=lines.jsonl", 2, "jsonl", "python|text"),
    Row(103, "2 unknown host", "RANK=1 WORLD_SIZE=2 MASTER_ADDR=no-such-host.invalid MASTER_PORT=29611 " + RUN + NEW + "--nproc 2 --comm.init_timeout_seconds=5", 3,
        "rank 1: MASTER_ADDR=no-such-host.invalid does not resolve", "getent hosts", leaves=LOGS),
    Row(104, "7 B2 nobody answers", "RANK=1 WORLD_SIZE=2 MASTER_ADDR=127.0.0.9 MASTER_PORT=29612 " + RUN + NEW + "--nproc 2 --comm.init_timeout_seconds=3", 3,
        r"rank 1 could not connect to rank 0 at 127\.0\.0\.9:29612 within 3 s .*Connection refused", "is a loopback address", leaves=LOGS),
    Row(105, "2 port in use", "exec 3<>/dev/tcp/127.0.0.1/$PORT; RANK=0 WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=$PORT " + RUN + NEW + "--nproc 2 --comm.init_timeout_seconds=5",
        3, "rank 0 cannot listen on port .*Address already in use", "ss -ltnp", leaves=LOGS),
    Row(106, "7 F3 a torchtitan key that is not here", PLAN + NEW + "--parallelism.tensor_parallel_degree=2", 2, "tensor_parallel_degree.*not supported yet"),
    Row(107, "2 bare errno 2: no right to create it", "bound_by_modes " + RUN + "--job.dump_folder=perm/new", 3, "the run folder perm/new cannot be made", "the folder perm is this user's own, but its mode is"),
    Row(108, "2 bare errno 4: run.lock of another", "bound_by_modes " + RUN + "--job.dump_folder=theirs", 3, "theirs cannot be locked", "theirs/run.lock is this user's own, but its mode is",
        leaves="theirs/(logs(/rank-0.log)?|checkpoint)"),
    Row(109, "7 F2 another program's checkpoint", "titan-ckpt convert gguf out --to hf", 13, "does not say its architecture"),
    Row(110, "1.14 token id that two stages read", RUN + NEW + TOKENS + "bad.bin --nproc 2 --parallelism.pipeline_parallel_degree=2", 2,
        "id 32767 is outside the vocabulary of 256", "token_dtype", leaves=LOGS),
    Row(111, "house 2 token id of validation data that two stages read", RUN + NEW + TOKENS + "tokens.bin --nproc 2 --parallelism.pipeline_parallel_degree=2 --validation.enable"
        " --validation.freq=1 --validation.dataset_path=bad.bin", 2, "id 32767 is outside the vocabulary of 256", "token_dtype", leaves=LOGS),
]


class Listener:
    """A port that somebody else listens on."""

    def __init__(self):
        import socket
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]


def bash(line, folder, **more):
    env = {**os.environ, "PATH": f"{harness.BIN.resolve()}:{TOOLS}:{os.environ['PATH']}", "LC_ALL": "C.UTF-8", "TERM": "dumb", **more}
    for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "SLURM_NTASKS", "SLURM_PROCID"):
        env.pop(name, None)
    return subprocess.run(["bash", "-c", line], cwd=folder, env=env, capture_output=True, text=True, errors="replace", stdin=subprocess.DEVNULL, timeout=60)


def prepare(work):
    def must(line):
        done = bash(line, work)
        if done.returncode != 0:
            raise harness.Failure(f"{line}\n{done.stdout}{done.stderr}")

    (work / "own.toml").write_text(SMALL)
    harness.write_text(work / "text.txt", 4_000)
    (work / "empty.txt").write_bytes(b"")
    (work / "latin.txt").write_bytes(b"caf\xe9 " * 1000)
    (work / "lines.jsonl").write_text('{"text": "one line"}\n' * 400)
    harness.write_tokens(work / "tokens.bin", 4_000, 256)
    data = (work / "tokens.bin").read_bytes()
    (work / "array.bin").write_bytes(b"\x93NUMPY\x01\0v\0{'descr': '<f4', 'fortran_order': False, 'shape': (2000,), }".ljust(127) + b"\n" + bytes(8000))
    (work / "bad.bin").write_bytes(b"\xff\x7f".join([data[:200], *[data[i:i + 200] for i in range(202, len(data), 202)]]))
    for folder in ("perm", "theirs", "empty", "gguf"):
        (work / folder).mkdir()
    (work / "gguf" / "model.gguf").write_bytes(b"GGUF\x03\0\0\0" + bytes(64))
    (work / "theirs" / "run.lock").write_text("")
    must(RUN + "--debug.stop_at_step=8; test $? -eq 75")
    for copy in ("cut", "flipped", "lost"):
        must(f"cp -r run {copy}")
    must("damage cut cut/checkpoint/step-00000008/manifest.json 100; damage leaf flipped/checkpoint/step-00000008 tok_embeddings.weight 0")
    must("for step in 4 8; do damage cut lost/checkpoint/step-0000000$step/manifest.json 100; done; make wide --size 4M step=10")
    must("titan-ckpt convert run@8 hf --to hf")
    for folder in ("perm", "theirs/run.lock"):
        (work / folder).chmod(0o555)
    must("mkdir small medium")
    small = bash("mount -t tmpfs -o size=512k none small && mount -t tmpfs -o size=8m none medium", work)
    return "" if small.returncode == 0 else small.stderr.strip()


def names(work):
    """Every name with its kind, size and time, what another program changes meanwhile left out."""
    found = {}
    for path in sorted(work.rglob("*")):
        name = str(path.relative_to(work))
        if not name.startswith("busy"):
            info = path.lstat()
            found[name] = (info.st_mode, info.st_size if path.is_file() else 0, info.st_mtime_ns if path.is_file() else 0)
    return found


class Mistakes(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.work = harness.scratch("mistakes")
        cls.listener = Listener()
        cls.no_disks = prepare(cls.work)
        # A run that lives as long as the table needs it.
        cls.busy = subprocess.Popen([str(harness.BIN.resolve() / "titan-train"), "run", "own.toml", "--job.dump_folder=busy", "--training.steps=10000000", "--lr_scheduler.total_steps=10000000",
                                     "--checkpoint.interval=10000000", "--debug.seed=3"], cwd=cls.work, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 60
        while not (cls.work / "busy" / "metrics.jsonl").exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        for rank in harness.children(cls.busy.pid):
            os.kill(rank, signal.SIGSTOP)  # it holds its lock, and leaves the cores to the table

    @classmethod
    def tearDownClass(cls):
        cls.busy.kill()
        cls.busy.wait()
        cls.listener.socket.close()
        for folder in ("small", "medium"):
            subprocess.run(["umount", "-l", cls.work / folder], check=False, capture_output=True)
        (cls.work / "perm").chmod(0o755)
        shutil.rmtree(cls.work, ignore_errors=True)

    def held_to_the_rules(self, row, command):
        if self.no_disks and re.search(r"small/|medium/", command):
            self.skipTest(f"no disk of this size can be mounted here: {self.no_disks}")
        before = names(self.work)
        done = bash(command, self.work, PORT=str(self.listener.port))
        log = f"row {row.id} ({row.reference})\n$ {command}\nexit {done.returncode}\n{done.stdout[-1500:]}{done.stderr}"
        self.assertEqual(done.returncode, row.code, log)
        lines = [line.strip() for line in done.stderr.splitlines()]
        errors = [line for line in lines if line.startswith("error:")]
        self.assertEqual(len(errors), 1, log)
        said = "\n".join(errors + [line for line in lines if line.startswith("caused by:")])
        self.assertRegex(said, row.error, log)
        _, _, hint = done.stderr.partition("hint:")  # it may have several lines
        if row.hint:
            self.assertRegex(hint, row.hint, log)
        for line in lines:
            if ERRNO.search(line):
                self.assertRegex(line, r"[\w.]+/|'[^']+'|[\w-]+\.\w+", f"an errno without a path\n{log}")
        after = names(self.work)
        made = [name for name in after if name not in before]
        for name in made:
            self.assertNotRegex(name, r"\.tmp|\.trash-|step-\d{8}$", log)
            self.assertRegex(name, f"^(?:{row.leaves})$" if row.leaves else "^$", f"left behind: {name}\n{log}")
        self.assertEqual([name for name in before if name not in after], [], log)
        if " plan " in command:
            self.assertEqual({name: what for name, what in after.items() if name in before}, before, log)
            self.assertEqual([name for name in made if not name.endswith(".toml")], [], log)
        shutil.rmtree(self.work / "new", ignore_errors=True)
        for name in ("small/run", "medium/run", "theirs/logs", "theirs/checkpoint"):
            shutil.rmtree(self.work / name, ignore_errors=True)

    def test_ids_are_in_order(self):
        for rows in (ROWS, LOOSE):
            self.assertEqual([row.id for row in rows], list(range(rows[0].id, rows[0].id + len(rows))))
        self.assertGreaterEqual(len(ROWS), 45)

    def test_complete_is_no_mistake(self):
        """Row "complete" of section 3: exit 0, and it says what is complete."""
        for verb in ("plan", "run"):
            done = bash(f"titan-train {verb} own.toml --training.steps=8", self.work)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("complete", done.stdout + done.stderr)

    def test_cat_says_that_it_writes_a_numpy_file(self):
        """Section 2, "accepted in silence": the name may be any, but what is in the file is said."""
        for name, noted in (("norm.txt", True), ("norm.npy", False)):
            done = bash(f"titan-ckpt cat run@8 norm.weight --output {name}", self.work)
            (self.work / name).unlink()
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(done.stderr, "note: norm.txt is a NumPy file, though it is not called .npy: read it with numpy.load\n" if noted else "")

    def test_eval_takes_the_length_that_the_run_stored(self):
        """Row "eval" of section 3: the checkpoint's length by default, a flag wins, and the answer says which it was."""
        for flag, said in (("", r"250 rows of 16 \(the checkpoint's training.seq_len\)\n"), (" --seq-len 8", r"500 rows of 8\n")):
            done = bash(f"titan-train eval run@8 --tokens tokens.bin{flag}", self.work)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertRegex(done.stdout, said)

    def test_a_thread_variable_that_is_not_used_is_named(self):
        """Whoever sets OMP_NUM_THREADS hears what is taken in its place, and why; nobody else does."""
        for typed, said in (("OMP_NUM_THREADS=8 ", 1), ("OMP_NUM_THREADS=1 ", 0), ("env -u OMP_NUM_THREADS ", 0)):
            done = bash(typed + RUN + NEW + "--training.steps=2", self.work)
            shutil.rmtree(self.work / "new", ignore_errors=True)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(done.stderr.count("note: OMP_NUM_THREADS=8 is not used: a rank computes with 1 thread (job.threads_per_rank)"), said, done.stderr)


def add_rows():
    def test_of(row, command):
        return lambda self: self.held_to_the_rules(row, command)

    for row in ROWS + LOOSE:
        name = re.sub(r"\W+", "_", row.reference)
        setattr(Mistakes, f"test_{row.id:03}_{name}", test_of(row, row.command))
        if row.also:
            setattr(Mistakes, f"test_{row.id:03}_{name}_run", test_of(row, row.command.replace("titan-train plan", "titan-train run")))


add_rows()

if __name__ == "__main__":
    if not os.environ.get("TITAN_OWN_MOUNTS"):
        # Small disks are mounted: in a namespace of this test's own.
        for namespace in (["unshare", "-m"], ["unshare", "-rm"]):
            if shutil.which("unshare") and subprocess.run([*namespace, "true"], capture_output=True).returncode == 0:
                os.execvpe("unshare", [*namespace, sys.executable, *sys.argv], os.environ | {"TITAN_OWN_MOUNTS": "1"})
    unittest.main()
