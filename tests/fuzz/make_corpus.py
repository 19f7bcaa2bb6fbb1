#!/usr/bin/env python3
"""make_corpus.py: writes the seeds of the fuzz targets into corpus/ (small files that a fuzzer starts from and CI replays).

Inputs that a fuzzer found are added by hand and kept.
"""
import gzip
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
    "qwen3": LLAMA | {"architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3"},
    "mistral_window": LLAMA | {"architectures": ["MistralForCausalLM"], "model_type": "mistral", "sliding_window": 4096},
    "qwen2_window": LLAMA | {"architectures": ["Qwen2ForCausalLM"], "model_type": "qwen2", "use_sliding_window": True, "sliding_window": 64,
                             "layer_types": ["full_attention", "sliding_attention"]},
    "olmo2": LLAMA | {"architectures": ["Olmo2ForCausalLM"], "model_type": "olmo2"},
    "mixtral": LLAMA | {"architectures": ["MixtralForCausalLM"], "model_type": "mixtral", "num_local_experts": 8, "num_experts_per_tok": 2},
    "qwen3_moe": LLAMA | {"architectures": ["Qwen3MoeForCausalLM"], "model_type": "qwen3_moe", "num_experts": 65536, "num_hidden_layers": 100000, "mlp_only_layers": [],
                          "decoder_sparse_step": 1, "norm_topk_prob": True, "moe_intermediate_size": 24},
    "linear": LLAMA | {"rope_scaling": {"type": "linear", "factor": 4}},
    "dynamic": LLAMA | {"rope_scaling": {"rope_type": "dynamic", "factor": 2.0}, "max_position_embeddings": 64},
    "yarn": LLAMA | {"rope_parameters": {"rope_type": "yarn", "factor": 4.0, "rope_theta": 1e6, "original_max_position_embeddings": 64, "mscale": 1.0, "mscale_all_dim": 0.5,
                                         "beta_fast": 16, "beta_slow": 2, "truncate": False}},
    "longrope": LLAMA | {"rope_scaling": {"type": "longrope", "short_factor": [1, 1.5, 2, 3], "long_factor": [2, 3, 64.5, 1e3]}, "max_position_embeddings": 256,
                         "original_max_position_embeddings": 64},
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


def gguf_text(text):
    return struct.pack("<Q", len(text)) + text.encode()


def gguf_key(key, kind, value):
    return gguf_text(key) + struct.pack("<I", kind) + value


def gguf(keys, tensors, data=b"", version=3, alignment=32, counts=None):
    """`tensors`: (name, dims with the fastest first, type, offset)."""
    infos = [gguf_text(name) + struct.pack(f"<I{len(dims)}QIQ", len(dims), *dims, kind, offset) for name, dims, kind, offset in tensors]
    head = b"GGUF" + struct.pack("<IQQ", version, *(counts or (len(infos), len(keys)))) + b"".join(keys + infos)
    return head + bytes(-len(head) % alignment) + data


def gguf_model(arch="llama", extra=(), tensors=(), data=b""):
    numbers = {"block_count": 1, "embedding_length": 8, "feed_forward_length": 12, "attention.head_count": 2, "attention.head_count_kv": 1}
    keys = [gguf_key("general.architecture", 8, gguf_text(arch)), *(gguf_key(f"{arch}.{name}", 4, struct.pack("<I", value)) for name, value in numbers.items()),
            gguf_key(f"{arch}.attention.layer_norm_rms_epsilon", 6, struct.pack("<f", 1e-5)), *extra]
    dims = {"token_embd": [8, 5], "output_norm": [8], "output": [8, 5], "blk.0.attn_q": [8, 8], "blk.0.attn_k": [8, 4], "blk.0.attn_v": [8, 4], "blk.0.attn_output": [8, 8],
            "blk.0.ffn_gate": [8, 12], "blk.0.ffn_down": [12, 8], "blk.0.ffn_up": [8, 12], "blk.0.attn_norm": [8], "blk.0.ffn_norm": [8]}
    infos, at = [], 0
    for name, shape in dims.items():
        infos.append((f"{name}.weight", shape, 1, at))
        at += (2 * shape[0] * (shape[1] if len(shape) > 1 else 1) + 31) // 32 * 32
    return gguf(keys, infos + [(name, shape, kind, at + offset) for name, shape, kind, offset in tensors], bytes(at) + data)


