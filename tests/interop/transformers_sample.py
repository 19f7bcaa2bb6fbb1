#!/usr/bin/env python3
"""transformers_sample.py: `titan-train sample` generates what transformers generates, with the transformers version that runs this.

Greedy, in float32, 64 tokens: folders that transformers saves are sampled as they lie there, with the KV cache and without it, and
give the ids of model.generate(). Random models sometimes have nearly equal logits, so the first seed is used whose 64 choices all
lead by MARGIN; the smallest lead is printed. A model that ends its text ends it here at the same token.
Then a run on text is exported: pipeline("text-generation") works on the folder as it is, writes the text that `sample` writes for the
run, and its tokenizer maps every text to its bytes and back. So does it for a run on ids that `titan-ckpt tokenize` made. TITAN_BIN names
the folder of the programs.
"""
import json
import pathlib
import subprocess
import sys
import tempfile

import torch
import transformers
from transformers import AutoModelForCausalLM, AutoTokenizer, LlamaConfig, LlamaForCausalLM, MixtralConfig, MixtralForCausalLM, Qwen2Config, Qwen2ForCausalLM, Qwen3Config, Qwen3ForCausalLM, pipeline

import transformers_both_ways as both_ways
import transformers_fine_tuned as fine_tuned

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
import harness  # noqa: E402

TOKENS, PROMPT = 64, 24  # together more than 64, from which LLAMA3 scales
MARGIN = 2e-3           # logits differ by 1e-5 at most (transformers_logits.py)
NO_END = dict(eos_token_id=None, bos_token_id=None, pad_token_id=None)
CASES = {
    "llama, grouped heads, llama3 scaling": (LlamaForCausalLM, LlamaConfig(**both_ways.SMALL, **both_ways.rope(5e5, both_ways.LLAMA3), **NO_END)),
    "llama, tied": (LlamaForCausalLM, LlamaConfig(**both_ways.SMALL, **both_ways.rope(1e4), tie_word_embeddings=True, **NO_END)),
    "qwen2, biases of q, k and v": (Qwen2ForCausalLM, Qwen2Config(**both_ways.SMALL, **both_ways.rope(1e6), **NO_END)),
    "mixtral, window of 40": (MixtralForCausalLM, MixtralConfig(**both_ways.SMALL, **both_ways.rope(1e4), num_local_experts=4, num_experts_per_tok=2, sliding_window=40, **NO_END)),
    "qwen3, norms of heads, yarn": (Qwen3ForCausalLM, Qwen3Config(**both_ways.SMALL, **both_ways.rope(1e6, both_ways.SCALED["yarn"]), head_dim=14, **NO_END)),
}
TEXTS = ["the titan", "", " two  spaces\n\ttab", "\u00e9\u20ac\U0001f600 \u4e2d\u6587", "\x00\x7f\u00ad\u00ff"]


def sample(checkpoint, *flags):
    done = subprocess.run([harness.TRAIN, "sample", str(checkpoint), "--threads", "1", "--json", *flags], capture_output=True, text=True)
    if done.returncode != 0:
        both_ways.fail(f"titan-train sample {checkpoint} {' '.join(flags)}: exit {done.returncode}\n{done.stderr}")
    return json.loads(done.stdout)


def sample_ids(checkpoint, prompt, *flags):
    return sample(checkpoint, "--prompt-ids", ",".join(map(str, prompt)), "--max-new-tokens", str(TOKENS), *flags)


def decided_model(case):
    """A model, a prompt, the ids that transformers writes, and the smallest lead of a choice over the next best."""
    cls, config = CASES[case]
    for seed in range(40):
        torch.manual_seed(seed)
        model = cls(config).eval()
        for parameter in model.parameters():
            parameter.data.normal_(std=0.3)
        prompt = torch.randint(0, config.vocab_size, (1, PROMPT))
        # Weights that are drawn run into short circles: ids are compared, not their beauty.
        out = model.generate(prompt, attention_mask=torch.ones_like(prompt), do_sample=False, max_new_tokens=TOKENS, output_logits=True, return_dict_in_generate=True)
        best = torch.stack(out.logits)[:, 0].topk(2).values
        lead = (best[:, 0] - best[:, 1]).min().item()
        ids = out.sequences[0, PROMPT:].tolist()
        if lead >= MARGIN and len(set(ids)) >= 8:
            return model, prompt[0].tolist(), ids, lead, seed
    both_ways.fail(f"{case}: no seed gives a model that is decided")


def greedy(case, work):
    model, prompt, ids, lead, seed = decided_model(case)
    folder = work / "model"
    model.save_pretrained(folder)
    for flags in ([], ["--no-kv-cache"]):
        found = sample_ids(folder, prompt, *flags)
        if found["ids"] != ids or found["end"] != "max_new_tokens":
            both_ways.fail(f"{case} {flags}: {found['end']}, ids\n{found['ids']}, transformers writes\n{ids}")
    both_ways.titan_ckpt("convert", folder, work / "titan")
    if sample_ids(work / "titan", prompt)["ids"] != ids:
        both_ways.fail(f"{case}: other ids of the converted checkpoint")
    # The model ends the text with a token that it writes late.
    end = next(token for at, token in enumerate(ids) if at >= 5 and ids.index(token) == at)
    model.generation_config.eos_token_id = [101 - 1 if end != 100 else 99, end]
    model.save_pretrained(folder)
    stop = min(ids.index(token) for token in model.generation_config.eos_token_id if token in ids)
    found = sample_ids(folder, prompt)
    if found["ids"] != ids[:stop] or found["end"] != "end_token":
        both_ways.fail(f"{case}: {found['end']} after {found['ids']}, expected the end after {ids[:stop]}")
    if sample_ids(folder, prompt, "--ignore-end")["ids"] != ids:
        both_ways.fail(f"{case}: --ignore-end has ended")
    return f"{case}: {TOKENS} ids equal with and without KV cache (smallest lead {lead:.4f}, seed {seed})"


