#!/usr/bin/env python3
"""torchtitan_both_ways.py --tp 1|2: torchtitan 0.2.2 and titan-train resume each other's runs. FSDP 2 without --tp 2, else FSDP 2 x TP 2.

Forth: torchtitan trains 20 steps on known tokens and saves step 10 whole and step 20 as bf16 weights. Step 10 becomes one of ours with
torchtitan's own TOML, and `titan-train run` goes on with that TOML on the same tokens: ten losses agree to 1e-5, norms of gradients to 1e-3,
learning rates and tokens are equal; stopped at step 15 and started again by the same command line it gives the same bits.
Back: a run of ours becomes a DCP directory; dcp.load gives every tensor of it, optimizer included; torchtitan goes on from it on the samples
that we would take, with our losses. The directory also becomes one of ours again, and goes on with the same bits.
Needs the environment .deps/torchtitan (scripts/bootstrap --tests). TITAN_BIN names the folder of the programs.
"""
import argparse
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "e2e")]

import numpy  # noqa: E402
import torch  # noqa: E402
import torch.distributed.checkpoint as dcp  # noqa: E402

import harness  # noqa: E402
import torchtitan030  # noqa: E402
import torchtitan_cpu  # noqa: E402
from dcp_torch import cat, check, equal_by_torch, load_everything  # noqa: E402

SEQ, BATCH = 16, 4
# As people have it: sections that only torchtitan knows, its defaults written out, its own names. A small learning rate, because
# training amplifies how the two round: at 1e-3 losses come to differ by 4e-6 within ten steps, at 1e-4 by 1e-6, which is rounding.
CONFIG = """
[job]
description = "a run of torchtitan"
[profiling]
enable_profiling = false
save_traces_folder = "profile_trace"
profile_freq = 100
[metrics]
log_freq = 1
enable_tensorboard = false
save_tb_folder = "tb"
[model]
name = "llama3"
flavor = "FLAVOR"
hf_assets_path = "./tests/assets/tokenizer"
[optimizer]
name = "AdamW"
lr = 1e-4
eps = 1e-8
implementation = "for-loop"
[lr_scheduler]
warmup_steps = 3
decay_type = "cosine"
min_lr_factor = 0.1
[training]
local_batch_size = 2
seq_len = 16
max_norm = 1.0
steps = 20
dataset = "c4_test"
mixed_precision_param = "float32"
[parallelism]
data_parallel_replicate_degree = 1
data_parallel_shard_degree = 2
fsdp_reshard_after_forward = "default"
tensor_parallel_degree = 1
[checkpoint]
enable = true
interval = 10
export_dtype = "bfloat16"
async_mode = "disabled"
keep_latest_k = 0
[activation_checkpoint]
mode = "selective"
selective_ac_option = "2"
[compile]
enable = false
components = ["model", "loss"]
[quantize.linear.float8]
enable_fsdp_float8_all_gather = false
filter_fqns = ["output"]
[debug]
seed = 3
"""
ROPE = "llama3:8:1:4:8192"  # torchtitan's model always has it, and so has a flavour here
# What titan-train needs beyond a file of torchtitan's.
HERE_ONLY = {"model.hf_assets_path": "none", "optimizer.implementation": "fused", "activation_checkpoint.mode": "none",
             "checkpoint.export_dtype": "float32", "checkpoint.last_save_model_only": "false", "training.dataset": "tokens"}
FED = {**HERE_ONLY, "training.shuffle": "false", "training.sample_stride": SEQ + 1}
TINY = {"model.flavor": "debugmodel", "model.dim": 64, "model.n_layers": 2, "model.n_heads": 4, "model.n_kv_heads": 2, "model.ffn_dim": 192, "model.vocab_size": 131,
        "model.rope_theta": 500000}
LAYOUTS = {"1x1": {}, "2x1": {"parallelism.data_parallel_shard_degree": 2}, "1x2": {"parallelism.pipeline_parallel_degree": 2},
           "2x2": {"parallelism.data_parallel_shard_degree": 2, "parallelism.pipeline_parallel_degree": 2}}