BLOCKS = {2: (32, 18), 3: (32, 20), 6: (32, 22), 7: (32, 24), 8: (32, 34), 10: (256, 84), 11: (256, 110), 12: (256, 144), 13: (256, 176), 14: (256, 210), 39: (32, 17)}
GGUFS = {
    "llama": gguf_model(),
    "qwen2": gguf_model("qwen2"),
    "version_2": gguf([], [("a", [4], 0, 0)], bytes(16), version=2),
    "rope_table": gguf_model(extra=[gguf_key("titan.rope_scaling", 8, gguf_text("llama3:8:1:4:64"))], tensors=[("rope_freqs.weight", [2], 0, 0)], data=struct.pack("<2f", 1, 8)),
    "lists": gguf([gguf_key("tokenizer.ggml.tokens", 9, struct.pack("<IQ", 8, 2) + gguf_text("a") + gguf_text("bc")), gguf_key("x", 9, struct.pack("<IQIQ", 9, 1, 4, 1) + bytes(4)),
                   gguf_key("general.alignment", 4, struct.pack("<I", 64))], [("a", [1], 0, 0)], bytes(4), alignment=64),
    "piece": gguf([gguf_key("split.count", 2, struct.pack("<H", 2))], []),
    "scalars": gguf([gguf_key(f"k{kind}", kind, bytes(size)) for kind, size in enumerate([1, 1, 2, 2, 4, 4, 4, 1]) if size] + [gguf_key("k10", 10, bytes(8)), gguf_key("k12", 12, bytes(8))], []),
    "overlap": gguf([], [("a", [16], 0, 0), ("b", [4], 0, 32)], bytes(64)),
    "beyond": gguf([], [("a", [4], 0, 1 << 40)], bytes(16)),
    "overflow": gguf([], [("a", [1 << 40, 1 << 40], 0, 0)], bytes(16)),
    "many": gguf([], [], counts=(1 << 60, 1 << 60)),
    "list_of_2_60": gguf([gguf_key("x", 9, struct.pack("<IQ", 10, 1 << 60))], []),
    "unread_type": gguf([], [("a", [32], 20, 0)], bytes(18)),
    "big_endian": b"GGUF" + struct.pack(">IQQ", 3, 0, 0),
} | {f"type_{kind}": gguf([], [("a", [elements, 2], kind, 0)], bytes((37 * i + 11) % 256 for i in range(2 * size))) for kind, (elements, size) in BLOCKS.items()}


def write(folder, files):
    (HERE / folder).mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (HERE / folder / name).write_bytes(content)


write("safetensors", SAFETENSORS)
write("hf_config", {name: json.dumps(config, indent=1).encode() for name, config in CONFIGS.items()} | RAW_CONFIGS)
write("hf_index", INDICES)
write("gguf", GGUFS)


def split(pattern, behavior="Isolated"):
    return {"type": "Split", "pattern": pattern, "behavior": behavior, "invert": False}


def tokenizer(vocab, merges, pre=None, normalizer=None, decoder=None, added=(), post=None, **model):
    return {"added_tokens": list(added), "normalizer": normalizer, "pre_tokenizer": pre, "post_processor": post, "decoder": decoder,
            "model": {"type": "BPE", "vocab": vocab, "merges": merges} | model}


LETTERS = {letter: number for number, letter in enumerate("helo 12\u0120\u0121\u010a")}
SPACED = {"\u2581": 0, "h": 1, "e": 2, "l": 3, "o": 4, "\u2581h": 5, "ll": 6, "<unk>": 7, "<s>": 8} | {f"<0x{byte:02X}>": 9 + byte for byte in range(256)}
BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": True, "use_regex": True}
REPLACE = {"type": "Replace", "pattern": {"String": " "}, "content": "\u2581"}
BACK = [{"type": "Replace", "pattern": {"String": "\u2581"}, "content": " "}, {"type": "ByteFallback"}, {"type": "Fuse"}, {"type": "Strip", "content": " ", "start": 1, "stop": 0}]
SPECIAL = {"id": 8, "content": "<s>", "single_word": True, "lstrip": True, "rstrip": True, "normalized": False, "special": True}
TOKENIZERS = {
    "byte_level": tokenizer(LETTERS | {"ll": 20, "he": 21}, ["l l", "h e"], BYTE_LEVEL, decoder={"type": "ByteLevel"}, ignore_merges=True),
    "pattern": tokenizer(LETTERS | {"ll": 20}, [["l", "l"]], {"type": "Sequence", "pretokenizers": [
        split({"Regex": "[^\\s\\p{L}]?\\p{L}+|\\p{N}{1,3}|\\s+(?!\\S)|\\s+"}), BYTE_LEVEL | {"use_regex": False}]}, {"type": "NFC"}, {"type": "ByteLevel"}),
    "spaces": tokenizer(SPACED, ["\u2581 h", "l l"], None, {"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": "\u2581"}, REPLACE]},
                        {"type": "Sequence", "decoders": BACK}, [SPECIAL], unk_token="<unk>", fuse_unk=True, byte_fallback=True),
    "metaspace": tokenizer(SPACED, ["l l"], {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "first"}, None, {"type": "Metaspace", "replacement": "\u2581"},
                           [SPECIAL | {"normalized": True}], {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
                                                              "special_tokens": {"<s>": {"id": "<s>", "ids": [8], "tokens": ["<s>"]}}}, unk_token="<unk>"),
    "behaviors": tokenizer(SPACED, ["l l"], {"type": "Sequence", "pretokenizers": [split({"String": "l"}, name) for name in (
        "Removed", "MergedWithPrevious", "MergedWithNext", "Contiguous")] + [{"type": "Digits", "individual_digits": True}]}, None, {"type": "Fuse"}, unk_token="<unk>"),
    "same_merge_twice": tokenizer(LETTERS | {"ll": 20, "llll": 21}, ["l l", "ll ll", "l l"], BYTE_LEVEL),
    "merge_of_nothing": tokenizer(LETTERS, ["l x"], BYTE_LEVEL),
    "unigram": {"model": {"type": "Unigram", "vocab": [["a", -1.0]]}},
    "large_id": tokenizer({"a": 16777215}, [], BYTE_LEVEL),
}
write("tokenizer", {name: json.dumps(value, ensure_ascii=False).encode() for name, value in TOKENIZERS.items()})


