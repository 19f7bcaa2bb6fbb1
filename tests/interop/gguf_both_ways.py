#!/usr/bin/env python3
"""gguf_both_ways.py: proves the GGUF converter by gguf-py and transformers.

Elements: random blocks of every quantised type that gguf-py knows and we read have, through `titan-ckpt cat`, the bits of gguf-py's dequantize.
Writing: a file that `titan-ckpt convert` writes in F32, F16, BF16 and Q8_0 is, byte by byte, the one that gguf-py's writer makes of the same tensors
and metadata, with llama.cpp's permutation of query and key rows. transformers loads it with the weights that it saved.
Reading: from a GGUF file, quantised or not, to our format and to a Hugging Face folder: transformers has the same weights, and `titan-train eval` of
the file has transformers' logits (1e-5).
Run by a Python with transformers that finds gguf (0.19.0). TITAN_BIN names the folder of the programs. Exit 1 with a message at the first difference.
"""
import pathlib
import tempfile
import warnings

import gguf
import numpy as np
import torch
import transformers
from gguf import GGMLQuantizationType as Type
from transformers import AutoModelForCausalLM, LlamaConfig, LlamaForCausalLM, Qwen2Config, Qwen2ForCausalLM, Qwen3Config, Qwen3ForCausalLM
from transformers.modeling_gguf_pytorch_utils import load_gguf_checkpoint

import transformers_both_ways as both_ways
import transformers_logits

READ = [Type.Q4_0, Type.Q4_1, Type.Q5_0, Type.Q5_1, Type.Q8_0, Type.Q2_K, Type.Q3_K, Type.Q4_K, Type.Q5_K, Type.Q6_K, Type.MXFP4]
SIZE = dict(hidden_size=64, intermediate_size=96, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, vocab_size=101, max_position_embeddings=256)
# Rows of 32: all of them fill blocks of Q8_0, but for `odd`, whose down_proj has rows of 72.
CASES = {
    "llama, llama3 scaling": (LlamaForCausalLM, LlamaConfig(**SIZE, **both_ways.rope(5e5, both_ways.LLAMA3))),
    "llama, tied, head_dim 12, odd": (LlamaForCausalLM, LlamaConfig(**SIZE | dict(intermediate_size=72), **both_ways.rope(1e4), head_dim=12, tie_word_embeddings=True)),
    "qwen2": (Qwen2ForCausalLM, Qwen2Config(**SIZE, **both_ways.rope(1e6))),
    "qwen3": (Qwen3ForCausalLM, Qwen3Config(**SIZE, **both_ways.rope(1e6), head_dim=32)),
}
NAMES = {"model.embed_tokens": "token_embd", "model.norm": "output_norm", "lm_head": "output", "self_attn.q_norm": "attn_q_norm", "self_attn.k_norm": "attn_k_norm", "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k",
         "self_attn.v_proj": "attn_v", "self_attn.o_proj": "attn_output", "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down",
         "input_layernorm": "attn_norm", "post_attention_layernorm": "ffn_norm", "model.layers": "blk"}
ORDER = ["attn_q_norm.weight", "attn_k_norm.weight", "attn_q.weight", "attn_q.bias", "attn_k.weight", "attn_k.bias", "attn_v.weight", "attn_v.bias", "attn_output.weight", "ffn_gate.weight", "ffn_down.weight",
         "ffn_up.weight", "attn_norm.weight", "ffn_norm.weight"]