def convert(*arguments, expect=0):
    done = subprocess.run([harness.CKPT, "convert", *map(str, arguments)], capture_output=True, text=True, timeout=300)
    check(done.returncode == expect, f"convert {arguments}: {done.returncode}, expected {expect}\n{done.stdout}{done.stderr}")
    return done.stdout + done.stderr


def equal(*checkpoints):
    for pair in zip(checkpoints, checkpoints[1:]):
        done = subprocess.run([harness.CKPT, "diff", *map(str, pair)], capture_output=True, text=True, timeout=300)
        check(done.returncode == 0, f"diff {pair}: {done.stdout}{done.stderr}")


def losses(run):
    names = ("step", "loss", "grad_norm", "lr", "tokens")
    return {step: dict(zip(names, (int(line[0]), *map(float, line[1:4]), int(line[4])))) for step, line in harness.step_lines(run).items()}


def compare(what, ours, theirs):
    check(sorted(ours) == sorted(theirs) == list(range(11, 21)), f"{what}: steps {sorted(ours)} and {sorted(theirs)}")
    far = {name: max(abs(ours[n][name] - theirs[n][name]) for n in ours) for name in ("loss", "lr", "tokens")}
    norm = max(abs(ours[n]["grad_norm"] / theirs[n]["grad_norm"] - 1) for n in ours)
    check(far["loss"] <= 1e-5 and norm <= 1e-3 and far["tokens"] == 0, f"{what}: {far}, norms {norm}: {ours} {theirs}")
    check(all(abs(ours[n]["lr"] / theirs[n]["lr"] - 1) <= 1e-15 for n in ours), f"{what}: {far}: {ours} {theirs}")
    print(f"{what}: losses within {far['loss']:.1e}, norms within {norm:.1e} relative, learning rates within {far['lr']:.1e}, tokens equal", flush=True)


