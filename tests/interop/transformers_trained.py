#!/usr/bin/env python3
"""transformers_trained.py: models of transformers train here as they do under plain torch, with the same bits on every layout.

A random Qwen3ForCausalLM begins 50 steps by --init-from: on 2 x 2 ranks up to step 25, then on 3 x 1. Its checkpoint is that of a run
on one rank that was not interrupted, id by id, and its losses are those of transformers' model under torch.optim.AdamW. The export loads
in transformers, which computes the logits of the run. OLMo 2, a Mistral with a window, a Mixtral with the loss that balances its experts
and a Qwen3-MoE train so on 2 x 2 ranks alone. Mixtral and Qwen3-MoE also resume from a folder of a trainer, with their optimizer. TITAN_BIN names the
folder of the programs. Exit 1 with a message at the first difference.
"""
import json
import pathlib
import sys
import tempfile

import numpy as np
import torch
import transformers
from transformers import MistralConfig, MistralForCausalLM, MixtralConfig, MixtralForCausalLM, Olmo2Config, Olmo2ForCausalLM, Qwen3Config, Qwen3ForCausalLM
from transformers import Qwen3MoeConfig, Qwen3MoeForCausalLM
from transformers.models.mixtral.modeling_mixtral import load_balancing_loss_func

import transformers_both_ways as both_ways
import transformers_logits as logits

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
import harness  # noqa: E402

STEPS, SWITCH, BATCH, LENGTH, VOCAB, PEAK, WARMUP = 50, 25, 12, 32, 256, 2e-3, 5
# The proportions of Qwen3-0.6B: heads are wider than hidden_size / heads, two query heads a key head, a tied head.
SHAPE = dict(hidden_size=64, intermediate_size=192, num_hidden_layers=4, num_attention_heads=4, num_key_value_heads=2, head_dim=32, vocab_size=VOCAB,
             max_position_embeddings=128, tie_word_embeddings=True)
PLAIN = dict(hidden_size=64, intermediate_size=96, num_hidden_layers=3, num_attention_heads=4, num_key_value_heads=2, vocab_size=VOCAB, max_position_embeddings=128)
BALANCE = 0.02
# name: (class, configuration, keys, layouts and where they stop)
MODELS = {
    "qwen3": (Qwen3ForCausalLM, Qwen3Config(**SHAPE, **both_ways.rope(1e6)), {"model.name": "qwen3", "activation_checkpoint.mode": "full"}, [(2, 2, SWITCH), (3, 1, STEPS)]),
    "olmo2": (Olmo2ForCausalLM, Olmo2Config(**PLAIN, **both_ways.rope(1e4), pad_token_id=None, eos_token_id=None), {"activation_checkpoint.mode": "selective"}, [(2, 2, STEPS)]),
    "mistral, window": (MistralForCausalLM, MistralConfig(**PLAIN, **both_ways.rope(1e4), sliding_window=10), {}, [(2, 2, STEPS)]),
    "mixtral": (MixtralForCausalLM, MixtralConfig(**PLAIN, **both_ways.rope(1e4), num_local_experts=4, num_experts_per_tok=2),
                {"training.local_batch_size": 4, "training.router_aux_loss": BALANCE, "activation_checkpoint.mode": "selective"}, [(2, 2, STEPS)]),
    "qwen3-moe": (Qwen3MoeForCausalLM, Qwen3MoeConfig(**PLAIN, **both_ways.rope(1e6), head_dim=32, num_experts=6, num_experts_per_tok=2, moe_intermediate_size=48, norm_topk_prob=True),
                  {"training.local_batch_size": 4, "training.router_aux_loss": BALANCE}, [(2, 2, STEPS)]),
}
SAVED, LAST = 3, 6
EXPERTS = PLAIN | dict(num_hidden_layers=2, num_experts_per_tok=2, head_dim=16)
GOES_ON = {
    "mixtral": (MixtralForCausalLM, MixtralConfig(**EXPERTS, **both_ways.rope(1e4), num_local_experts=4, rms_norm_eps=1e-5), "ffn_dim = 96\nqk_norm = false\nroute_norm = true\n"),
    "qwen3_moe": (Qwen3MoeForCausalLM, Qwen3MoeConfig(**EXPERTS, **both_ways.rope(1e4), num_experts=4, moe_intermediate_size=48, rms_norm_eps=1e-5, norm_topk_prob=False),
                  "ffn_dim = 48\nqk_norm = true\nroute_norm = false\n"),
}
GOES_ON_TOML = """[model]
dim = 64
n_layers = 2
n_heads = 4
n_kv_heads = 2
head_dim = 16
n_experts = 4
experts_per_token = 2
vocab_size = 256
norm_eps = 1e-5
rope_theta = 10000.0
rope_scaling = "none"
{more}[optimizer]
lr = 2e-3
[lr_scheduler]
warmup_steps = 1
min_lr_factor = 1.0
[training]
dataset = "tokens"
dataset_path = "{work}/rows.u16"
shuffle = false
sample_stride = 33
seq_len = 32
global_batch_size = 12
local_batch_size = 12
steps = 6
max_norm = 1000.0
mixed_precision_param = "float32"
router_aux_loss = 0.0
"""
KEYS = {"job.threads_per_rank": 1, "training.dataset": "tokens", "training.shuffle": False, "training.sample_stride": LENGTH + 1, "training.seq_len": LENGTH,
        "training.global_batch_size": BATCH, "training.local_batch_size": 1, "training.steps": STEPS, "training.max_norm": 1000.0, "training.mixed_precision_param": "float32",
        "optimizer.lr": PEAK, "lr_scheduler.warmup_steps": WARMUP, "lr_scheduler.min_lr_factor": 0.1, "checkpoint.interval": SWITCH, "debug.seed": 7}