def permute(weights, heads):
    """llama.cpp's convert_hf_to_gguf.py, LlamaModel.permute, for weights and biases."""
    return weights.reshape(heads, 2, weights.shape[0] // heads // 2, *weights.shape[1:]).swapaxes(1, 2).reshape(weights.shape)


def rope_factors(config):
    """The table of convert_hf_to_gguf.py, in double precision behind float32 frequencies as there."""
    scaling = config.rope_parameters
    freqs = 1.0 / (scaling["rope_theta"] ** (torch.arange(0, config.head_dim, 2, dtype=torch.float32) / config.head_dim))
    factors = []
    for freq in freqs.tolist():
        length, old, low, high = 2 * np.pi / freq, scaling["original_max_position_embeddings"], scaling["low_freq_factor"], scaling["high_freq_factor"]
        smooth = (old / length - low) / (high - low)
        factors.append(1 if length < old / high else scaling["factor"] if length > old / low else 1 / ((1 - smooth) / scaling["factor"] + smooth))
    return np.array(factors, dtype=np.float32)


def gguf_tensors(model):
    """{GGUF's name: float32 array} of a transformers model, rows in the order of its architecture."""
    config, tensors = model.config, {}
    for name, tensor in model.state_dict().items():
        if name == "lm_head.weight" and config.tie_word_embeddings:
            continue
        array = tensor.float().numpy()
        if config.model_type == "llama" and "q_proj" in name:
            array = permute(array, config.num_attention_heads)
        if config.model_type == "llama" and "k_proj" in name:
            array = permute(array, config.num_key_value_heads)
        for theirs, short in NAMES.items():
            name = name.replace(theirs, short)
        tensors[name] = np.ascontiguousarray(array)
    layers = [f"blk.{i}.{part}" for i in range(config.num_hidden_layers) for part in ORDER]
    order = [name for name in ["token_embd.weight", *layers, "output_norm.weight", "output.weight"] if name in tensors]
    assert set(order) == set(tensors), set(tensors) ^ set(order)
    return {name: tensors[name] for name in order}


def write_by_gguf_py(model, kind, path):
    """The file that gguf-py makes: the metadata in the order that docs/formats.md promises."""
    config, arch = model.config, model.config.model_type
    head_dim = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    writer = gguf.GGUFWriter(path, arch)
    writer.add_type("model")
    writer.add_file_type({Type.F32: 0, Type.F16: 1, Type.Q8_0: 7, Type.BF16: 32}[kind])
    writer.add_quantization_version(2)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_key_length(head_dim)
    writer.add_value_length(head_dim)
    writer.add_rope_freq_base(config.rope_parameters["rope_theta"])
    writer.add_rope_dimension_count(head_dim)
    writer.add_vocab_size(config.vocab_size)
    scaled = config.rope_parameters["rope_type"] == "llama3"
    if scaled:
        writer.add_string("titan.rope_scaling", "llama3:8:1:4:64")
    writer.add_tokenizer_model("none")
    for name, array in gguf_tensors(model).items():
        of = Type.F32 if array.ndim == 1 else Type.F16 if kind is Type.Q8_0 and array.shape[-1] % 32 else kind
        writer.add_tensor(name, gguf.quantize(array, of), raw_dtype=of)
    if scaled:
        writer.add_tensor("rope_freqs.weight", rope_factors(config))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def check_elements(work):
    """Random blocks of every type: scales that are finite, all other bits as they come."""
    rng = np.random.default_rng(5)
    writer = gguf.GGUFWriter(work / "types.gguf", "llama")
    writer.add_array("tokenizer.ggml.tokens", ["a", "é"])
    expected = {}
    for kind in READ:
        elements, size = gguf.GGML_QUANT_SIZES[kind]
        blocks = rng.integers(0, 256, (8, 4 * 256 // elements, size), dtype=np.uint8)
        halves = {Type.Q2_K: (80, 82), Type.Q3_K: (108,), Type.Q6_K: (208,), Type.MXFP4: (), Type.Q4_1: (0, 2), Type.Q5_1: (0, 2), Type.Q4_K: (0, 2), Type.Q5_K: (0, 2)}
        for at in halves.get(kind, (0,)):
            blocks[..., at:at + 2] = rng.standard_normal(blocks.shape[:2]).astype(np.float16)[..., None].view(np.uint8)
        raw = blocks.reshape(8, -1)
        writer.add_tensor(f"t.{kind.name}", raw, raw_dtype=kind)
        expected[f"t.{kind.name}"] = gguf.dequantize(raw, kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    for name, values in expected.items():
        both_ways.titan_ckpt("cat", work / "types.gguf", name, "-o", work / f"{name}.npy")
        ours = np.load(work / f"{name}.npy")
        if ours.shape != values.shape or not np.array_equal(ours.view(np.uint32), values.astype(np.float32).view(np.uint32)):
            both_ways.fail(f"{name}: {np.count_nonzero(ours.view(np.uint32) != values.view(np.uint32))} of {values.size} elements are not gguf-py's")
    return len(expected)


def by_transformers(path, model):
    """The weights that transformers reads, under its names and in its order (from_pretrained does the same, but needs accelerate)."""
    read = load_gguf_checkpoint(str(path), return_tensors=True, model_to_load=model)
    config = read["config"]
    for key in ("hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads", "num_key_value_heads", "vocab_size", "max_position_embeddings"):
        if config[key] != getattr(model.config, key):
            both_ways.fail(f"{path}: transformers reads {key} = {config[key]}")
    return read["tensors"]


def same_weights(case, state, expected):
    names = set(expected) - {"rope_freqs.weight"} - ({"lm_head.weight"} if "lm_head.weight" not in state else set())
    if not names <= set(state):
        both_ways.fail(f"{case}: {sorted(names - set(state))} are missing")
    for name in names:
        tensor = expected[name]
        if not torch.equal(state[name].float(), tensor.float()):
            both_ways.fail(f"{case}: {name} is not what was saved")


def check_model(case, work):
    torch.manual_seed(7)
    kind, config = CASES[case]
    model = kind(config).eval()
    for parameter in model.parameters():
        parameter.data.normal_(std=0.3)
    model.save_pretrained(work / "hf")
    both_ways.titan_ckpt("convert", work / "hf", work / "ours", "--to", "titan")
    tokens = torch.arange(transformers_logits.LENGTH)[None] * 7 % SIZE["vocab_size"]
    np.save(work / "rows.npy", tokens.numpy())
    for word, of in (("f32", Type.F32), ("f16", Type.F16), ("bf16", Type.BF16), ("q8_0", Type.Q8_0)):
        ours, theirs = work / f"ours-{word}.gguf", work / f"theirs-{word}.gguf"
        both_ways.titan_ckpt("convert", work / "ours", ours, "--to", "gguf", "--dtype", word)
        write_by_gguf_py(model, of, theirs)
        if ours.read_bytes() != theirs.read_bytes():
            both_ways.fail(f"{case}, {word}: gguf-py writes another file ({theirs.stat().st_size} bytes) than we do ({ours.stat().st_size})")
        loaded = by_transformers(ours, model)
        both_ways.titan_ckpt("convert", ours, work / f"back-{word}", "--to", "hf")
        back = AutoModelForCausalLM.from_pretrained(work / f"back-{word}", dtype=torch.float32).eval()
        same_weights(f"{case}, {word}, by way of our reader", back.state_dict(), loaded)
        if of is Type.F32:
            same_weights(f"{case}, {word}", loaded, model.state_dict())
        with torch.no_grad():
            expected = back(tokens).logits
        found, _ = transformers_logits.ours(ours, work / "rows.npy", work)
        if (difference := (found - expected).abs().max().item()) > transformers_logits.TOLERANCE:
            both_ways.fail(f"{case}, {word}: logits of the GGUF file differ by {difference}")


def main():
    torch.set_num_threads(1)
    transformers.utils.logging.disable_progress_bar()
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        types = check_elements(pathlib.Path(folder))
    for case in CASES:
        with tempfile.TemporaryDirectory() as folder:
            check_model(case, pathlib.Path(folder))
    print(f"transformers {transformers.__version__}: {types} types, {len(CASES)} models in 4 types, equal byte by byte")


if __name__ == "__main__":
    main()