class Case:
    def __init__(self, work, tp):
        self.work, self.tp = work, tp
        self.config = work / "torchtitan.toml"
        self.config.write_text(CONFIG.replace("FLAVOR", "debugmodel" if tp == 1 else "tiny"))
        self.vocab = 2048 if tp == 1 else TINY["model.vocab_size"]
        self.dims = {} if tp == 1 else TINY
        self.heads = [] if tp == 1 else ["--set", "model.n_heads=4", "--set", "model.rope_theta=500000", "--set", f"model.rope_scaling={ROPE}"]  # a flavour that no one else knows

    def theirs(self, tokens, folder, *flags):
        return torchtitan_cpu.train(self.config, tokens, folder, ranks=2 * self.tp, flags=[f"--parallelism.tensor_parallel_degree={self.tp}", *flags])

    def train(self, run, layout, data, *extra, settings=FED, expect=0, **more):
        settings = {**self.dims, **settings, "job.dump_folder": run, "job.threads_per_rank": 1, "training.dataset_path": data, "training.global_batch_size": BATCH,
                    "parallelism.data_parallel_shard_degree": 1, **LAYOUTS[layout], **{key.replace("__", "."): value for key, value in more.items()}}
        stages, rows = map(int, reversed(layout.split("x")))
        return harness.train(self.config, stages * rows, settings, extra, expect=expect)[1]

    def forth(self):
        tokens = numpy.random.default_rng(1).integers(0, self.vocab, size=(20, BATCH, SEQ + 1)).astype("<u2")
        tail = self.work / "tail.u16"
        tokens[10:].tofile(tail)
        theirs = self.theirs(tokens, self.work / "theirs")
        source = self.work / "theirs" / "checkpoint" / "step-10"

        run = self.work / "run"
        step = run / "checkpoint" / "step-00000010"
        step.parent.mkdir(parents=True)
        if self.tp == 1:
            self.refusals(source, tail)
        convert(source, step, "--to", "titan", "--config", self.config, *self.heads)
        again = self.work / "again"
        shutil.copytree(run, again)
        back = self.work / "back" / "step-10"
        back.parent.mkdir()
        convert(step, back, "--to", "dcp", "--config", self.config)
        equal(source, step, back)

        allow = ("--allow", "training.dataset")
        error = self.train(run, "2x1", tail, expect=13)
        check("--allow training.dataset" in error and "sample 0" in error, f"without permission: {error}")
        self.train(run, "2x1", tail, *allow)
        compare(f"torchtitan's FSDP 2 x TP {self.tp} continued here", losses(run), {n: row for n, row in theirs.items() if n > 10})
        # The same command line again and again, on another layout.
        self.train(again, "1x2", tail, *allow, debug__stop_at_step=15, expect=75)
        self.train(again, "1x2", tail, *allow)
        check(harness.step_lines(again) == harness.step_lines(run), "stopped at 15 and started again: other numbers")
        check(harness.checkpoint_id(again, 20) == harness.checkpoint_id(run, 20), "stopped at 15 and started again: another id")
        check("complete" in self.train(again, "1x2", tail, *allow), "a third start")
        self.weights(self.work / "theirs" / "checkpoint" / "step-20")

    def refusals(self, source, tail):
        """Nothing is left behind by these, so the run goes on as if they had not been."""
        step = self.work / "run" / "checkpoint" / "step-00000010"
        wrong = self.work / "wrong.toml"
        wrong.write_text(self.config.read_text().replace("steps = 20", "steps = 21"))
        message = convert(source, step, "--to", "titan", "--config", wrong, expect=13)
        check("lr(11)" in message and "training.steps" in message, f"a wrong total: {message}")
        bare = self.work / "bare"
        (bare / "checkpoint").mkdir(parents=True)
        message = convert(source, bare / "checkpoint" / "step-00000010", "--to", "titan")
        check("tensors only" in message, f"without --config: {message}")
        for extra in ((), ("--allow", "training.dataset"), ("--resume", str(bare / "checkpoint" / "step-00000010"))):
            message = self.train(bare, "1x1", tail, *extra, expect=13)
            missing = "lr_scheduler, train_state" if "--allow" in extra else "lr_scheduler, dataloader, train_state"
            check(missing in message and "convert" in message, f"tensors only, {extra}: {message}")

    def weights(self, source):
        """torchtitan's last save: bf16 weights alone."""
        copy = self.work / "weights"
        convert(source, copy, "--to", "titan")
        theirs = load_everything(source)
        check(len(theirs) == (57 if self.tp == 1 else 21) and all(t.dtype == torch.bfloat16 for t in theirs.values()), f"not bf16 weights alone: {theirs.keys()}")
        listed = {t["name"]: t["dtype"] for t in harness.ckpt("inspect", copy, "--tensors", "*")["tensors"]}
        check(listed == dict.fromkeys(theirs, "bfloat16"), f"our list: {listed}")
        for name, tensor in theirs.items():
            check(torch.equal(tensor.view(torch.int16), cat(copy, name).to(torch.bfloat16).view(torch.int16)), f"{name} has other bits")
        print(f"bf16 weights alone: {len(theirs)} tensors equal", flush=True)

    def back(self):
        data, run = self.work / "data.u16", self.work / "ours"
        numpy.random.default_rng(2).integers(0, self.vocab, size=1100).astype("<u2").tofile(data)
        self.train(run, "2x2", data, settings=HERE_ONLY, debug__stop_at_step=10, expect=75)
        source = run / "checkpoint" / "step-00000010"
        dump = self.work / "theirs2"
        folder = dump / "checkpoint" / "step-10"
        folder.parent.mkdir(parents=True)
        convert(source, folder, "--to", "dcp", "--config", self.config)
        count = equal_by_torch(source, folder, 10)[1]
        print(f"ours, read by dcp.load: {count} tensors equal", flush=True)

        self.train(run, "1x1", data, settings=HERE_ONLY)
        flags = harness.flags({**HERE_ONLY, **self.dims, "training.dataset_path": data})
        subprocess.run([harness.BIN / "titan-dump-samples", self.config, str(10 * BATCH), str(10 * BATCH), "train", self.work / "samples.i32", *flags], check=True)
        tokens = numpy.fromfile(self.work / "samples.i32", dtype="<i4").astype("<u2").reshape(10, BATCH, SEQ + 1)
        ours = {n: row for n, row in losses(run).items() if n > 10}
        theirs = self.theirs(tokens, dump, "--checkpoint.exclude_from_loading=dataloader")
        compare(f"ours continued by torchtitan's FSDP 2 x TP {self.tp}", ours, theirs)

        # The directory becomes one of ours again.
        tail, other = self.work / "samples.u16", self.work / "third"
        tokens.tofile(tail)
        step = other / "checkpoint" / "step-00000010"
        step.parent.mkdir(parents=True)
        message = convert(folder, step, "--to", "titan", "--config", self.config, *self.heads)
        check("2 data ranks" in message, f"an import of our own export: {message}")
        equal(source, folder, step)
        self.train(other, "1x1", tail, "--allow", "training.dataset")
        mine = {n: line for n, line in harness.step_lines(run).items() if n > 10}
        check(harness.step_lines(other) == mine, "through DCP and back: other numbers")
        print("ours through DCP and back: ten steps with the same bits", flush=True)


