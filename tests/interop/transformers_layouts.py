#!/usr/bin/env python3
"""transformers_layouts.py: a model trained by transformers has the same logits here from every naming scheme, and after every conversion.

A small Llama, a Qwen2 with biases and a tied head, and a Mistral, the latter two with heads of another size than dim / heads, are trained for three
steps with AdamW. Each is then written as a Hugging Face folder and, by torch.distributed.checkpoint, with Hugging Face's names behind the prefixes of
several programs, optimizer included; Mistral in its own layout, too. Each of these, and checkpoints and DCP directories made from them, is converted
to each format: `titan-train eval` finds transformers' logits (1e-5) every time, and Adam's moments follow their weights. A run that begins from such
a directory begins with these logits, and hand-written rules that do not say how rows lie are refused.
TITAN_BIN names the folder of the programs. Exit 1 with a message at the first difference.
"""
import json
import pathlib
import subprocess
import sys
import tempfile
import warnings

import numpy as np
import torch
import torch.distributed.checkpoint as dcp
import transformers
from safetensors.torch import save_file
from torch.distributed.checkpoint.state_dict import get_optimizer_state_dict
from transformers import LlamaConfig, LlamaForCausalLM, MistralConfig, MistralForCausalLM, Qwen2Config, Qwen2ForCausalLM

import transformers_both_ways as both_ways
import transformers_logits as logits

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
import harness  # noqa: E402

VOCAB, LENGTH, HEADS, KV_HEADS = 96, 90, 4, 2
SMALL = dict(vocab_size=VOCAB, hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=HEADS, num_key_value_heads=KV_HEADS, max_position_embeddings=256)
# name: (class, configuration, rows of a head: 8 x 4 = 32, as torchtitan's heads always are, or others; 4 rows would hide a reversed order)
MODELS = {
    "llama": (LlamaForCausalLM, LlamaConfig(**SMALL, **both_ways.rope(1e4, both_ways.LLAMA3)), 8),
    "qwen2": (Qwen2ForCausalLM, Qwen2Config(**SMALL, **both_ways.rope(1e6), head_dim=12, tie_word_embeddings=True), 12),
    "mistral": (MistralForCausalLM, MistralConfig(**SMALL, **both_ways.rope(1e4), head_dim=12, sliding_window=None), 12),
}
MODEL = {"model.n_heads": HEADS, "model.norm_eps": 1e-6, "model.rope_theta": 10000.0, "model.rope_scaling": "llama3:8:1:4:64"}
# name: (keys around the model, keys around the optimizer, what stands before the names in them)
PREFIXES = {
    "accelerate": (["model"], ["optimizer"], ""),
    "an application's state": (["app", "model"], ["app", "optimizer"], ""),
    "Lightning": (["state_dict"], ["optimizer_0"], "model."),
    "FSDP of a compiled model": ([], ["optim"], "_orig_mod._fsdp_wrapped_module."),
}
RULES = {"embed_tokens": "tok_embeddings", "norm": "norm", "layers.*.self_attn.q_proj": "layers.*.attention.wq", "layers.*.self_attn.k_proj": "layers.*.attention.wk",
         "layers.*.self_attn.v_proj": "layers.*.attention.wv", "layers.*.self_attn.o_proj": "layers.*.attention.wo", "layers.*.mlp.gate_proj": "layers.*.feed_forward.w1",
         "layers.*.mlp.down_proj": "layers.*.feed_forward.w2", "layers.*.mlp.up_proj": "layers.*.feed_forward.w3", "layers.*.input_layernorm": "layers.*.attention_norm",
         "layers.*.post_attention_layernorm": "layers.*.ffn_norm"}


def train_model(kind):
    torch.manual_seed(3)
    model = MODELS[kind][0](MODELS[kind][1])
    for parameter in model.parameters():
        parameter.data.normal_(std=0.3)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for _ in range(3):
        tokens = torch.randint(0, VOCAB, (2, 32))
        model(tokens, labels=tokens).loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    return model, optimizer


def within(keys, value):
    for key in reversed(keys):
        value = {key: value}
    return value


def save_dcp(model, optimizer, case, folder):
    of_model, of_optimizer, prefix = PREFIXES[case]
    state = get_optimizer_state_dict(model, optimizer)["state"]
    parts = [within(of_model, {prefix + name: tensor for name, tensor in model.state_dict().items()}),
             within(of_optimizer, {"state": {prefix + name: slots for name, slots in state.items()}})]
    whole = parts[0] if not set(parts[0]) & set(parts[1]) else {"app": parts[0]["app"] | parts[1]["app"]}
    dcp.save({**parts[1], **whole}, checkpoint_id=folder / "pytorch_model_fsdp_0", no_dist=True)
    model.config.save_pretrained(folder)
    return folder / "pytorch_model_fsdp_0"


