#!/usr/bin/env python3
"""torchtitan_logits.py: a torchtitan llama3 flavour computes the same function here, including RoPE scaling (logits within 1e-5, CPU, float32).

Forth: random weights in torchtitan's own model, saved by torch.distributed.checkpoint, converted with a TOML that only names `flavor`, and
evaluated by `titan-train eval`. Back: `titan-train run` with that TOML, converted to DCP and loaded by torchtitan's model.
Both times a conversion or run with rope_scaling = "none" gives visibly other logits, so that the comparison could fail.
All flavours: sizes and scaling that `titan-train plan` shows are torchtitan's. The same of its qwen3: norms of heads, a tied head, rows of
heads in halves.
Needs the environment .deps/torchtitan (scripts/bootstrap --tests). TITAN_BIN names the folder of the programs.
"""
import json
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
import torchtitan_cpu  # noqa: E402
from dcp_torch import check  # noqa: E402
from torchtitan.models.llama3.model.model import Transformer  # noqa: E402
from torchtitan.models.qwen3 import Qwen3Model, qwen3_args  # noqa: E402

TOLERANCE, VISIBLE = 1e-5, 1e-2
LENGTH = 512
FLAVORS = ("debugmodel", "8B", "70B", "405B")
QWEN3_FLAVORS = ("debugmodel", "0.6B", "1.7B", "4B", "8B", "14B", "32B")
CONFIG = """
[model]
name = "llama3"
flavor = "debugmodel"
[training]
dataset = "tokens"
local_batch_size = 1
global_batch_size = 2
seq_len = 512
steps = 3
mixed_precision_param = "float32"
[optimizer]
lr = 0.02
[lr_scheduler]
warmup_steps = 0
[job]
threads_per_rank = 1
[debug]
seed = 3
"""


