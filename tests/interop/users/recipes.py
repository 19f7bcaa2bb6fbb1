"""Folders as people bring them, each made by the library that makes such folders, with the public thread that it is from.

A recipe writes into an empty folder and may return the path to give (the folder itself by default). `code` is how `convert --dry-run`, `plan` and
`run` end (a code, and what is said, for each where only reading values tells), `says` a part of the error, or of what is noted where the code is 0. `flags` go to both programs.
`keeps`: keys of the config.json that the run's checkpoint has.
"""
import argparse
import json
import pathlib
import pickle
import struct
import threading
import zipfile

import numpy as np
import safetensors.torch
import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
import transformers
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor, Replicate, Shard
from torch.testing._internal.distributed.fake_pg import FakeStore

DIM, LAYERS, HEADS, KV, FFN, VOCAB = 32, 2, 4, 2, 64, 256
HEAD = DIM // HEADS
CONFIG = {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_act": "silu", "hidden_size": DIM, "intermediate_size": FFN,
    "num_hidden_layers": LAYERS, "num_attention_heads": HEADS, "num_key_value_heads": KV, "vocab_size": VOCAB, "rms_norm_eps": 1e-5,
    "rope_theta": 10000.0, "tie_word_embeddings": False, "max_position_embeddings": 256,
}
TITAN_ROWS = ["--model.n_heads=4", "--model.norm_eps=1e-5", "--model.rope_theta=10000.0", "--model.rope_scaling=none"]
RECIPES, STATES = [], []


def recipe(source, code=0, says="", flags=(), train=(), convert=(), keeps=None):
    """`train` and `convert`: flags of the one program alone."""
    def add(make):
        RECIPES.append({"name": make.__name__, "make": make, "source": source, "code": code, "says": says, "flags": list(flags),
                        "train": list(train), "convert": list(convert), "keeps": keeps or {}})
        return make
    return add


def state(source, code=0, says="", **precision):
    """A run of torchtitan at step 3 with its optimizer: `put_state`'s `precision`. `code` is that of `convert`; where it is 0, `verify`, `plan` and `run` end so, too."""
    STATES.append({"source": source, "code": code, "says": says, "precision": precision})


def tensors(layers=LAYERS, vocab=VOCAB, dtype=torch.float32, tied=False, qkv_bias=False):
    torch.manual_seed(1)
    shapes = {"model.embed_tokens.weight": (vocab, DIM)}
    for i in range(layers):
        at = f"model.layers.{i}."
        for name, rows in (("q", HEADS), ("k", KV), ("v", KV)):
            shapes[f"{at}self_attn.{name}_proj.weight"] = (rows * HEAD, DIM)
            if qkv_bias:
                shapes[f"{at}self_attn.{name}_proj.bias"] = (rows * HEAD,)
        shapes |= {f"{at}self_attn.o_proj.weight": (DIM, HEADS * HEAD), f"{at}mlp.gate_proj.weight": (FFN, DIM), f"{at}mlp.up_proj.weight": (FFN, DIM),
                   f"{at}mlp.down_proj.weight": (DIM, FFN), f"{at}input_layernorm.weight": (DIM,), f"{at}post_attention_layernorm.weight": (DIM,)}
    shapes |= {"model.norm.weight": (DIM,)} | ({} if tied else {"lm_head.weight": (vocab, DIM)})
    return {name: (torch.randn(shape) * 0.1).to(dtype) for name, shape in shapes.items()}


def ours(theirs):
    """The same model under torchtitan's names, rows of queries and keys in its order."""
    table = {"embed_tokens": "tok_embeddings", "norm": "norm", "self_attn.q_proj": "attention.wq", "self_attn.k_proj": "attention.wk", "self_attn.v_proj": "attention.wv",
             "self_attn.o_proj": "attention.wo", "mlp.gate_proj": "feed_forward.w1", "mlp.down_proj": "feed_forward.w2", "mlp.up_proj": "feed_forward.w3",
             "input_layernorm": "attention_norm", "post_attention_layernorm": "ffn_norm"}
    out = {}
    for name, tensor in theirs.items():
        if name == "lm_head.weight":
            out["output.weight"] = tensor
            continue
        parts = name.removeprefix("model.").rsplit(".", 1)
        layer, rest = (".".join(parts[0].split(".")[:2]) + ".", ".".join(parts[0].split(".")[2:])) if parts[0].startswith("layers.") else ("", parts[0])
        if rest in ("self_attn.q_proj", "self_attn.k_proj"):
            tensor = tensor.reshape(-1, 2, HEAD // 2, *tensor.shape[1:]).transpose(1, 2).reshape(tensor.shape).contiguous()
        out[f"{layer}{table[rest]}.{parts[1]}"] = tensor
    return out


def put_config(folder, **changes):
    (folder / "config.json").write_text(json.dumps({k: v for k, v in (CONFIG | changes).items() if v is not ...}))


def put_hf(folder, weights=None, name="model.safetensors", **changes):
    put_config(folder, **changes)
    safetensors.torch.save_file(weights or tensors(), folder / name, metadata={"format": "pt"})


def put_shards(folder, weights=None):
    weights = weights or tensors()
    names = sorted(weights)
    parts = {f"model-0000{i + 1}-of-00002.safetensors": names[i::2] for i in range(2)}
    for file, part in parts.items():
        safetensors.torch.save_file({n: weights[n] for n in part}, folder / file, metadata={"format": "pt"})
    index = {"metadata": {}, "weight_map": {n: file for file, part in parts.items() for n in part}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))


def put_dcp(folder, state):
    dcp.save(state, checkpoint_id=folder, no_dist=True)


def rewrite_header(path, change):
    """The header of a safetensors file as `change` makes it, the tensors as they are."""
    data = path.read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    header = change(json.loads(data[8:8 + length]))
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + data[8 + length:])


# ---- what must be read ------------------------------------------------------------------------------------------------------------------------------

@recipe("the plain case", keeps=CONFIG)
def hf_folder(folder):
    put_hf(folder)


@recipe("the plain case")
def hf_shards(folder):
    put_config(folder)
    put_shards(folder)


@recipe("the plain case")
def hf_bf16(folder):
    put_hf(folder, tensors(dtype=torch.bfloat16))


@recipe("the plain case")
def hf_fp16(folder):
    put_hf(folder, tensors(dtype=torch.float16))


@recipe("meta-llama/llama-models#172: no lm_head in the files of Llama 3.2", says="")
def tied_without_head(folder):
    put_hf(folder, tensors(tied=True), tie_word_embeddings=True)