def newer(work):
    """A step of torchtitan 0.3.0 goes on here, with its optimizer."""
    source, config, data, theirs = torchtitan030.prepare(work)
    run = work / "run030"
    step = run / "checkpoint" / "step-00000005"
    step.parent.mkdir(parents=True)
    without = convert(source, step, "--to", "titan", expect=13)
    check("model.n_heads" in without and "--skip 'optimizer.*'" in without, f"without the number of heads: {without}")
    said = convert(source, step, "--to", "titan", "--config", config)
    check("84 written" in said, f"three tensors a parameter: {said}")
    newer_diff(work, source, step)
    again = work / "again030"
    shutil.copytree(run, again)
    settings = {"job.threads_per_rank": 1, "training.dataset_path": data}
    for folder, ranks in ((run, 1), (again, 2)):
        here = {"job.dump_folder": folder, "parallelism.pipeline_parallel_degree": ranks}
        harness.train(config, ranks, {**settings, **here}, ("--allow", "training.dataset"))
        ours = losses(folder)
        check(sorted(ours) == sorted(theirs), f"torchtitan 0.3.0: steps {sorted(ours)} and {sorted(theirs)}")
        loss = max(abs(ours[n]["loss"] - theirs[n]["loss"]) for n in ours)
        check(loss <= 1e-5 and all(ours[n]["tokens"] == theirs[n]["tokens"] for n in ours), f"torchtitan 0.3.0: losses differ by {loss}: {ours} {theirs}")
        check(all(abs(ours[n]["lr"] - theirs[n]["lr"]) <= 1e-12 for n in ours), f"torchtitan 0.3.0: rates {ours} {theirs}")
    print(f"torchtitan 0.3.0's FSDP 2 continued here: losses within {loss:.1e}", flush=True)
    newer_back(work, source, step, config)


def newer_diff(work, source, step):
    """Its fused moments are compared by the number of heads that the other side says; where neither does, as the tensors that they are."""
    other, changed = work / "copy030", work / "changed030"
    shutil.copytree(source, other)
    state, fused = load_everything(source), "layers.1.attention.qkv_linear.wqkv.weight.exp_avg_sq"
    state[f"optimizer.state.{fused}"][3, 4] += 1
    dcp.save(state, checkpoint_id=changed, no_dist=True)
    for pair, code, says in (((source, step), 0, "equal  63 tensors"), ((step, source), 0, "equal  63 tensors"), ((source, other), 0, "equal  55 tensors"),
                             ((source, changed), 1, fused), ((changed, step), 1, "layers.1.attention.wq.weight.exp_avg_sq")):
        done = subprocess.run([harness.CKPT, "diff", *map(str, pair)], capture_output=True, text=True, timeout=300)
        check(done.returncode == code and says in done.stdout, f"diff {pair}: {done.returncode}, expected {code} and {says}: {done.stdout}{done.stderr}")
    for folder in (other, changed):
        shutil.rmtree(folder)


