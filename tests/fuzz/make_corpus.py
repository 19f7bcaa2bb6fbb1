#!/usr/bin/env python3
"""make_corpus.py: writes the seeds of the fuzz targets into corpus/ (small files that a fuzzer starts from and CI replays).

Inputs that a fuzzer found are added by hand and kept.
"""
import json
import pathlib
import struct

HERE = pathlib.Path(__file__).resolve().parent / "corpus"


def safetensors(header, data=b"", pad=True):
    text = header if isinstance(header, bytes) else json.dumps(header, separators=(",", ":")).encode()
    if pad:
        text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + data


def tensor(dtype, shape, begin, end):
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


SAFETENSORS = {
    "reference": safetensors({"a": tensor("F32", [2, 2], 0, 16)}, bytes(16)),
    "empty": safetensors({}),
    "metadata": safetensors({"__metadata__": {"format": "pt"}, "a": tensor("BF16", [3], 0, 6)}, bytes(6)),
    "unaligned": safetensors({"b": tensor("F16", [], 4, 6), "e": tensor("F32", [0, 7], 4, 4), "a": tensor("I32", [1], 0, 4)}, bytes(6), pad=False),
    "overlap": safetensors({"a": tensor("F32", [1], 0, 4), "b": tensor("F32", [1], 2, 6)}, bytes(6)),
    "hole": safetensors({"a": tensor("F32", [1], 4, 8)}, bytes(8)),
    "overflow": safetensors({"a": tensor("F64", [1 << 62], 0, 4)}, bytes(4)),
    "twice": safetensors(b'{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}', bytes(1)),
    "escapes": safetensors(b'{"\\u00e9\\ud83d\\ude00\\n":{"dtype":"I64","shape":[1],"data_offsets":[0,8]}}', bytes(8)),
    "float8": safetensors({"a": tensor("F8_E4M3", [4], 0, 4)}, bytes(4)),
    "huge_length": struct.pack("<Q", 1 << 62) + b"{}",
    "deep": safetensors(b'{"a":' + b"[" * 80 + b"]" * 80 + b"}"),
}

LLAMA = {"architectures": ["LlamaForCausalLM"], "hidden_size": 48, "intermediate_size": 80, "num_attention_heads": 6, "num_hidden_layers": 2,
         "num_key_value_heads": 2, "rms_norm_eps": 1e-6, "tie_word_embeddings": False, "vocab_size": 101, "model_type": "llama", "hidden_act": "silu"}
SCALING = {"factor": 8.0, "high_freq_factor": 4.0, "low_freq_factor": 1.0, "original_max_position_embeddings": 64, "rope_type": "llama3"}
CONFIGS = {
    "llama4": LLAMA | {"rope_theta": 500000.0, "rope_scaling": SCALING, "head_dim": 10},
    "llama5": LLAMA | {"rope_parameters": SCALING | {"rope_theta": 500000.0}},
    "qwen2": LLAMA | {"architectures": ["Qwen2ForCausalLM"], "model_type": "qwen2", "use_sliding_window": False, "layer_types": ["full_attention"] * 2},
    "mistral": LLAMA | {"architectures": ["MistralForCausalLM"], "model_type": "mistral", "sliding_window": None, "head_dim": None},
    "other": LLAMA | {"architectures": ["GPT2LMHeadModel"]},
    "wrong_types": LLAMA | {"hidden_size": "48", "rope_scaling": []},
}


def write(folder, files):
    (HERE / folder).mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (HERE / folder / name).write_bytes(content)


write("safetensors", SAFETENSORS)
write("hf_config", {name: json.dumps(config, indent=1).encode() for name, config in CONFIGS.items()})