@recipe("vllm#6758: a tied model whose files have the head as well")
def tied_with_equal_head(folder):
    weights = tensors(tied=True)
    put_hf(folder, weights | {"lm_head.weight": weights["model.embed_tokens.weight"].clone()}, tie_word_embeddings=True)


@recipe("the plain case: biases of q, k and v")
def qwen2(folder):
    put_hf(folder, tensors(qkv_bias=True), architectures=["Qwen2ForCausalLM"], model_type="qwen2")


@recipe("foreign.md E (b): safetensors 0.8.0 writes and reads it")
def metadata_null(folder):
    put_hf(folder)
    rewrite_header(folder / "model.safetensors", lambda header: header | {"__metadata__": None})


@recipe("sibling of E (b): a number where texts are due")
def metadata_number(folder):
    put_hf(folder)
    rewrite_header(folder / "model.safetensors", lambda header: header | {"__metadata__": {"format": "pt", "step": 100}})


@recipe("foreign.md E (e); transformers#37139 converts ints and floats of rope_scaling")
def rope_floats(folder):
    put_hf(folder, rope_scaling={"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 8192.0})


@recipe("sibling of E (e): whole numbers of every spelling")
def vocab_as_float(folder):
    put_hf(folder, vocab_size=256.0, rope_theta=10000)


@recipe("pytorch#101107, nanoGPT#325: names of a compiled model", says="`_orig_mod.` is taken off")
def compiled(folder):
    put_hf(folder, {"_orig_mod." + n: t for n, t in tensors().items()})


@recipe("train-llm-from-scratch#37: names of a compiled model in DDP", says="`module.` is taken off")
def compiled_in_ddp(folder):
    put_hf(folder, {"module._orig_mod." + n: t for n, t in tensors().items()})


@recipe("sibling: FSDP1 without use_orig_params", says="`_fsdp_wrapped_module.` is taken off")
def fsdp_wrapped(folder):
    put_hf(folder, {n.replace("layers.", "_fsdp_wrapped_module.layers."): t for n, t in tensors().items()})


@recipe("Lightning#20233: `model.` stands before the names of a LightningModule", says="names begin with `model.model.`")
def model_twice(folder):
    put_hf(folder, {"model." + n: t for n, t in tensors().items()})


@recipe("PosterLlama#7: the language model of a larger one", says="names begin with `llama_model.model.`")
def language_model(folder):
    put_hf(folder, {"llama_model." + n: t for n, t in tensors().items()})


@recipe("old exports keep buffers of RoPE: pyllama#102")
def inv_freq(folder):
    put_hf(folder, tensors() | {f"model.layers.{i}.self_attn.rotary_emb.inv_freq": torch.ones(HEAD // 2) for i in range(LAYERS)})


@recipe("foreign.md F: a folder of Hugging Face's Trainer", says="not taken: 'optimizer.pt'")
def trainer_folder(folder):
    put_hf(folder)
    for name in ("optimizer.pt", "scheduler.pt", "rng_state.pth", "training_args.bin"):
        torch.save({"state": {}}, folder / name)
    (folder / "trainer_state.json").write_text("{}")


def stepped(optimizer, weights):
    """`optimizer` over `weights` after three steps, each of whose gradients is a tenth of the weight."""
    parameters = [torch.nn.Parameter(one.clone()) for one in weights]
    made = optimizer(parameters, lr=1e-3, betas=(0.9, 0.95), eps=1e-8, weight_decay=0.1)
    for _ in range(3):
        for parameter, weight in zip(parameters, weights):
            parameter.grad = weight * 0.1
        made.step()
    return made.state_dict()


def put_optimizer(folder, optimizer=torch.optim.AdamW, weights=None):
    torch.save(stepped(optimizer, list((weights or tensors()).values())), folder / "optimizer.pt")


RUN = ["--config", "TITAN.toml", "--set", "optimizer.lr=1e-3"]  # the run is asked for, optimizer included
GOES_ON = [*RUN, *(word for one in ("lr_scheduler.warmup_steps=1", "lr_scheduler.min_lr_factor=1.0", "training.global_batch_size=1") for word in ("--set", one))]


@recipe("sibling of F: a download left a folder in the place of the optimizer", {"convert --dry-run": 2, "plan": 0, "run": 0},
        {"convert --dry-run": "optimizer.pt is a folder, expected a file"}, convert=RUN)
def trainer_optimizer_folder(folder):
    put_hf(folder)
    (folder / "optimizer.pt").mkdir()


@recipe("sibling of F: the optimizer was not copied", {"convert --dry-run": 13, "plan": 0, "run": 0},
        {"convert --dry-run": "but no optimizer.pt or optimizer.bin"}, convert=RUN)
def trainer_without_optimizer(folder):
    put_hf(folder)
    (folder / "trainer_state.json").write_text(json.dumps({"global_step": 3}))


@recipe("sibling: a list in the place of trainer_state.json", {"convert --dry-run": 13, "plan": 0, "run": 0},
        {"convert --dry-run": "trainer_state.json is a list, expected a JSON object"}, convert=[*RUN, "--set", "training.seq_len=16"])
def trainer_state_list(folder):
    put_hf(folder)
    put_optimizer(folder)
    (folder / "trainer_state.json").write_text("[]")


@recipe("sibling: RAdam, whose state has the names of AdamW's", {"convert --dry-run": 13, "plan": 0, "run": 0},
        {"convert --dry-run": "the optimizer's groups have no amsgrad"}, convert=GOES_ON)
def trainer_radam(folder):
    put_hf(folder)
    put_optimizer(folder, lambda *args, **more: torch.optim.RAdam(*args, **more, decoupled_weight_decay=True))


@recipe("sibling: Adam, whose weight decay is coupled", {"convert --dry-run": 13, "plan": 0, "run": 0},
        {"convert --dry-run": "its optimizer is no plain AdamW"}, convert=GOES_ON)
def trainer_adam(folder):
    put_hf(folder)
    put_optimizer(folder, torch.optim.Adam)


@recipe("LlamaFactory#3276, transformers#44586: whether the loss had a balance loss stands in config.json alone",
        says={"convert --dry-run": "training.router_aux_loss = 0.02: the configuration does not say it"}, convert=GOES_ON)
def trainer_balanced(folder):
    fused_experts_hf(folder)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"output_router_logits": True, "router_aux_loss_coef": 0.02}))
    model = transformers.AutoModelForCausalLM.from_config(transformers.AutoConfig.from_pretrained(folder))
    put_optimizer(folder, weights={name: tensor.detach() for name, tensor in model.named_parameters()})


@recipe("the same, and the model alone is asked for", convert=[*RUN, "--skip", "optimizer.*"])
def trainer_model_alone(folder):
    trainer_without_optimizer(folder)


@recipe("mlx-swift-lm#408: an index beside a single file that says the same", says="names the same tensors")
def same_twice(folder):
    put_hf(folder)
    put_shards(folder)


@recipe("CoSER#3, mlx-vlm#1827: an index that is older than the file beside it", says="is ignored")
def stale_index(folder):
    put_hf(folder)
    put_shards(folder)
    (folder / "model-00001-of-00002.safetensors").unlink()


@recipe("foreign.md D: an extra tensor, left out by a flag", flags=["--skip", "model.extra"])
def extra_skipped(folder):
    put_hf(folder, tensors() | {"model.extra": torch.ones(3)})


@recipe("foreign.md D: a name of a program's own, renamed by a flag", flags=["--rename", "head.w=lm_head.weight"])
def head_renamed(folder):
    weights = tensors()
    weights["head.w"] = weights.pop("lm_head.weight")
    put_hf(folder, weights)


@recipe("foreign.md A: accelerate's SHARDED_STATE_DICT (accelerate#2772)", says="")
def accelerate_dcp(folder):
    put_config(folder)
    put_dcp(folder / "pytorch_model_fsdp_0", {"model": tensors()})
    return folder / "pytorch_model_fsdp_0"


@recipe("accelerate#2848: the folder above accelerate's shards", convert=["--skip", "optimizer.*"])
def accelerate_folder(folder):
    put_config(folder)
    put_dcp(folder / "pytorch_model_fsdp_0", {"model": tensors()})
    put_dcp(folder / "optimizer_0", {"optimizer": {"state": {"model.norm.weight": {"exp_avg": torch.zeros(DIM)}}}})


@recipe("sibling: the optimizer's .metadata was not copied", 12, "optimizer_0/.metadata is missing")
def accelerate_optimizer_cut(folder):
    accelerate_folder(folder)
    (folder / "optimizer_0/.metadata").unlink()


@recipe("sibling: the model's .metadata was not copied", 12, "pytorch_model_fsdp_0/.metadata is missing")
def accelerate_model_cut(folder):
    accelerate_folder(folder)
    (folder / "pytorch_model_fsdp_0/.metadata").unlink()


@recipe("foreign.md A: an application's own state around the model", says="the prefix `app.model.`")
def app_dcp(folder):
    put_config(folder)
    put_dcp(folder / "step", {"app": {"model": tensors()}})
    return folder / "step"


@recipe("the state dict of transformers 5: experts of a layer in two tensors", says="experts that are one tensor are taken apart")
def fused_experts_dcp(folder, save=None):
    put_config(folder, architectures=["MixtralForCausalLM"], model_type="mixtral", num_local_experts=4, num_experts_per_tok=2, sliding_window=None)
    weights = {name: tensor for name, tensor in tensors().items() if ".mlp." not in name}
    for i in range(LAYERS):
        weights |= {f"model.layers.{i}.mlp.gate.weight": torch.randn(4, DIM) * 0.1, f"model.layers.{i}.mlp.experts.gate_up_proj": torch.randn(4, 2 * FFN, DIM) * 0.1,
                    f"model.layers.{i}.mlp.experts.down_proj": torch.randn(4, DIM, FFN) * 0.1}
    (save or (lambda weights: put_dcp(folder, {"model": weights})))(weights)


@recipe("the same in safetensors by hand: save_file(model.state_dict())", says="experts that are one tensor are taken apart")
def fused_experts_hf(folder):
    fused_experts_dcp(folder, save=lambda weights: safetensors.torch.save_file(weights, folder / "model.safetensors"))


LEFT_OUT = "layers.1.moe.experts.0.w1.weight: no weight for this parameter"


@recipe("the same, one of the tensors left out by its name in the file", 13,
        {"convert --dry-run": "missing 'model.layers.1.block_sparse_moe.experts.0.w1.weight'", "plan": LEFT_OUT, "run": LEFT_OUT},
        flags=["--skip", "model.layers.1.mlp.experts.gate_up_proj"])
def fused_experts_skipped(folder):
    fused_experts_hf(folder)


@recipe("transformers#39447: the file has num_local_experts", 13, "config.json says num_local_experts = 4, the weights have 6: set num_local_experts to 6")
def qwen3_moe_experts(folder):
    put_config(folder, architectures=["Qwen3MoeForCausalLM"], model_type="qwen3_moe", head_dim=HEAD, num_local_experts=4, num_experts_per_tok=2, moe_intermediate_size=FFN)
    weights = {name: tensor for name, tensor in tensors().items() if ".mlp." not in name}
    for i in range(LAYERS):
        at = f"model.layers.{i}."
        weights |= {f"{at}self_attn.{name}_norm.weight": torch.ones(HEAD) for name in "qk"}
        weights |= {f"{at}mlp.gate.weight": torch.randn(6, DIM), f"{at}mlp.experts.gate_up_proj": torch.randn(6, 2 * FFN, DIM), f"{at}mlp.experts.down_proj": torch.randn(6, DIM, FFN)}
    safetensors.torch.save_file(weights, folder / "model.safetensors")


def adapted():
    """Names as PEFT's wrapper has them: the layers that it adapts have a base and two small matrices."""
    weights = {}
    for name, tensor in tensors().items():
        part = name.removesuffix(".weight")
        if part.endswith(("q_proj", "v_proj")):
            weights |= {f"base_model.model.{part}.base_layer.weight": tensor, f"base_model.model.{part}.lora_A.default.weight": torch.ones(2, tensor.shape[1]),
                        f"base_model.model.{part}.lora_B.default.weight": torch.ones(tensor.shape[0], 2)}
        else:
            weights[f"base_model.model.{name}"] = tensor
    return weights


@recipe("peft#3000, torchtune#506: the whole model with its adapters, not merged", 2, "an adapter (PEFT) that is not merged")
def lora_unmerged(folder):
    put_hf(folder, adapted())


@recipe("the same in DCP: accelerate's SHARDED_STATE_DICT", 2, "an adapter (PEFT) that is not merged")
def lora_unmerged_dcp(folder):
    put_config(folder)
    put_dcp(folder / "pytorch_model_fsdp_0", {"model": adapted()})


@recipe("the same, and the adapters are left out", 2, "an adapter (PEFT) that is not merged", flags=["--skip", "*lora_*"])
def lora_skipped_dcp(folder):
    lora_unmerged_dcp(folder)


@recipe("pytorch#113673: states by number, as torch's own state_dict has them", {"convert --dry-run": 13, "plan": 0, "run": 0},
        {"convert --dry-run": "--skip 'optimizer.*'"})
def numbered_states_dcp(folder):
    put_config(folder)
    put_dcp(folder / "step", {"model": tensors(), "optimizer": stepped(torch.optim.AdamW, list(tensors().values()))})
    return folder / "step"


@recipe("trl#368: a reward model that was saved as a language model", 13, "score.weight")
def reward_model(folder):
    weights = tensors()
    del weights["lm_head.weight"]
    put_hf(folder, weights | {"score.weight": torch.ones(1, DIM)})


@recipe("sibling: a reward model as transformers saves it", 2, "LlamaForSequenceClassification")
def reward_model_named(folder):
    put_hf(folder, tensors(tied=True) | {"score.weight": torch.ones(1, DIM)}, architectures=["LlamaForSequenceClassification"])


@recipe("axolotl#3073: names behind wrappers in DCP", says="`_orig_mod.` is taken off")
def compiled_dcp(folder):
    put_config(folder)
    put_dcp(folder / "step", {"model": {"_orig_mod." + n: t for n, t in tensors().items()}})
    return folder / "step"


@recipe("torchtitan's names, the model's numbers given", train=TITAN_ROWS, convert=["--config", "TITAN.toml"])
def torchtitan_dcp(folder):
    put_dcp(folder / "step-10", ours(tensors()))
    return folder / "step-10"


def put_mistral(folder, pieces=1, **changes):
    """Mistral's own layout: our names, rows interleaved."""
    params = {"dim": DIM, "n_layers": LAYERS, "head_dim": HEAD, "hidden_dim": FFN, "n_heads": HEADS, "n_kv_heads": KV, "norm_eps": 1e-5, "vocab_size": VOCAB, "rope_theta": 1e4}
    (folder / "params.json").write_text(json.dumps(params | changes))
    weights = sorted(ours(tensors()).items())
    for i in range(pieces):
        name = "consolidated.safetensors" if pieces == 1 else f"consolidated-{i + 1:05}-of-{pieces:05}.safetensors"
        safetensors.torch.save_file(dict(weights[i::pieces]), folder / name)


@recipe("foreign.md I: Mistral's own layout", keeps={"max_position_embeddings": 512})
def mistral_own(folder):
    put_mistral(folder, max_position_embeddings=512)


@recipe("sibling: in pieces")
def mistral_pieces(folder):
    put_mistral(folder, pieces=3)


@recipe("sibling: a window that slides", keeps={"sliding_window": 4096})
def mistral_window(folder):
    put_mistral(folder, sliding_window=4096, max_position_embeddings=512)


@recipe("sibling: Mistral 7B v0.1, whose params.json leaves the base of RoPE to the program", 13, "a sliding_window and no rope_theta")
def mistral_first(folder):
    put_mistral(folder, sliding_window=4096, rope_theta=None)


@recipe("sibling: windows of each layer", 2, "'sliding_window' is [")
def mistral_windows(folder):
    put_mistral(folder, sliding_window=[16, 32])


@recipe("sibling: params.json is a list", 13, "params.json is a list, expected a JSON object")
def params_list(folder):
    put_mistral(folder)
    (folder / "params.json").write_text("[]")


@recipe("sibling: a page in the place of params.json", 2, "params.json is a web page (HTML)")
def params_page(folder):
    put_mistral(folder)
    (folder / "params.json").write_text("<!DOCTYPE html><html></html>")


@recipe("sibling: a piece was not copied", 12, "of the files that")
def mistral_lacks_piece(folder):
    put_mistral(folder, pieces=3)
    (folder / "consolidated-00002-of-00003.safetensors").unlink()


@recipe("foreign.md B: everything in bfloat16", train=TITAN_ROWS, convert=["--config", "TITAN.toml"])
def torchtitan_bf16(folder):
    put_dcp(folder / "step-10", ours(tensors(dtype=torch.bfloat16)))
    return folder / "step-10"


# ---- disagreement (13) ------------------------------------------------------------------------------------------------------------------------------

@recipe("foreign.md E (a); AReaL#149: embeddings that were resized", 13, "set vocab_size to 320")
def vocab_grown(folder):
    put_hf(folder, tensors(vocab=320))


@recipe("foreign.md E (a): one token more", 13, "set vocab_size to 257")
def vocab_one_more(folder):
    put_hf(folder, tensors(vocab=257))


@recipe("FLAP#7: pruned feed-forward", 13, "set intermediate_size to 64")
def ffn_other(folder):
    put_hf(folder, intermediate_size=96)


@recipe("sibling: heads", 13, "set num_attention_heads to 4")
def heads_other(folder):
    put_hf(folder, num_attention_heads=2, head_dim=HEAD)


@recipe("sibling: KV heads", 13, "set num_key_value_heads to 2")
def kv_heads_other(folder):
    put_hf(folder, num_key_value_heads=4)


@recipe("sibling: width", 13, "set hidden_size to 32")
def width_other(folder):
    put_hf(folder, hidden_size=64)


@recipe("optipfair#20: a model whose layers were pruned", 13, "set num_hidden_layers to 1")
def layers_fewer(folder):
    put_hf(folder, tensors(layers=1))


@recipe("sibling: more layers than said", 13, "set num_hidden_layers to 3")
def layers_more(folder):
    put_hf(folder, tensors(layers=3))


@recipe("foreign.md E (f); transformers#20082, OpenRLHF#651: ZeRO-3 saved without gathering", 13, "saved without gathering")
def zero3_empty(folder):
    put_hf(folder, {n: torch.empty(0) for n in tensors()})


@recipe("sibling: one dimension is empty", 13, "saved without gathering")
def zero3_no_rows(folder):
    put_hf(folder, {n: torch.empty(0, *t.shape[1:]) for n, t in tensors().items()})


@recipe("foreign.md E (a) in DCP", 13, "set vocab_size to 320")
def vocab_grown_dcp(folder):
    put_config(folder)
    put_dcp(folder / "step", {"model": tensors(vocab=320)})
    return folder / "step"


@recipe("foreign.md E (c): 40 zero bytes beside whole shards", 13, "and the 2 files of model.safetensors.index.json")
def zeros_beside_shards(folder):
    put_config(folder)
    put_shards(folder)
    (folder / "model.safetensors").write_bytes(bytes(40))


@recipe("sibling of E (c): cut short beside whole shards", 13, "and the 2 files of model.safetensors.index.json")
def cut_beside_shards(folder):
    put_hf(folder)
    put_shards(folder)
    data = (folder / "model.safetensors").read_bytes()
    (folder / "model.safetensors").write_bytes(data[:len(data) // 2])


@recipe("foreign.md F; mlx-vlm#1464: other values beside the shards", 13, "has other values")
def two_models(folder):
    put_hf(folder)
    put_shards(folder, {n: t + 1 for n, t in tensors().items()})


@recipe("Qwen3-VL-Embedding#89: untied by its config, and no head", 13, "set tie_word_embeddings to true")
def untied_without_head(folder):
    put_hf(folder, tensors(tied=True))


@recipe("glmasr of transformers#46456: tied by its config, and another head", 13, "set tie_word_embeddings to false")
def tied_with_other_head(folder):
    put_hf(folder, tie_word_embeddings=True)


@recipe("foreign.md D: an extra tensor", 13, "--skip")
def extra_tensor(folder):
    put_hf(folder, tensors() | {"model.extra": torch.ones(3)})


@recipe("sibling: a tensor is missing", 13, "norm.weight")
def tensor_missing(folder):
    weights = tensors()
    del weights["model.norm.weight"]
    put_hf(folder, weights)


@recipe("second-me#105 and others: config.json was not copied", 13, "no config.json")
def no_config(folder):
    put_hf(folder)
    (folder / "config.json").unlink()


@recipe("sibling: a key is missing", 13, "'hidden_size' is missing")
def config_lacks_key(folder):
    put_hf(folder, hidden_size=...)


@recipe("sibling: a text for a number", 13, "'vocab_size' is not an integer")
def config_text(folder):
    put_hf(folder, vocab_size="256")


@recipe("sibling: a list", 13, "is a list, expected a JSON object")
def config_list(folder):
    put_hf(folder)
    (folder / "config.json").write_text("[]")


@recipe("foreign.md A: Hugging Face's names in DCP, and nobody says the heads", 13, "")
def dcp_without_config(folder):
    put_dcp(folder / "step", {"model": tensors()})
    return folder / "step"


@recipe("sibling: names that nobody knows", 13, "")
def strangers(folder):
    put_hf(folder, {"net." + n.replace("layers", "blocks").replace("proj", "lin"): t for n, t in tensors().items()})


@recipe("LLaVA#1278, axolotl#1191: weights that diverged", {"convert --dry-run": 0, "plan": 13, "run": 13},
        {"plan": "weight norm.weight of", "run": "weight norm.weight of"})  # a conversion keeps the bits
def nan_weight(folder):
    weights = tensors()
    weights["model.norm.weight"][3] = float("nan")
    put_hf(folder, weights)


# ---- what is not read (2) ---------------------------------------------------------------------------------------------------------------------------

@recipe("transformers#27923, OmniParser#34: cloned without git-lfs", 2, "a pointer of git-lfs")
def lfs_pointer(folder):
    put_config(folder)
    (folder / "model.safetensors").write_text("version https://git-lfs.github.com/spec/v1\noid sha256:" + "0" * 64 + "\nsize 269060552\n")


@recipe("sibling: the shards of a DCP directory are pointers", 2, "a pointer of git-lfs")
def lfs_distcp(folder):
    put_config(folder)
    put_dcp(folder, {"model": tensors()})
    (folder / "__0_0.distcp").write_text("version https://git-lfs.github.com/spec/v1\noid sha256:1\nsize 9\n")


@recipe("sibling: the configuration is a pointer, too", 2, "a pointer of git-lfs")
def lfs_config(folder):
    put_hf(folder)
    (folder / "config.json").write_text("version https://git-lfs.github.com/spec/v1\noid sha256:" + "0" * 64 + "\nsize 700\n")


@recipe("ComfyUI#13669: what the server answered was saved", 2, "a web page (HTML)")
def web_page(folder):
    put_config(folder)
    (folder / "model.safetensors").write_text("<!DOCTYPE html><html><body>Sign in</body></html>\n" * 20)


@recipe("sibling: an answer of a hub", 2, "is JSON, whatever its name says")
def json_answer(folder):
    put_config(folder)
    (folder / "model.safetensors").write_text('{"error":"Repository not found"}')


@recipe("sibling: an answer of a store", 2, "an XML document")
def error_page(folder):
    put_config(folder)
    (folder / "model.safetensors").write_text('<?xml version="1.0"?><Error><Code>AccessDenied</Code></Error>' * 20)


@recipe("sibling: torch.save under the name of safetensors", 2, "a pickle of PyTorch")
def torch_save_named_safetensors(folder):
    put_config(folder)
    torch.save(tensors(), folder / "model.safetensors")


@recipe("sibling: an archive under the name of safetensors", 2, "a zip archive")
def zip_named_safetensors(folder):
    put_config(folder)
    with zipfile.ZipFile(folder / "model.safetensors", "w") as archive:
        archive.writestr("weights.txt", "x" * 100)


@recipe("a pickle as a file", 2, "a pickle of PyTorch")
def torch_file(folder):
    torch.save(tensors(), folder / "model.pt")
    return folder / "model.pt"


@recipe("a pickle of Python", 2, "a pickle of Python")
def python_pickle(folder):
    (folder / "model.pkl").write_bytes(pickle.dumps({"a": 1}, protocol=4) + bytes(100))
    return folder / "model.pkl"


@recipe("MLX of old: npz", 2, "an archive of NumPy arrays")
def mlx_npz(folder):
    np.savez(folder / "weights.npz", **{n: t.numpy() for n, t in tensors().items()})
    return folder / "weights.npz"


@recipe("MLX of old, the folder", 2, "a model of MLX")
def mlx_folder(folder):
    put_config(folder)
    np.savez(folder / "weights.npz", **{n: t.numpy() for n, t in tensors().items()})


FAKE_RANKS = threading.Lock()  # torch has one process group at a time


def put_verl(folder, world=2, placement=Shard(0)):
    """As FSDP2 leaves a model on `world` ranks, each of which this process plays in turn."""
    (folder / "huggingface").mkdir()
    put_config(folder / "huggingface")
    for rank in range(world):
        with FAKE_RANKS:
            dist.init_process_group("fake", rank=rank, world_size=world, store=FakeStore())
            mesh = init_device_mesh("cpu", (world,))
            state = {}
            for name, tensor in tensors().items():
                part = tensor.chunk(world)[rank].clone() if isinstance(placement, Shard) else tensor
                state[name] = DTensor.from_local(part, mesh, [placement], run_check=False, shape=tensor.shape, stride=tensor.stride())
            torch.save(state, folder / f"model_world_size_{world}_rank_{rank}.pt")
            dist.destroy_process_group()


@recipe("sibling of transformers#48802: of the shards of two ranks only the first was copied", 13, {"convert --dry-run": "copy those of the others, too"})
def shards_lack_last(folder):
    put_config(folder)
    with FAKE_RANKS:
        dist.init_process_group("fake", rank=0, world_size=2, store=FakeStore())
        mesh = init_device_mesh("cpu", (2,))
        parts = {name: DTensor.from_local(tensor.chunk(2)[0].clone(), mesh, [Shard(0)], run_check=False, shape=tensor.shape, stride=tensor.stride())
                 for name, tensor in tensors().items()}
        dcp.save(parts, storage_writer=dcp.HuggingFaceStorageWriter(path=str(folder), save_distributed=True), no_dist=True)
        dist.destroy_process_group()


@recipe("foreign.md I; verl#533, verl#2252, SkyRL#603")
def verl(folder):
    put_verl(folder)


@recipe("sibling: verl's folder above, and a parameter that is not sharded")
def verl_step(folder):
    (folder / "global_step_9" / "actor").mkdir(parents=True)
    put_verl(folder / "global_step_9" / "actor", placement=Replicate())
    return folder / "global_step_9"


@recipe("sibling: a rank's file was not copied", 12, "lacks model_world_size_2_rank_1.pt")
def verl_lacks_rank(folder):
    put_verl(folder)
    (folder / "model_world_size_2_rank_1.pt").unlink()


@recipe("sibling: a rank's file was cut short", 12, "rank_1.pt")
def verl_cut(folder):
    put_verl(folder)
    path = folder / "model_world_size_2_rank_1.pt"
    path.write_bytes(path.read_bytes()[:-1000])


@recipe("sibling: no config.json", 13, "no config.json")
def verl_without_config(folder):
    put_verl(folder)
    (folder / "huggingface/config.json").unlink()


@recipe("foreign.md I: DeepSpeed's step alone, without anything in it", 12, "no 'param_shapes'")
def deepspeed_step(folder):
    torch.save({}, folder / "zero_pp_rank_0_mp_rank_00_model_states.pt")
    torch.save({}, folder / "zero_pp_rank_0_mp_rank_00_optim_states.pt")


@recipe("sibling: ZeRO 1 and 2", 12, "no 'param_shapes'")
def deepspeed_zero2(folder):
    torch.save({}, folder / "mp_rank_00_model_states.pt")
    torch.save({}, folder / "bf16_zero_pp_rank_0_mp_rank_00_optim_states.pt")


@recipe("sibling: the folder above", 2, "a DeepSpeed checkpoint")
def deepspeed_folder(folder):
    (folder / "latest").write_text("global_step100")
    (folder / "global_step100").mkdir()


@recipe("Megatron of old", 2, "a Megatron checkpoint")
def megatron(folder):
    (folder / "iter_0000100/mp_rank_00").mkdir(parents=True)
    torch.save({}, folder / "iter_0000100/mp_rank_00/model_optim_rng.pt")
    return folder / "iter_0000100"


def put_megatron(folder, **changes):
    """A step of Megatron-Core's torch_dist as one rank saves it, layers in one tensor."""
    arguments = argparse.Namespace(**{"num_layers": LAYERS, "hidden_size": DIM, "num_attention_heads": HEADS, "group_query_attention": True, "num_query_groups": KV, "ffn_hidden_size": FFN,
                                      "norm_epsilon": 1e-5, "rotary_base": 10000, "normalization": "RMSNorm", "swiglu": True, "untie_embeddings_and_output_weights": True, "num_experts": None, **changes})
    weights, groups = tensors(), HEADS // KV

    def stacked(*parts):
        return torch.stack([torch.cat([weights[f"model.layers.{i}.{part}.weight"] for part in parts]) for i in range(LAYERS)])
    fused = [torch.cat([part.reshape(KV, -1, HEAD, DIM) for part in (weights[f"model.layers.{i}.self_attn.{x}_proj.weight"] for x in "qkv")], dim=1) for i in range(LAYERS)]
    assert fused[0].shape[1] == groups + 2
    put_dcp(folder, {"embedding.word_embeddings.weight": weights["model.embed_tokens.weight"], "decoder.final_layernorm.weight": weights["model.norm.weight"],
                     "output_layer.weight": weights["lm_head.weight"], "decoder.layers.self_attention.linear_qkv.weight": torch.stack(fused).reshape(LAYERS, -1, DIM),
                     "decoder.layers.self_attention.linear_qkv.layer_norm_weight": stacked("input_layernorm"), "decoder.layers.self_attention.linear_proj.weight": stacked("self_attn.o_proj"),
                     "decoder.layers.mlp.linear_fc1.layer_norm_weight": stacked("post_attention_layernorm"), "decoder.layers.mlp.linear_fc1.weight": stacked("mlp.gate_proj", "mlp.up_proj"),
                     "decoder.layers.mlp.linear_fc2.weight": stacked("mlp.down_proj")})
    torch.save({"args": arguments, "checkpoint_version": 3.0, "iteration": 100}, folder / "common.pt")
    (folder / "metadata.json").write_text('{"sharded_backend": "torch_dist", "sharded_backend_version": 1}')


@recipe("Megatron-LM: the plain case, by the folder of the run")
def megatron_dist(folder):
    (folder / "iter_0000100").mkdir()
    put_megatron(folder / "iter_0000100")
    (folder / "latest_checkpointed_iteration.txt").write_text("100")


@recipe("Megatron-LM: Mixtral", 2, "the argument num_experts is int 8")
def megatron_experts(folder):
    put_megatron(folder, num_experts=8)


@recipe("Megatron-LM: stopped while it saved", 13, "Megatron writes it last")
def megatron_unfinished(folder):
    put_megatron(folder)
    (folder / "metadata.json").unlink()


@recipe("Megatron-LM: arguments of another run", 13, "has 64 rows, its model makes it")
def megatron_other_arguments(folder):
    put_megatron(folder, num_query_groups=1)


@recipe("Megatron-LM: a file of the directory is gone", 12, "is missing; the metadata names it")
def megatron_without_files(folder):
    put_megatron(folder)
    for file in folder.glob("*.distcp"):
        file.unlink()


@recipe("nanotron, stopped while it saved", 13, "has no model_config.json")
def nanotron(folder):
    (folder / "model").mkdir()
    (folder / "checkpoint_metadata.json").write_text("{}")


@recipe("NeMo 2", 2, "a NeMo checkpoint")
def nemo(folder):
    (folder / "context").mkdir()
    (folder / "weights").mkdir()


@recipe("Orbax", 2, "a checkpoint of Orbax")
def orbax(folder):
    (folder / "manifest.ocdbt").write_bytes(b"\x0c\xdb")


def gguf_string(text):
    return struct.pack("<Q", len(text.encode())) + text.encode()


def put_gguf(path, arch="llama", **numbers):
    """As llama.cpp's convert_hf_to_gguf.py lays a file out: rows of queries and keys interleaved, names of its own, data aligned to 32."""
    names = {"tok_embeddings": "token_embd", "attention.wq": "attn_q", "attention.wk": "attn_k", "attention.wv": "attn_v", "attention.wo": "attn_output", "feed_forward.w1": "ffn_gate",
             "feed_forward.w2": "ffn_down", "feed_forward.w3": "ffn_up", "attention_norm": "attn_norm", "layers": "blk"}
    values = {"block_count": LAYERS, "context_length": 256, "embedding_length": DIM, "feed_forward_length": FFN, "attention.head_count": HEADS, "attention.head_count_kv": KV} | numbers
    keys = [gguf_string("general.architecture") + struct.pack("<I", 8) + gguf_string(arch)]
    keys += [gguf_string(f"{arch}.{key}") + struct.pack("<II", 4, value) for key, value in values.items()]
    keys += [gguf_string(f"{arch}.{key}") + struct.pack("<If", 6, value) for key, value in (("attention.layer_norm_rms_epsilon", 1e-5), ("rope.freq_base", 10000.0))]
    infos, data = [], b""
    for name, tensor in ours(tensors()).items():
        for theirs, short in names.items():
            name = name.replace(theirs, short)
        name = "output_norm.weight" if name == "norm.weight" else name
        infos.append(gguf_string(name) + struct.pack(f"<I{tensor.dim()}QIQ", tensor.dim(), *reversed(tensor.shape), 0, len(data)))
        data += tensor.numpy().tobytes()
        data += bytes(-len(data) % 32)
    head = b"GGUF" + struct.pack("<IQQ", 3, len(infos), len(keys)) + b"".join(keys + infos)
    path.write_bytes(head + bytes(-len(head) % 32) + data)


@recipe("llama.cpp's convert_hf_to_gguf.py: the folder of the file")
def gguf_folder(folder):
    put_gguf(folder / "model-F32.gguf")


@recipe("llama.cpp's convert_hf_to_gguf.py: the file", keeps={"max_position_embeddings": 256})
def gguf_file(folder):
    put_gguf(folder / "model-F32.gguf")
    put_gguf(folder / "other.gguf")
    return folder / "model-F32.gguf"


@recipe("a repository of many quantisations", 10, "holds several GGUF files")
def gguf_several(folder):
    put_gguf(folder / "a-Q4.gguf")
    put_gguf(folder / "a-Q8.gguf")


@recipe("Mixtral in GGUF", 2, "llama.expert_count")
def gguf_experts(folder):
    put_gguf(folder / "moe.gguf", expert_count=8)


@recipe("Gemma in GGUF", 2, "architecture 'gemma3'")
def gguf_gemma3(folder):
    put_gguf(folder / "gemma.gguf", arch="gemma3")


@recipe("sibling: a file that says qwen3 and has no norms of queries", 13, "q_norm.weight")
def gguf_qwen3(folder):
    put_gguf(folder / "qwen3.gguf", arch="qwen3")


@recipe("GGUF without a word about its model", 13, "does not say its architecture")
def gguf_bare(folder):
    (folder / "model-Q4_K_M.gguf").write_bytes(b"GGUF\x03\0\0\0" + bytes(100))


@recipe("pyllama#102, fsdp_qlora#70: quantized by GPTQ", 2, "quantized by gptq")
def gptq(folder):
    put_hf(folder, quantization_config={"quant_method": "gptq", "bits": 4})


@recipe("quantized by bitsandbytes", 2, "quantized by bitsandbytes")
def bitsandbytes(folder):
    put_hf(folder, quantization_config={"quant_method": "bitsandbytes", "load_in_4bit": True})


@recipe("mlx-community's folders", 2, "quantized (quantization)")
def mlx_quantized(folder):
    put_hf(folder, quantization={"group_size": 64, "bits": 4})


@recipe("FP8 weights without scales", 13, "has no quantization_config")
def fp8(folder):
    put_hf(folder, {n: t.to(torch.float8_e4m3fn) if t.dim() == 2 else t for n, t in tensors().items()})


@recipe("FP8 of DeepSeek's and Qwen's kind: a scale for each block", says="tensors of F8_E4M3 with scales of blocks")
def fp8_blocks(folder):
    weights, size = {}, 24  # not a divisor of any dimension
    for name, tensor in tensors().items():
        if "proj" not in name:
            weights[name] = tensor
            continue
        rows, columns = (-(-extent // size) for extent in tensor.shape)
        scales = torch.stack([torch.stack([tensor[i * size:(i + 1) * size, j * size:(j + 1) * size].abs().max() / 448 for j in range(columns)]) for i in range(rows)])
        weights[name] = (tensor / scales.repeat_interleave(size, 0)[:len(tensor)].repeat_interleave(size, 1)[:, :tensor.shape[1]]).to(torch.float8_e4m3fn)
        weights[f"{name}_scale_inv"] = scales
    put_hf(folder, weights, quantization_config={"quant_method": "fp8", "activation_scheme": "dynamic", "weight_block_size": [size, size]})


@recipe("another family", 2, "GraniteForCausalLM")
def granite(folder):
    put_hf(folder, architectures=["GraniteForCausalLM"], model_type="granite")


# ---- damage (12) ------------------------------------------------------------------------------------------------------------------------------------

@recipe("ComfyUI#6744, airllm#137: a download that was cut short", 12, "")
def cut_short(folder):
    put_hf(folder)
    data = (folder / "model.safetensors").read_bytes()
    (folder / "model.safetensors").write_bytes(data[:len(data) // 2])


@recipe("PersuGPT#2: one of the shards is cut short", 12, "")
def shard_cut_short(folder):
    put_config(folder)
    put_shards(folder)
    path = folder / "model-00001-of-00002.safetensors"
    path.write_bytes(path.read_bytes()[:-100])


@recipe("a shard was not downloaded", 12, "is missing; the index names it")
def shard_missing(folder):
    put_config(folder)
    put_shards(folder)
    (folder / "model-00002-of-00002.safetensors").unlink()


@recipe("a file that was only given its length", 12, "all zero")
def zeros(folder):
    put_config(folder)
    (folder / "model.safetensors").write_bytes(bytes(4096))


@recipe("an interrupted copy", 12, "too few")
def empty_file(folder):
    put_config(folder)
    (folder / "model.safetensors").write_bytes(b"")


@recipe("a configuration that was cut short", 12, "config.json")
def config_cut(folder):
    put_hf(folder)
    (folder / "config.json").write_text((folder / "config.json").read_text()[:60])


@recipe("torchtitan#3764: an entry without a type", 12, "dtype ''")
def empty_dtype(folder):
    put_hf(folder)
    rewrite_header(folder / "model.safetensors", lambda header: header | {"ghost": {"dtype": "", "shape": [], "data_offsets": [0, 0]}})


@recipe("a DCP directory whose .metadata was not copied", 12, ".metadata is missing")
def dcp_without_metadata(folder):
    put_config(folder)
    put_dcp(folder / "step", {"model": tensors()})
    (folder / "step/.metadata").unlink()
    return folder / "step"


@recipe("a DCP directory that lacks a file", 12, "is missing; the metadata names it")
def dcp_lacks_file(folder):
    put_config(folder)
    put_dcp(folder / "step", {"model": tensors()})
    for path in (folder / "step").glob("*.distcp"):
        path.unlink()
    return folder / "step"


# ---- nothing there (10) -----------------------------------------------------------------------------------------------------------------------------

@recipe("LlamaFactory#1097: an adapter alone", 10, "an adapter (PEFT)")
def lora(folder):
    safetensors.torch.save_file({"base_model.model.x.lora_A.weight": torch.ones(2, 2)}, folder / "adapter_model.safetensors")
    (folder / "adapter_config.json").write_text("{}")


@recipe("axolotl#1191: pytorch_model.bin", 10, "weights in pickles are not read")
def pytorch_model_bin(folder):
    put_config(folder)
    torch.save(tensors(), folder / "pytorch_model.bin")


@recipe("accelerate's FULL_STATE_DICT: pickles", 10, "weights in pickles are not read")
def accelerate_full(folder):
    put_config(folder)
    torch.save(tensors(), folder / "pytorch_model_fsdp.bin")
    torch.save({"state": {}, "param_groups": []}, folder / "optimizer.bin")


@recipe("sibling: accelerate 1.15 without DCP, a pickle of each rank", 10, "in pickles")
def accelerate_rank_files(folder):
    put_config(folder)
    for rank in range(2):
        torch.save(tensors(), folder / f"pytorch_model_fsdp_0_rank{rank}.bin")
        torch.save({"state": {}, "param_groups": []}, folder / f"optimizer_0_rank{rank}.bin")


@recipe("Meta's own files", 10, "convert_llama_weights_to_hf")
def meta_files(folder):
    (folder / "params.json").write_text('{"dim": 32}')
    torch.save(ours(tensors()), folder / "consolidated.00.pth")


@recipe("shards without their index", 10, "which says what is in which file")
def shards_without_index(folder):
    put_config(folder)
    put_shards(folder)
    (folder / "model.safetensors.index.json").unlink()


@recipe("an empty folder", 10, "")
def empty_folder(folder):
    pass


@recipe("a folder that is not there", 10, "")
def not_there(folder):
    return folder / "nowhere"


@recipe("sibling of foreign.md B: a weight of an integer type", 13, "expected a float type")
def integer_weight(folder):
    put_hf(folder, tensors() | {"model.norm.weight": torch.ones(DIM, dtype=torch.int64)})


@recipe("sibling of foreign.md F: a DCP step in the folder of an export", 13, "holds two checkpoints")
def export_beside_dcp(folder):
    put_hf(folder)
    put_dcp(folder, {"model": tensors()})


@recipe("sibling of foreign.md F: Mistral's single file beside its pieces", 13, "holds two models")
def mistral_twice(folder):
    (folder / "params.json").write_text('{"dim": 32}')
    for name in ("consolidated.safetensors", "consolidated-00001-of-00001.safetensors"):
        safetensors.torch.save_file(ours(tensors()), folder / name)


@recipe("sibling of foreign.md I: Mistral's weights alone", 13, "no params.json")
def mistral_without_params(folder):
    safetensors.torch.save_file(ours(tensors()), folder / "consolidated.safetensors")


# ---- precision of a state ----------------------------------------------------------------------------------------------------------------------------

STATE_STEP, STATE_LR = 3, 1e-3


def put_state(folder, weights=torch.float32, moments=torch.float32, counts=torch.float32, spoil=None):
    """As torchtitan 0.2.2 saves a run, flattened; `spoil` changes the state before it is written."""
    model = ours(tensors(dtype=weights))
    optimizer = {}
    for name, tensor in model.items():
        optimizer |= {f"state.{name}.exp_avg": (tensor * 0.01).to(moments), f"state.{name}.exp_avg_sq": (tensor * tensor * 0.001).to(moments),
                      f"state.{name}.step": torch.tensor(float(STATE_STEP), dtype=counts)}
        group = {"lr": STATE_LR, "initial_lr": STATE_LR, "betas": (0.9, 0.95), "eps": 1e-8, "weight_decay": 0.1, "amsgrad": False, "maximize": False, "foreach": False,
                 "fused": True, "capturable": False, "differentiable": False, "decoupled_weight_decay": True}
        optimizer |= {f"param_groups.{name}.{field}": value for field, value in group.items()}
    if spoil:
        spoil(optimizer)
    put_dcp(folder, {**model, "optimizer": optimizer, "train_state": {"step": STATE_STEP, "ntokens_seen": 48}, "dataloader": {"world_size": 1},
                     "lr_scheduler": {"base_lrs": [STATE_LR], "last_epoch": STATE_STEP, "_step_count": STATE_STEP + 1, "_last_lr": [STATE_LR]}})


def not_finite(optimizer):
    optimizer["state.norm.weight.exp_avg"][3] = float("nan")


def one_behind(optimizer):
    optimizer["state.norm.weight.step"] = torch.tensor(2.0)


state("the plain case")
state("foreign.md B (a): everything in bfloat16", says="bfloat16", weights=torch.bfloat16, moments=torch.bfloat16)
state("foreign.md B (b): moments in bfloat16", says="bfloat16", moments=torch.bfloat16)
state("foreign.md B (c): counts in bfloat16", 2, "where a number is expected", counts=torch.bfloat16)
state("sibling: everything in float16", says="float16", weights=torch.float16, moments=torch.float16)
state("sibling: weights alone in bfloat16", says="bfloat16", weights=torch.bfloat16)
state("sibling: moments in float64", 13, "a resume needs its state as float32", moments=torch.float64)
state("sibling: a moment that is not a number", 13, "norm.weight.exp_avg", spoil=not_finite)
state("sibling: a count of another step", 13, "norm.weight.step", spoil=one_behind)
