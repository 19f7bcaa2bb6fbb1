#!/usr/bin/env python3
"""transformers_qwen3.py: a Qwen3 of transformers trains here as it does under plain torch, with the same bits on every layout.

A random Qwen3ForCausalLM begins 50 steps by --init-from: on 2 x 2 ranks up to step 25, then on 3 x 1. Its checkpoint is that of a run
on one rank that was not interrupted, id by id, and its losses are those of transformers' model under torch.optim.AdamW. The export loads
in transformers, which computes the logits of the run. TITAN_BIN names the folder of the programs. Exit 1 with a message at the first
difference.
"""
import pathlib
import sys
import tempfile

import numpy as np
import torch
import transformers
from transformers import Qwen3Config, Qwen3ForCausalLM

import transformers_both_ways as both_ways
import transformers_logits as logits

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
import harness  # noqa: E402

STEPS, SWITCH, BATCH, LENGTH, VOCAB, PEAK, WARMUP = 50, 25, 12, 32, 256, 2e-3, 5
# The proportions of Qwen3-0.6B: heads are wider than hidden_size / heads, two query heads a key head, a tied head.
SHAPE = dict(hidden_size=64, intermediate_size=192, num_hidden_layers=4, num_attention_heads=4, num_key_value_heads=2, head_dim=32, vocab_size=VOCAB,
             max_position_embeddings=128, tie_word_embeddings=True)
KEYS = {"model.name": "qwen3", "job.threads_per_rank": 1, "training.dataset": "tokens", "training.shuffle": False, "training.sample_stride": LENGTH + 1, "training.seq_len": LENGTH,
        "training.global_batch_size": BATCH, "training.local_batch_size": 1, "training.steps": STEPS, "training.max_norm": 1000.0, "training.mixed_precision_param": "float32",
        "optimizer.lr": PEAK, "lr_scheduler.warmup_steps": WARMUP, "lr_scheduler.min_lr_factor": 0.1, "checkpoint.interval": SWITCH, "debug.seed": 7, "activation_checkpoint.mode": "full"}


def rate(n):
    return (n + 1) / WARMUP if n < WARMUP else 0.1 + 0.9 * (1 - (n - WARMUP) / (STEPS - WARMUP))


def theirs(model, rows):
    """The losses of plain torch."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=PEAK, betas=(0.9, 0.95), eps=1e-8, weight_decay=0.1)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, rate)
    losses = []
    for batch in torch.from_numpy(rows.astype(np.int64)):
        loss = torch.nn.functional.cross_entropy(model(batch[:, :-1]).logits.flatten(0, 1), batch[:, 1:].flatten())
        loss.backward()
        optimizer.step()
        scheduler.step()
        optimizer.zero_grad()
        losses.append(loss.item())
    return losses


def ours(work, name, stops):
    """Trains in work/name: the layouts of `stops`, each to its step. Returns the id of the last step, and the losses."""
    run = work / name
    for dp, pp, last in stops:
        harness.train("", dp * pp, KEYS | {"job.dump_folder": run, "training.dataset_path": work / "rows.u16", "parallelism.pipeline_parallel_degree": pp}
                      | ({} if last == STEPS else {"debug.stop_at_step": last}), ("--init-from", str(work / "source")), expect=0 if last == STEPS else 75)
    return harness.checkpoint_id(run, STEPS), [float(line[1]) for _, line in sorted(harness.step_lines(run).items())]


def main():
    torch.set_num_threads(1)
    transformers.utils.logging.disable_progress_bar()
    torch.manual_seed(3)
    model = Qwen3ForCausalLM(Qwen3Config(**SHAPE, **both_ways.rope(1e6))).train()
    for parameter in model.parameters():
        parameter.data.add_(torch.randn_like(parameter) * 0.05)
    rows = np.random.default_rng(5).integers(0, 40, (STEPS, BATCH, LENGTH + 1)).astype("<u2")
    rows[..., 1::2] = (rows[..., :-1:2] * 5 + 17) % VOCAB  # something to learn
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        rows.tofile(work / "rows.u16")
        model.save_pretrained(work / "source")
        whole, again = ours(work, "whole", [(1, 1, STEPS)]), ours(work, "parts", [(2, 2, SWITCH), (3, 1, STEPS)])
        if whole != again:
            both_ways.fail(f"on 2 x 2 and 3 x 1 ranks: {again}\non one rank: {whole}")
        expected = theirs(model, rows)
        gap = max(abs(a - b) for a, b in zip(whole[1], expected, strict=True))
        if gap > 1e-5 or expected[-1] > expected[0] - 0.5:
            both_ways.fail(f"losses differ by {gap:.1e}: {whole[1]}\nunder plain torch: {expected}")
        both_ways.titan_ckpt("convert", f"{work}/parts@latest", work / "export", "--to", "hf")
        tokens = torch.from_numpy(np.random.default_rng(3).integers(0, VOCAB, (2, 100)))
        np.save(work / "eval.npy", tokens.numpy())
        apart = logits.compare("the run's export", logits.ours(f"{work}/parts@latest", work / "eval.npy", work), logits.theirs(work / "export", tokens))
    print(f"transformers {transformers.__version__}: {STEPS} steps from {expected[0]:.3f} to {expected[-1]:.3f}, losses within {gap:.1e}, logits of the export within {apart:.1e}")


if __name__ == "__main__":
    try:
        main()
    except harness.Failure as failure:
        sys.exit(f"error: {failure}")
