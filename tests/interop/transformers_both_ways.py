#!/usr/bin/env python3
"""transformers_both_ways.py: proves the Hugging Face converter by transformers itself, whatever version runs this.

Tiny random models that transformers saves go through `titan-ckpt convert` into Titan's format and out again. Then every tensor
has its bytes, transformers loads the folder, its state dict equals, and its logits are the same bits. `diff` finds the checkpoint
equal to both folders. TITAN_BIN names the folder of the programs. Exit 1 with a message at the first difference.
"""
import json
import os
import pathlib
import struct
import subprocess
import sys
import tempfile

import torch
import transformers
from transformers import (AutoModelForCausalLM, LlamaConfig, LlamaForCausalLM, MistralConfig, MistralForCausalLM, MixtralConfig, MixtralForCausalLM, Olmo2Config,
                          Olmo2ForCausalLM, Qwen2Config, Qwen2ForCausalLM, Qwen3Config, Qwen3ForCausalLM, Qwen3MoeConfig, Qwen3MoeForCausalLM)

TITAN_CKPT = pathlib.Path(os.environ["TITAN_BIN"]) / "titan-ckpt"
SMALL = dict(hidden_size=48, intermediate_size=80, num_hidden_layers=2, num_attention_heads=6, num_key_value_heads=2, vocab_size=101, max_position_embeddings=256)
LLAMA3 = dict(rope_type="llama3", factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0, original_max_position_embeddings=64)
# Scaled from 64 positions on; the last two depend on the length of the text.
SCALED = {
    "linear": dict(rope_type="linear", factor=4.0),
    "yarn": dict(rope_type="yarn", factor=4.0, original_max_position_embeddings=64),
    "dynamic": dict(rope_type="dynamic", factor=2.0),
    "longrope": dict(rope_type="longrope", factor=4.0, short_factor=[1.0, 1.1, 1.3, 2.0], long_factor=[1.0, 1.5, 4.0, 9.0], original_max_position_embeddings=64),
}
# transformers 4 takes these lengths from beside the scaling.
LENGTHS = {"dynamic": dict(max_position_embeddings=64), "longrope": dict(original_max_position_embeddings=64)}
SMOL = SMALL | dict(hidden_size=72, num_attention_heads=9, num_key_value_heads=3)


def rope(theta, scaling=None):
    if int(transformers.__version__.split(".")[0]) >= 5:
        return {"rope_parameters": {"rope_theta": theta, **(scaling or {"rope_type": "default"})}}
    return {"rope_theta": theta, "rope_scaling": scaling}


# name: (class, configuration, element type, flags of save_pretrained, flags of the export, tensors whose rows move)
CASES = {
    "llama, grouped heads, llama3 scaling, several files": (LlamaForCausalLM, LlamaConfig(**SMALL, **rope(5e5, LLAMA3)), torch.float32, dict(max_shard_size="60KB"), ["--max-shard-size", "50KB"], 4),
    "llama, tied, llama3 scaling": (LlamaForCausalLM, LlamaConfig(**SMALL, **rope(5e5, LLAMA3), tie_word_embeddings=True), torch.float32, {}, [], 4),
    "llama, bfloat16, head_dim apart from hidden_size / heads": (LlamaForCausalLM, LlamaConfig(**SMALL, **rope(1e4), head_dim=14), torch.bfloat16, {}, [], 4),
    "llama, float16": (LlamaForCausalLM, LlamaConfig(**SMALL, **rope(1e4)), torch.float16, {}, [], 4),
    "llama in the form of SmolLM": (LlamaForCausalLM, LlamaConfig(**SMOL, **rope(1e5), tie_word_embeddings=True), torch.bfloat16, {}, [], 4),
    "qwen2 with bias": (Qwen2ForCausalLM, Qwen2Config(**SMALL, **rope(1e6)), torch.float32, {}, [], 8),
    "qwen2 with bias, tied": (Qwen2ForCausalLM, Qwen2Config(**SMALL, **rope(1e6), tie_word_embeddings=True), torch.float32, {}, [], 8),
    "mistral without sliding window": (MistralForCausalLM, MistralConfig(**SMALL, **rope(1e4), sliding_window=None), torch.float32, {}, [], 4),
    "qwen3, head_dim apart from hidden_size / heads": (Qwen3ForCausalLM, Qwen3Config(**SMALL, **rope(1e6), head_dim=14), torch.bfloat16, {}, [], 8),
    "qwen3, tied": (Qwen3ForCausalLM, Qwen3Config(**SMALL, **rope(1e6), head_dim=14, tie_word_embeddings=True), torch.float32, {}, [], 8),
    "mistral, window of 60": (MistralForCausalLM, MistralConfig(**SMALL, **rope(1e4), sliding_window=60), torch.float32, {}, [], 4),
    "qwen2, window in the second layer": (Qwen2ForCausalLM, Qwen2Config(**SMALL, **rope(1e6), use_sliding_window=True, sliding_window=60, max_window_layers=1), torch.float32, {}, [], 8),
    "olmo2": (Olmo2ForCausalLM, Olmo2Config(**SMALL, **rope(1e4), pad_token_id=None, eos_token_id=None), torch.float32, {}, [], 8),
    "mixtral, window of 60": (MixtralForCausalLM, MixtralConfig(**SMALL, **rope(1e6), num_local_experts=5, num_experts_per_tok=2, sliding_window=60), torch.float32, {}, [], 4),
    "qwen3 with experts": (Qwen3MoeForCausalLM, Qwen3MoeConfig(**SMALL | dict(intermediate_size=96), **rope(1e6), head_dim=14, num_experts=6, num_experts_per_tok=3, moe_intermediate_size=40),
                           torch.float32, {}, [], 8),
    **{f"llama, {kind} scaling": (LlamaForCausalLM, LlamaConfig(**SMALL | LENGTHS.get(kind, {}), **rope(1e4, scaling)), torch.float32, {}, [], 4) for kind, scaling in SCALED.items()},
}