def megatron(kind, lengths, offsets, bounds, more=b""):
    return b"MMIDIDX\0\0" + struct.pack("<QBQQ", 1, kind, len(lengths), len(bounds)) + struct.pack(f"<{len(lengths)}I", *lengths) + struct.pack(
        f"<{len(offsets)}q", *offsets) + struct.pack(f"<{len(bounds)}q", *bounds) + more


def npy(descr, shape, data, order=False):
    header = repr({"descr": descr, "fortran_order": order, "shape": shape}).encode()
    header += b" " * (-(len(header) + 11) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + data


write("token_file", {
    "megatron": megatron(8, [2, 1, 3], [0, 4, 6], [0, 2, 3]), "megatron_i32": megatron(4, [2, 1], [0, 8], [0, 2], b"\0\1"), "overlap": megatron(8, [2, 2, 3], [0, 2, 6], [0, 3]),
    "cut": megatron(8, [2, 1, 3], [0, 4, 6], [0, 2, 3])[:-3], "floats": megatron(6, [1], [0], [0, 1]), "huge": megatron(8, [1], [0], [0, 1])[:18] + b"\xff" * 16,
    "npy": npy("<u2", (3,), bytes(6)), "npy_i8": npy("<i8", (1,), bytes(8)), "npy_object": npy("|O", (1,), bytes(8)), "npy_shape": npy("<u2", (2**63, 2), bytes(6)),
    "nanotron": struct.pack("<QQ", 3, 8) + b"gpt2|2\n", "nanotron_wide": struct.pack("<QQ", 3, 4) + b"a|b|4"})
LINES = b'{"text":"hello"}\n\n{"id":1,"text":"\\u00e9\\ud83d\\ude00"}\r\n{"text":""}'
write("json_lines", {
    "lines": LINES, "packed": gzip.compress(LINES, mtime=0), "two_members": gzip.compress(b"{\"text\":\"a", mtime=0) + gzip.compress(b"b\"}\n", mtime=0), "cut_member": gzip.compress(LINES, mtime=0)[:-9],
    "text": b"one\n\ntwo\n\n\n\nthree", "deep": b'{"a":' + b"[" * 300 + b"]" * 300 + b',"text":"x"}\n', "twice": b'{"text":"a","text":"b"}\n', "surrogate": b'{"text":"\\ud800"}\n',
    "parquet": b"PAR1" + bytes(40) + b"PAR1", "number": b'{"text":1e999}\n', "no_utf8": b'{"text":"\xe9"}\n'})
SHARD = {"tokens_file": "tokens", "ends_file": "ends", "tokens": 2, "documents": 1, "tokens_digest": "0" * 32, "ends_digest": "1" * 32}
DATA = {"schema": "titan.data/1", "token_bytes": 2, "tokens": 2, "documents": 1, "text_bytes": 3, "longest": 2, "vocabulary": 300, "tokenizer": "2" * 32, "before": [1], "behind": [2, 299],
        "shards": [SHARD]}
write("token_data", {name: json.dumps(value).encode() for name, value in {
    "whole": DATA, "sums": DATA | {"tokens": 3}, "outside": DATA | {"shards": [SHARD | {"tokens_file": "../x"}]}, "wide": DATA | {"token_bytes": 4}, "newer": DATA | {"schema": "titan.data/2"},
    "lacks": {"schema": "titan.data/1"}, "many": DATA | {"before": list(range(70))}}.items()})