def newer_back(work, source, step, config):
    """What 0.3.0 wrote, back in its layout: the same keys, values and elements. It goes on from ours in torchtitan030/goes_on_there.py, by hand."""
    back = work / "back030"
    ranks = ("--config", config, "--set", "parallelism.data_parallel_shard_degree=2")
    said = convert(step, back, "--to", "dcp", "--names", "torchtitan-0.3", *ranks)
    check("llama3 of dim=16, n_layers=2, n_heads=4, n_kv_heads=2, hidden_dim=32, vocab_size=40, fuse_qkv=True" in said, f"the flavour: {said}")
    theirs, ours = ({key: value for key, value in load_everything(folder).items() if not key.startswith("dataloader.")} for folder in (source, back))
    check(ours.keys() == theirs.keys(), f"keys: {ours.keys() ^ theirs.keys()}")
    for key, value in theirs.items():
        same = torch.equal(value, ours[key]) if isinstance(value, torch.Tensor) else value == ours[key]
        check(same or key.endswith((".fused", ".foreach")), f"{key}: {ours[key]}, expected {value}")  # the kept run is `foreach`, the stock one `fused`
    again = work / "again030.titan"
    convert(back, again, "--to", "titan", *ranks)
    equal(step, again)
    alone = convert(step, work / "alone030", "--to", "dcp", "--names", "torchtitan-0.3", "--skip", "layers.0.attention.wk.weight", *ranks, expect=13)
    check("one tensor" in alone and "--skip 'optimizer.*'" in alone, f"without keys: {alone}")
    convert(step, work / "alone030", "--to", "dcp", "--names", "torchtitan-0.3", "--skip", "layers.0.attention.wk.weight", "--skip", "optimizer.*", *ranks)
    print(f"torchtitan 0.3.0's step 5 back in its layout: {len(ours)} keys equal", flush=True)
    newer_halves(work, config, ranks)


def newer_halves(work, config, ranks):
    """Its qwen3 has rows of heads in halves, and fuses as well."""
    run, heads, group, size = work / "run030q", 2, 2, 8
    qwen3 = {"model.qk_norm": "true", "model.head_dim": size, "model.tied_embeddings": "true", "model.rope_scaling": "none"}
    harness.train(config, 1, {"job.threads_per_rank": 1, "job.dump_folder": run, "training.dataset_path": torchtitan030.HERE / "tail.u16", "debug.stop_at_step": 1,
                              **qwen3}, expect=75)
    step, back, again = run / "checkpoint" / "step-00000001", work / "back030q", work / "again030q.titan"
    ranks = (*ranks, *(word for key in qwen3 for word in ("--set", f"{key}={qwen3[key]}")))
    said = convert(step, back, "--to", "dcp", "--names", "torchtitan-0.3", *ranks)
    check("qwen3 of dim=16" in said and "CosSinRoPE(dim=8" in said and "enable_weight_tying=True" in said, f"the flavour: {said}")
    theirs = load_everything(back)["optimizer.state.layers.1.attention.qkv_linear.wqkv.weight.exp_avg"].view(heads, group + 2, size, 16)
    for name, part, halves in (("wq", theirs[:, :group], True), ("wk", theirs[:, group], True), ("wv", theirs[:, group + 1], False)):
        ours = cat(step, f"layers.1.attention.{name}.weight.exp_avg")
        if halves:
            ours = ours.view(-1, size // 2, 2, 16).transpose(1, 2)
        check(torch.equal(part.reshape(-1, 16), ours.reshape(-1, 16)), f"moments of {name} lie elsewhere")
    convert(back, again, "--to", "titan", *ranks)
    said = subprocess.run([harness.CKPT, "diff", step, again], capture_output=True, text=True, timeout=300).stdout  # the position in the data is not there
    check("72 tensors equal, 0 different" in said, f"through its layout and back: {said}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tp", type=int, default=1)
    with tempfile.TemporaryDirectory() as folder:
        case = Case(pathlib.Path(folder), parser.parse_args().tp)
        case.forth()
        case.back()
        if case.tp == 1:
            newer(case.work)


if __name__ == "__main__":
    main()