def fail(message):
    sys.exit(f"error: {message}")


def titan_ckpt(*arguments, expect=0):
    done = subprocess.run([TITAN_CKPT, *map(str, arguments)], capture_output=True, text=True)
    if done.returncode != expect:
        fail(f"titan-ckpt {' '.join(map(str, arguments))}: exit {done.returncode}, expected {expect}\n{done.stdout}{done.stderr}")
    return done.stdout + (done.stderr if expect else "")


def raw_tensors(folder):
    """Return {name: (dtype, shape, bytes)} of all safetensors files, read without any library."""
    found = {}
    for path in sorted(folder.glob("*.safetensors")):
        data = path.read_bytes()
        (length,) = struct.unpack("<Q", data[:8])
        for name, entry in json.loads(data[8:8 + length]).items():
            if name != "__metadata__":
                begin, end = entry["data_offsets"]
                found[name] = (entry["dtype"], tuple(entry["shape"]), data[8 + length + begin:8 + length + end])
    return found


def logits(model):
    tokens = torch.arange(60).reshape(2, 30) % 101
    with torch.no_grad():
        return model.eval()(tokens).logits


def same_model(case, model, folder):
    loaded, info = AutoModelForCausalLM.from_pretrained(folder, dtype="auto", output_loading_info=True)
    if any(info[key] for key in ("missing_keys", "unexpected_keys", "mismatched_keys")):
        fail(f"{case}: transformers loads {folder} with {info}")
    ours, theirs = loaded.state_dict(), model.state_dict()
    if set(ours) != set(theirs):
        fail(f"{case}: names {sorted(set(ours) ^ set(theirs))} are only on one side")
    for name, tensor in theirs.items():
        if ours[name].dtype != tensor.dtype or not torch.equal(ours[name], tensor):
            fail(f"{case}: {name} differs after transformers loaded it")
    if not torch.equal(logits(loaded), logits(model)):
        fail(f"{case}: other logits")


def check(case, folder):
    cls, config, dtype, saving, exporting, moved = CASES[case]
    torch.manual_seed(7)
    model = cls(config).to(dtype)
    for parameter in model.parameters():
        parameter.data.normal_(std=0.3)
    source, titan, back = folder / "source", folder / "titan", folder / "back"
    model.save_pretrained(source, **saving)
    model = cls.from_pretrained(source, dtype="auto")  # to(bfloat16) has rounded RoPE's frequencies; transformers' own loading has not
    (source / "tokenizer.json").write_text('{"version": "1.0"}')
    report = json.loads(titan_ckpt("convert", source, titan, "--json"))
    if sum(tensor["permuted"] for tensor in report["tensors"]) != moved:
        fail(f"{case}: the rows of other tensors than queries and keys moved: {report['tensors']}")
    titan_ckpt("verify", titan)
    titan_ckpt("convert", titan, back, "--to", "hf", *exporting)
    if raw_tensors(source) != raw_tensors(back) or not raw_tensors(back):
        fail(f"{case}: tensors are not equal byte by byte")
    if exporting and len(list(back.glob("*.safetensors"))) < 3:
        fail(f"{case}: the export is not in several files")
    for name in ("tokenizer.json", "generation_config.json"):
        if (source / name).read_bytes() != (back / name).read_bytes():
            fail(f"{case}: {name} changed on the way")
    # Both versions' words for RoPE and the number of experts stand in an export; nothing else is added, and nothing is changed.
    before, after = (json.loads((folder / "config.json").read_text()) for folder in (source, back))
    added = after.keys() - before.keys()
    if {key: after.get(key) for key in before} != before or not added <= {"num_experts", "rope_parameters", "rope_scaling", "rope_theta"}:
        fail(f"{case}: config.json changed on the way")
    same_model(case, model, back)
    titan_ckpt("diff", titan, source)
    titan_ckpt("diff", back, titan)
    if config.tie_word_embeddings:
        # A configuration of our own making, since this is another model than the one that came in.
        apart = folder / "apart"
        titan_ckpt("convert", titan, apart, "--to", "hf", "--untie")
        untied = AutoModelForCausalLM.from_pretrained(apart, dtype="auto")
        if untied.lm_head.weight.data_ptr() == untied.get_input_embeddings().weight.data_ptr() or not torch.equal(logits(untied), logits(model)):
            fail(f"{case}: the untied export is another model, or still tied")
    return len(raw_tensors(back))


def main():
    tensors = 0
    for case in CASES:
        with tempfile.TemporaryDirectory() as folder:
            tensors += check(case, pathlib.Path(folder))
    print(f"transformers {transformers.__version__}: {len(CASES)} models, {tensors} tensors equal byte by byte")


if __name__ == "__main__":
    main()
