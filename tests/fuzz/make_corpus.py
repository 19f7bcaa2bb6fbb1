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
    "every_type": safetensors({n: tensor(t, [2], 16 * i, 16 * i + 2 * b) for i, (n, t, b) in enumerate(
        [("a", "F64", 8), ("b", "I64", 8)])} | {"c": tensor("F32", [4], 32, 48), "d": tensor("I32", [1, 1], 48, 52), "e": tensor("F16", [2], 52, 56), "f": tensor("U8", [3], 56, 59)}, bytes(59)),
    "length_zero": struct.pack("<Q", 0),
    "length_beyond": struct.pack("<Q", 64) + b"{}",
    "not_utf8": safetensors(b'{"\xff":1}'),
    "nul_in_name": safetensors(b'{"\\u0000":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}', bytes(1)),
    "lone_surrogate": safetensors(b'{"\\ud800":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}', bytes(1)),
    "negative": safetensors({"a": tensor("F32", [-1], -4, 0)}, bytes(4)),
    "backwards": safetensors({"a": tensor("F32", [1], 4, 0)}, bytes(4)),
    "near_limit": safetensors({"a": tensor("U8", [1], (1 << 64) - 2, (1 << 64) - 1)}, bytes(4)),
    "fraction": safetensors(b'{"a":{"dtype":"F32","shape":[1.0],"data_offsets":[0,4]}}', bytes(4)),
    "many_dimensions": safetensors({"a": tensor("U8", [1] * 40, 0, 1)}, bytes(1)),
    "zero_times_huge": safetensors({"a": tensor("F32", [0, 1 << 63, 1 << 63], 0, 0)}),
    "half_byte": safetensors({"a": tensor("F4", [1], 0, 0)}),
    "short_buffer": safetensors({"a": tensor("F32", [1], 0, 4)}, bytes(3)),
    "unknown_keys": safetensors(b'{"a":{"dtype":"U8","x":{"y":[1,-2.5e-3,null,true,"\\u00e9"]},"shape":[1],"data_offsets":[0,1]}}', bytes(1)),
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
    "scaled_oddly": LLAMA | {"rope_scaling": SCALING | {"rope_type": "yarn"}},
    "huge_numbers": LLAMA | {"hidden_size": 1 << 64, "vocab_size": -1, "num_hidden_layers": 1e300},
    "zero_heads": LLAMA | {"num_attention_heads": 0, "num_key_value_heads": 0, "head_dim": 0},
    "biased": LLAMA | {"attention_bias": True, "quantization_config": {"bits": 4}},
    "wrong_types": LLAMA | {"hidden_size": "48", "rope_scaling": []},
}
RAW_CONFIGS = {"deep": b"[" * 100 + b"]" * 100, "twice": b'{"a":1,"a":2}', "escape": b'{"a":"\\u0000\\ud83d\\ude00\\x"}', "cut": b'{"architectures":["Ll', "number": b"[01,1e,-,.5]"}
INDICES = {
    "reference": b'{"metadata":{"total_size":4},"weight_map":{"a":"model-00001-of-00002.safetensors","b":"model-00002-of-00002.safetensors"}}',
    "map_twice": b'{"weight_map":[],"weight_map":{"a":"x.safetensors"}}',
    "name_twice": b'{"weight_map":{"a":"x.safetensors","a":"y.safetensors"}}',
    "above": b'{"weight_map":{"a":"../x.safetensors"}}',
    "escaped_slash": b'{"weight_map":{"a":"\\u002e\\u002e\\u002fx.safetensors"}}',
    "absolute": b'{"weight_map":{"a":"/etc/x.safetensors"}}',
    "nul": b'{"weight_map":{"a":"x\\u0000.safetensors"}}',
    "number": b'{"weight_map":{"a":1}}',
    "deep": b'{"x":' + b"[" * 80 + b"]" * 80 + b',"weight_map":{}}',
    "empty": b"",
}


def write(folder, files):
    (HERE / folder).mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (HERE / folder / name).write_bytes(content)


write("safetensors", SAFETENSORS)
write("hf_config", {name: json.dumps(config, indent=1).encode() for name, config in CONFIGS.items()} | RAW_CONFIGS)
write("hf_index", INDICES)