def byte_model(work):
    run, export = work / "run", work / "export"
    harness.write_text(work / "text", 20000)
    harness.train("", 1, {"job.dump_folder": run, "job.threads_per_rank": 1, "training.dataset_path": work / "text", "training.seq_len": 96, "training.local_batch_size": 4,
                          "training.steps": 40, "training.mixed_precision_param": "float32", "optimizer.lr": 0.01, "lr_scheduler.warmup_steps": 2, "debug.seed": 5,
                          "model.dim": 48, "model.n_layers": 2, "model.n_heads": 4, "model.ffn_dim": 96, "model.vocab_size": 256})
    both_ways.titan_ckpt("convert", f"{run}@latest", export, "--to", "hf")
    tokenizer = AutoTokenizer.from_pretrained(export)
    for text in TEXTS:
        ids = tokenizer(text).input_ids
        if ids != list(text.encode()) or tokenizer.decode(ids) != text:
            both_ways.fail(f"the tokenizer makes {ids} of {text!r}, and {tokenizer.decode(ids)!r} of that")
    if len(tokenizer) != 256 or tokenizer.model_max_length != 96:
        both_ways.fail(f"the tokenizer has {len(tokenizer)} entries and takes {tokenizer.model_max_length} tokens")
    prompt = "the quick "
    theirs = pipeline("text-generation", model=str(export), torch_dtype=torch.float32)(prompt, do_sample=False, max_new_tokens=60)[0]["generated_text"]
    resaved, back = work / "resaved", work / "back"
    AutoModelForCausalLM.from_pretrained(export).save_pretrained(resaved)
    tokenizer.save_pretrained(resaved)
    both_ways.titan_ckpt("convert", resaved, back)
    for checkpoint in (f"{run}@latest", export, resaved, back):
        ours = sample(checkpoint, "--prompt", prompt, "--max-new-tokens", "60")
        if ours["prompt"] + ours["text"] != theirs:
            both_ways.fail(f"sample of {checkpoint}: {ours['text']!r}, the pipeline writes {theirs!r}")
    return f"pipeline on the export of a run on text: {theirs!r}"


def token_model(work):
    """Text, ids of it, a run on these, an export: the tokenizer comes along, and the pipeline writes what `sample` writes. Both end where documents of the
    data do, at a token that the tokenizer has for something else."""
    run, export, words, data = work / "run", work / "export", work / "words", work / "data"
    words.mkdir()
    tokenizer = fine_tuned.make_tokenizer(words)
    (work / "text").write_text("the quick leaf saves every step\n" * 600)
    both_ways.titan_ckpt("tokenize", work / "text", "-o", data, "--tokenizer", words, "--split", "\\n", "--eos", "<pad>")
    harness.train("", 1, {"job.dump_folder": run, "job.threads_per_rank": 1, "training.dataset": "tokens", "training.dataset_path": data, "training.seq_len": 48,
                          "training.local_batch_size": 4, "training.steps": 40, "training.mixed_precision_param": "float32", "optimizer.lr": 0.01, "lr_scheduler.warmup_steps": 2,
                          "debug.seed": 5, "model.dim": 48, "model.n_layers": 2, "model.n_heads": 4, "model.ffn_dim": 96, "model.vocab_size": len(tokenizer)})
    both_ways.titan_ckpt("convert", f"{run}@latest", export, "--to", "hf")
    prompt, end = "the quick", tokenizer.pad_token_id
    theirs = pipeline("text-generation", model=str(export), torch_dtype=torch.float32)(prompt, do_sample=False, max_new_tokens=40)[0]["generated_text"]
    ids = fine_tuned.generate(export, tokenizer(prompt, return_tensors="pt").input_ids)
    configured = [json.loads((export / name).read_text())["eos_token_id"] for name in ("config.json", "generation_config.json")]
    if ids.count(end) != 1 or ids[-1] != end or configured != [end, end]:
        both_ways.fail(f"generate() does not end at {end}, which ends documents: {ids}, the export says {configured}")
    by_ids = sample_ids(f"{run}@latest", tokenizer(prompt).input_ids)
    if by_ids["end"] != "end_token" or by_ids["prompt_ids"] + by_ids["ids"] != ids[:-1]:
        both_ways.fail(f"sample of ids: {by_ids['end']} after {by_ids['ids']}, generate() writes {ids}")
    for checkpoint, flags in ((f"{run}@latest", []), (export, []), (export, ["--tokenizer", str(words)])):
        ours = sample(checkpoint, "--prompt", prompt, "--max-new-tokens", "40", *flags)
        if ours["prompt_ids"] != tokenizer(prompt).input_ids or ours["prompt"] + ours["text"] != theirs or ours["end"] != "end_token":
            both_ways.fail(f"sample of {checkpoint}: {ours['prompt_ids']}, {ours['text']!r}, {ours['end']}, the pipeline writes {theirs!r}")
    return f"pipeline on the export of a run on token ids: {theirs!r}"


def main():
    torch.set_num_threads(1)
    transformers.utils.logging.disable_progress_bar()
    transformers.utils.logging.set_verbosity_error()
    for check, arguments in [(greedy, (case,)) for case in CASES] + [(byte_model, ()), (token_model, ())]:
        with tempfile.TemporaryDirectory() as folder, torch.no_grad():
            print(check(*arguments, pathlib.Path(folder)), flush=True)
    print(f"transformers {transformers.__version__}: sample writes the same")


if __name__ == "__main__":
    try:
        main()
    except harness.Failure as failure:
        sys.exit(f"error: {failure}")