def rate(n):
    return (n + 1) / WARMUP if n < WARMUP else 0.1 + 0.9 * (1 - (n - WARMUP) / (STEPS - WARMUP))


def experts_of(model):
    return getattr(model.config, "num_local_experts", None) or getattr(model.config, "num_experts", 0)


def balance_of(model, tokens):
    """The logits, and the mean over layers of transformers' balance loss of each."""
    out = model(tokens, output_router_logits=True)
    experts, taken = experts_of(model), model.config.num_experts_per_tok
    return out.logits, torch.stack([load_balancing_loss_func((gate,), experts, taken) for gate in out.router_logits]).mean()


def theirs(model, rows, micro):
    """The losses of plain torch, and the balance losses of experts: of each micro-batch, and their mean."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=PEAK, betas=(0.9, 0.95), eps=1e-8, weight_decay=0.1)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, rate)
    losses, balances = [], []
    for batch in torch.from_numpy(rows.astype(np.int64)):
        sums = [0.0, 0.0]
        parts = batch.split(micro if experts_of(model) else len(batch))
        for part in parts:
            logits, balance = balance_of(model, part[:, :-1]) if len(parts) > 1 else (model(part[:, :-1]).logits, torch.zeros(()))
            loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), part[:, 1:].flatten())
            ((loss + BALANCE * balance) / len(parts)).backward()
            sums = [sums[0] + loss.item() / len(parts), sums[1] + balance.item() / len(parts)]
        optimizer.step()
        scheduler.step()
        optimizer.zero_grad()
        losses.append(sums[0])
        balances.append(sums[1])
    return losses, balances


def ours(work, name, stops, keys):
    """Trains in work/name: the layouts of `stops`, each to its step. Returns the id of the last step, and the losses."""
    run = work / name
    for dp, pp, last in stops:
        harness.train("", dp * pp, KEYS | keys | {"job.dump_folder": run, "training.dataset_path": work / "rows.u16", "parallelism.pipeline_parallel_degree": pp}
                      | ({} if last == STEPS else {"debug.stop_at_step": last}), ("--init-from", str(work / "source")), expect=0 if last == STEPS else 75)
    return harness.checkpoint_id(run, STEPS), [float(line[1]) for _, line in sorted(harness.step_lines(run).items())]


def check(name, rows, work):
    cls, config, keys, stops = MODELS[name]
    torch.manual_seed(3)
    model = cls(config).train()
    for parameter in model.parameters():
        parameter.data.add_(torch.randn_like(parameter) * 0.05)
    rows.tofile(work / "rows.u16")
    model.save_pretrained(work / "source")
    parts = ours(work, "parts", stops, keys)
    if len(stops) > 1:
        whole = ours(work, "whole", [(1, 1, STEPS)], keys)
        if whole != parts:
            both_ways.fail(f"{name}: on {stops}: {parts}\non one rank: {whole}")
    expected, balances = theirs(model, rows, keys.get("training.local_batch_size", KEYS["training.local_batch_size"]))
    gap = max(abs(a - b) for a, b in zip(parts[1], expected, strict=True))
    if gap > 1e-5 or expected[-1] > expected[0] - 0.5:
        both_ways.fail(f"{name}: losses differ by {gap:.1e}: {parts[1]}\nunder plain torch: {expected}")
    logged = [line.get("router_aux_loss", 0.0) for line in map(json.loads, (work / "parts/metrics.jsonl").read_text().splitlines()) if "loss" in line and "event" not in line]
    if max(abs(a - b) for a, b in zip(logged, balances, strict=True)) > 1e-5:
        both_ways.fail(f"{name}: balance losses {logged}\nunder plain torch: {balances}")
    both_ways.titan_ckpt("convert", f"{work}/parts@latest", work / "export", "--to", "hf")
    tokens = torch.from_numpy(np.random.default_rng(3).integers(0, VOCAB, (2, 100)))
    np.save(work / "eval.npy", tokens.numpy())
    apart = logits.compare(f"{name}: the run's export", logits.ours(f"{work}/parts@latest", work / "eval.npy", work), logits.theirs(work / "export", tokens))
    print(f"{name}: {STEPS} steps from {expected[0]:.3f} to {expected[-1]:.3f}, losses within {gap:.1e}, logits of the export within {apart:.1e}", flush=True)


def goes_on(name, rows, work):
    """A trainer's folder of a model of experts, whose optimizer has all of a layer in two tensors: the next steps here, with the losses of transformers."""
    cls, config, more = GOES_ON[name]
    torch.manual_seed(4)
    model, source = cls(config).train(), work / "checkpoint-3"
    optimizer = torch.optim.AdamW(model.parameters(), lr=PEAK, betas=(0.9, 0.95), eps=1e-8, weight_decay=0.1)
    expected = {}
    for step, batch in enumerate(torch.from_numpy(rows[:LAST].astype(np.int64)), 1):
        loss = torch.nn.functional.cross_entropy(model(batch[:, :-1]).logits.flatten(0, 1), batch[:, 1:].flatten())
        expected[step] = loss.item()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if step == SAVED:
            model.save_pretrained(source)
            torch.save(optimizer.state_dict(), source / "optimizer.pt")
            (source / "trainer_state.json").write_text(json.dumps({"global_step": SAVED}))
    rows[SAVED:LAST].tofile(work / "rows.u16")
    (work / "run.toml").write_text(GOES_ON_TOML.format(work=work, more=more))
    step = work / "run" / "checkpoint" / f"step-{SAVED:08}"
    step.parent.mkdir(parents=True)
    both_ways.titan_ckpt("convert", source, step, "--to", "titan", "--config", work / "run.toml")
    harness.train(work / "run.toml", 1, {"job.dump_folder": work / "run", "job.threads_per_rank": 1}, ("--allow", "training.dataset"))
    gap = max(abs(float(line[1]) - expected[n]) for n, line in harness.step_lines(work / "run").items() if n > SAVED)
    if gap > 1e-5:
        both_ways.fail(f"{name}: losses of what goes on differ by {gap:.1e}, expected {expected}")
    print(f"{name}: goes on from a trainer's folder, losses within {gap:.1e}", flush=True)


def main():
    torch.set_num_threads(1)
    transformers.utils.logging.disable_progress_bar()
    rows = np.random.default_rng(5).integers(0, 40, (STEPS, BATCH, LENGTH + 1)).astype("<u2")
    rows[..., 1::2] = (rows[..., :-1:2] * 5 + 17) % VOCAB  # something to learn
    for name in MODELS:
        with tempfile.TemporaryDirectory() as folder:
            check(name, rows, pathlib.Path(folder))
    for name in GOES_ON:
        with tempfile.TemporaryDirectory() as folder:
            goes_on(name, rows, pathlib.Path(folder))
    print(f"transformers {transformers.__version__}: {len(MODELS)} models")


if __name__ == "__main__":
    try:
        main()
    except harness.Failure as failure:
        sys.exit(f"error: {failure}")