def interleaved(tensor, head_dim):
    """Rows of each head from Hugging Face's order into ours."""
    return tensor.reshape(-1, 2, head_dim // 2, *tensor.shape[1:]).transpose(1, 2).reshape(tensor.shape)


def save_mistral(model, folder, head_dim):
    """Mistral's own layout: names as ours, rows interleaved, two files."""
    tensors = {"output.weight": model.lm_head.weight.detach()}
    for theirs, ours in RULES.items():
        for layer in range(2 if "*" in theirs else 1):
            tensor = model.state_dict()[f"model.{theirs.replace('*', str(layer))}.weight"]
            tensors[f"{ours.replace('*', str(layer))}.weight"] = interleaved(tensor, head_dim) if theirs[-6:] in ("q_proj", "k_proj") else tensor
    folder.mkdir()
    for number in (0, 1):
        part = {name: tensor.contiguous() for name, tensor in sorted(tensors.items())[number::2]}
        save_file(part, folder / f"consolidated-{number + 1:05}-of-00002.safetensors")
    params = dict(dim=32, n_layers=2, head_dim=head_dim, hidden_dim=64, n_heads=HEADS, n_kv_heads=KV_HEADS, norm_eps=model.config.rms_norm_eps, vocab_size=VOCAB, rope_theta=1e4)
    (folder / "params.json").write_text(json.dumps(params))
    return folder


def check_moments(checkpoint, model, optimizer, work, head_dim):
    state = get_optimizer_state_dict(model, optimizer)["state"]
    for part, theirs in ((part, f"model.layers.1.self_attn.{letter}_proj.{part}") for letter in "qkv" for part in ("weight", "bias")):
        letter = theirs.split("_proj")[0][-1]
        for slot in ("exp_avg", "exp_avg_sq") if theirs in state else ():
            both_ways.titan_ckpt("cat", checkpoint, f"layers.1.attention.w{letter}.{part}.{slot}", "-o", work / "moment.npy")
            expected = state[theirs][slot]
            expected = expected if letter == "v" else interleaved(expected, head_dim)
            if not np.array_equal(np.load(work / "moment.npy"), expected.numpy()):
                both_ways.fail(f"{checkpoint}: {slot} of w{letter}.{part} is not that of {theirs}")
            (work / "moment.npy").unlink()


def run_from(source, toml, rows, work, name, words=(), expect=0):
    """The logits of a run that begins from `source` and learns nothing; or what it says where it is refused."""
    settings = {"job.dump_folder": work / name, "job.threads_per_rank": 1, "training.dataset": "tokens", "training.dataset_path": work / "train.bin", "training.seq_len": 32,
                "training.local_batch_size": 2, "training.steps": 1, "training.mixed_precision_param": "float32", "optimizer.lr": 0.0, "lr_scheduler.warmup_steps": 0}
    _, said = harness.train(toml, 1, settings, ("--init-from", str(source), *words), expect=expect)
    return logits.ours(f"{work / name}@latest", rows, work) if expect == 0 else said


def check_runs(sources, toml, rows, expected, work):
    gap = logits.compare("a run from a directory with config.json", run_from(sources["accelerate"], "", rows, work, "run-0"), expected)
    bare = work / "bare"
    dcp.save({"model": {name: tensor for name, tensor in sources["state"].items()}}, checkpoint_id=bare, no_dist=True)
    gap = max(gap, logits.compare("a run from a directory without config.json", run_from(bare, toml, rows, work, "run-1"), expected))
    rules = work / "rules.toml"
    text = "[rename]\n" + "".join(f'"model.model.{theirs}.weight" = "{ours}.weight"\n' for theirs, ours in RULES.items()) + '"model.lm_head.weight" = "output.weight"\n'
    rules.write_text(text)
    said = run_from(bare, toml, rows, work, "run-2", ("--init-map", str(rules)), expect=13)
    if 'rows = "hf"' not in said or "q_proj.weight (renamed to layers.0.attention.wq.weight)" not in said:
        both_ways.fail(f"rules that do not say how rows lie are refused with\n{said}")
    rules.write_text('rows = "hf"\n' + text)
    gap = max(gap, logits.compare("a run with rules", run_from(bare, toml, rows, work, "run-3", ("--init-map", str(rules))), expected))
    rules.write_text('rows = "interleaved"\n' + text)
    wrong = run_from(bare, toml, rows, work, "run-4", ("--init-map", str(rules)))
    if (wrong[0] - expected[0]).abs().max() < 0.05:
        both_ways.fail("rows in the other order have the same logits: the comparison shows nothing")
    return gap


def convert_all(kind, work, tokens, rows, toml):
    """Every pair of layouts that can hold the model; returns what was compared, its largest difference, the sources and their logits."""
    model, optimizer = train_model(kind)
    head_dim = MODELS[kind][2]
    sources = {"Hugging Face": work / "hf"}
    model.save_pretrained(sources["Hugging Face"])
    expected = logits.theirs(sources["Hugging Face"], tokens)
    for case in PREFIXES if kind == "llama" else ("accelerate", "Lightning"):
        sources[case] = save_dcp(model, optimizer, case, work / f"checkpoint-{len(sources)}")
    both_ways.titan_ckpt("convert", sources["Hugging Face"], work / "titan")
    both_ways.titan_ckpt("convert", work / "titan", work / "named", "--to", "dcp", "--names", "hf")
    sources |= {"ours": work / "titan", "ours with Hugging Face's names": work / "named"}
    if kind == "mistral":
        sources["Mistral's own"] = save_mistral(model, work / "own", head_dim)
    if kind == "llama":  # torchtitan has no biases, and heads of no other size
        both_ways.titan_ckpt("convert", work / "titan", work / "dcp", "--to", "dcp")
        sources["torchtitan"] = work / "dcp"
    largest, pairs = 0.0, 0
    for number, (case, source) in enumerate(sources.items()):
        said = ["--config", toml] if case == "torchtitan" else []  # whose directories do not say heads and RoPE
        if not said:
            largest = max(largest, logits.compare(f"eval of {kind}, {case}", logits.ours(source, rows, work), expected))
        for to in ("titan", "hf", "dcp --names hf", "dcp", "dcp --names torchtitan-0.3")[:5 if kind == "llama" else 3]:
            if (case, to) in (("ours", "titan"), ("Hugging Face", "hf"), ("torchtitan", "dcp"), ("ours with Hugging Face's names", "dcp --names hf")):
                continue
            out = work / f"{number}-{to}"
            both_ways.titan_ckpt("convert", source, out, "--to", *to.split(), *said)
            if to in ("dcp", "dcp --names torchtitan-0.3"):
                both_ways.titan_ckpt("convert", out, work / f"{number}-{to}-back", "--config", toml)
                out = work / f"{number}-{to}-back"
            found = logits.theirs(out, tokens) if to == "hf" else logits.ours(out, rows, work)
            largest = max(largest, logits.compare(f"{kind}, {case} to {to}", found, expected))
            pairs += 1
            if case in PREFIXES and to == "titan":
                check_moments(out, model, optimizer, work, head_dim)
                check_moments(source, model, optimizer, work, head_dim)
                if "tensors that both have, by their bytes" not in both_ways.titan_ckpt("diff", out, source):
                    both_ways.fail(f"diff finds {out} and {source} different")
    return pairs, largest, sources | {"state": model.state_dict()}, expected


def main():
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    transformers.utils.logging.disable_progress_bar()
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        tokens = torch.from_numpy(np.random.default_rng(3).integers(0, VOCAB, (2, LENGTH)))
        rows, toml = work / "rows.npy", work / "model.toml"
        np.save(rows, tokens.numpy())
        harness.write_tokens(work / "train.bin", 4000, VOCAB)
        toml.write_text("[model]\n" + "".join(f"{key.split('.')[1]} = {value!r}\n".replace("'", '"') for key, value in MODEL.items()))
        for kind in MODELS:
            (work / kind).mkdir()
            pairs, largest, sources, expected = convert_all(kind, work / kind, tokens, rows, toml)
            if kind == "llama":
                largest = max(largest, check_runs(sources, toml, rows, expected, work))
            if kind == "mistral":
                largest = max(largest, logits.compare("a run from Mistral's own layout", run_from(sources["Mistral's own"], "", rows, work, "run-own"), expected))
            print(f"transformers {transformers.__version__}, {kind}: {pairs} conversions between {len(sources) - 1} layouts; logits differ by at most {largest:.1e}", flush=True)


if __name__ == "__main__":
    try:
        main()
    except harness.Failure as failure:
        sys.exit(f"error: {failure}")