def call(*words):
    done = subprocess.run(list(map(str, words)), capture_output=True, text=True, timeout=300)
    check(done.returncode == 0, f"{words}: exit {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def ours(checkpoint, rows, work):
    call(harness.TRAIN, "eval", checkpoint, "--tokens", rows, "--logits", work / "logits.npy")
    return torch.from_numpy(numpy.load(work / "logits.npy"))


def theirs(model, tokens):
    with torch.no_grad():
        return model(tokens)


def new_model():
    model = Transformer(torchtitan_cpu.llama3.llama3_args["debugmodel"])
    with torch.no_grad():
        model.init_weights()
    return model.eval()


def compare(what, expected, found, plain):
    gap, off = (expected - found).abs().max().item(), (expected - plain).abs().max().item()
    check(expected.std() > 0.05, f"{what}: the logits hardly differ from each other")
    check(gap <= TOLERANCE, f"{what}: logits differ by up to {gap:.2g}; {TOLERANCE} is allowed")
    check(off >= VISIBLE, f"{what}: RoPE that is not scaled differs by {off:.2g} only: the comparison shows nothing")
    print(f"{what}: logits within {gap:.1e} of torchtitan's; not scaled they are off by {off:.1e}", flush=True)


def forth(config, tokens, rows, work):
    torch.manual_seed(7)
    model = new_model()
    for name, parameter in model.named_parameters():
        if "norm" not in name:
            torch.nn.init.normal_(parameter, std=0.05)
    dcp.save(model.state_dict(), checkpoint_id=work / "step-10")
    call(harness.CKPT, "convert", work / "step-10", work / "scaled", "--config", config)
    call(harness.CKPT, "convert", work / "step-10", work / "plain", "--config", config, "--set", "model.rope_scaling=none")
    compare("torchtitan's weights", theirs(model, tokens), ours(work / "scaled", rows, work), ours(work / "plain", rows, work))


def back(config, tokens, rows, work):
    data = work / "data.u16"
    harness.write_tokens(data, 20000, 2048)
    logits = {}
    for name, extra in (("scaled", {}), ("plain", {"model.rope_scaling": "none"})):
        run = work / f"run-{name}"
        log = harness.train(config, 2, {"job.dump_folder": run, "training.dataset_path": data, **extra})[1]
        check(("RoPE: theta 500000.0, " + ("not scaled" if extra else "scaled by llama3:8:1:4:8192")) in log, f"the banner of {name}: {log}")
        logits[name] = ours(f"{run}@latest", rows, work)
    call(harness.CKPT, "convert", f"{work / 'run-scaled'}@latest", work / "dcp", "--to", "dcp", "--config", config)
    model = new_model()
    state = model.state_dict()
    dcp.load(state, checkpoint_id=work / "dcp")
    model.load_state_dict(state)
    # The run without scaling has other weights, too: it is only to be seen that the key does something from the first step on.
    compare("a run with torchtitan's TOML", theirs(model, tokens), logits["scaled"], logits["plain"])


def flavors(config, work):
    data = work / "few.u16"
    harness.write_tokens(data, 2000, 256)
    for name in FLAVORS:
        args = torchtitan_cpu.llama3.llama3_args[name]
        flags = harness.flags({"model.flavor": name, "training.dataset_path": data, "job.dump_folder": work / "new", "checkpoint.enable": False})
        model = json.loads(call(harness.TRAIN, "plan", config, "--json", *flags))["model"]
        scaling = args.rope_scaling_args
        text = f"llama3:{scaling.scaling_factor:g}:{scaling.low_freq_factor:g}:{scaling.high_freq_factor:g}:{scaling.original_max_position_embeddings}"
        expected = {"dim": args.dim, "n_layers": args.n_layers, "n_heads": args.n_heads, "n_kv_heads": args.n_kv_heads or args.n_heads,
                    "vocab_size": args.vocab_size, "rope_theta": args.rope_theta, "rope_scaling": text}
        found = {key: model.get(key) for key in expected}
        check(found == expected, f"flavour {name}: {found}, torchtitan's {expected}")
    print(f"flavours {', '.join(FLAVORS)}: torchtitan's sizes and scaling", flush=True)


def qwen3_flavors(config, work):
    data = work / "few.u16"
    for name in QWEN3_FLAVORS:
        args = qwen3_args[name]
        flags = harness.flags({"model.flavor": name, "training.dataset_path": data, "job.dump_folder": work / "new", "checkpoint.enable": False})
        model = json.loads(call(harness.TRAIN, "plan", config, "--json", *flags))["model"]
        expected = {"dim": args.dim, "n_layers": args.n_layers, "n_heads": args.n_heads, "n_kv_heads": args.n_kv_heads, "head_dim": args.head_dim, "ffn_dim": args.hidden_dim,
                    "vocab_size": args.vocab_size, "rope_theta": args.rope_theta, "rope_scaling": "none", "tied_embeddings": args.enable_weight_tying, "qk_norm": args.qk_norm}
        found = {key: model.get(key) for key in expected}
        check(found == expected, f"qwen3 {name}: {found}, torchtitan's {expected}")
    print(f"qwen3's flavours {', '.join(QWEN3_FLAVORS)}: torchtitan's sizes", flush=True)


def qwen3(config, tokens, rows, work):
    work.mkdir()
    torch.manual_seed(7)
    model = Qwen3Model(qwen3_args["debugmodel"]).eval()
    with torch.no_grad():
        model.init_weights()
    for name, parameter in model.named_parameters():
        torch.nn.init.normal_(parameter, mean=1 if "norm" in name else 0, std=0.05)
    dcp.save(model.state_dict(), checkpoint_id=work / "step-10")
    call(harness.CKPT, "convert", work / "step-10", work / "here", "--config", config)
    gaps = [(theirs(model, tokens) - ours(work / "here", rows, work)).abs().max().item()]
    data = work / "data.u16"
    harness.write_tokens(data, 20000, 2048)
    run = work / "run"
    harness.train(config, 2, {"job.dump_folder": run, "training.dataset_path": data})
    for source in (f"{run}@latest", work / "here"):
        call(harness.CKPT, "convert", source, work / "dcp", "--to", "dcp", "--config", config)
        state = model.state_dict()
        dcp.load(state, checkpoint_id=work / "dcp")
        model.load_state_dict(state)
        shutil.rmtree(work / "dcp")
        gaps.append((theirs(model, tokens) - ours(source, rows, work)).abs().max().item())
    check(max(gaps) <= TOLERANCE, f"qwen3: logits differ by {gaps}; {TOLERANCE} is allowed")
    print(f"qwen3, there and back: logits within {max(gaps):.1e} of torchtitan's", flush=True)


def main():
    torch.set_num_threads(1)
    tokens = torch.from_numpy(numpy.random.default_rng(3).integers(0, 2048, (2, LENGTH)))
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        config, rows = work / "torchtitan.toml", work / "rows.npy"
        config.write_text(CONFIG)
        numpy.save(rows, tokens.numpy())
        flavors(config, work)
        forth(config, tokens, rows, work)
        back(config, tokens, rows, work)
        config.write_text(CONFIG.replace("llama3", "qwen3").replace("steps = 3", "steps = 1").replace("seq_len = 512", "seq_len = 64"))
        qwen3_flavors(config, work)
        short = tokens[:, :128]
        numpy.save(rows, short.numpy())
        qwen3(config, short, rows, work / "qwen3")


if __name__ == "__main__":
    main()
