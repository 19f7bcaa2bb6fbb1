#!/usr/bin/env python3
"""save_there.py FOLDER [NAME ...]: trains tiny models of Megatron-Core for 15 steps on the CPU, and keeps what its dist_checkpointing writes at step 5 (`normed`: 1).

By hand: what it made is kept beside it, but for `dp`, and ../nanotron_steps.py goes on from there. Made with megatron-core 0.16.1 (PyPI) under torch 2.11:

    pip install --target SITE --no-deps megatron-core==0.16.1 packaging einops psutil
    PYTHONPATH=SITE .deps/venv/bin/python save_there.py FOLDER
    for name in plain reshardable layers normed; do tar --owner=0 --group=0 --mtime=@0 --sort=name --exclude='held_*' -C FOLDER -cJf $name.tar.xz $name; done

Nothing of Megatron is changed. Where it asks for a GPU it gets the CPU; Gloo stands for NCCL. The package has no training script, so the state of a step is
put together as megatron/training/checkpointing.py does (generate_state_dict), with the arguments that a reader needs. FOLDER/NAME is the run's folder; held_RANK.pt in it
is what the rank's module held then. FOLDER/NAME.json (together: measured.json) has losses and learning rates of all steps and, where one rank has all, the logits of the saved step for the next step's first row.
"""
import argparse
import contextlib
import json
import os
import pathlib
import sys
import warnings

import psutil
import torch
from torch.overrides import TorchFunctionMode

torch.set_num_threads(1)  # before ranks are forked
warnings.simplefilter("ignore")

from megatron.core import dist_checkpointing, parallel_state  # noqa: E402
from megatron.core.dist_checkpointing.mapping import ShardedObject  # noqa: E402
from megatron.core.dist_checkpointing.strategies.torch import TorchDistSaveShardedStrategy  # noqa: E402
from megatron.core.distributed import DistributedDataParallel, DistributedDataParallelConfig, finalize_model_grads  # noqa: E402
from megatron.core.models.gpt.gpt_layer_specs import get_gpt_layer_local_spec  # noqa: E402
from megatron.core.models.gpt.gpt_model import GPTModel  # noqa: E402
from megatron.core.optimizer import OptimizerConfig, get_megatron_optimizer  # noqa: E402
from megatron.core.optimizer_param_scheduler import OptimizerParamScheduler  # noqa: E402
from megatron.core.pipeline_parallel import get_forward_backward_func  # noqa: E402
from megatron.core.tensor_parallel.random import CudaRNGStatesTracker  # noqa: E402
from megatron.core.transformer.transformer_config import TransformerConfig  # noqa: E402

VOCAB, PADDED, BATCH, LENGTH, SAVED, STEPS, WARMUP = 30, 32, 4, 16, 5, 15, 2
PEAK, LEAST, DECAY = 1e-2, 1e-3, 0.1
HIDDEN, LAYERS, HEADS, GROUPS, HEAD, INNER = 12, 2, 4, 2, 8, 20
# name: (TP, PP, DP), bf16, form of the optimizer, style of the decay, further settings
CASES = {
    "plain": ((1, 1, 1), False, None, "cosine", {}),
    "reshardable": ((2, 2, 1), True, "fully_reshardable", "linear", {}),
    "layers": ((2, 1, 1), False, None, "linear", {"qkv_bias": True, "tied": True, "singleton": True}),
    "normed": ((1, 2, 1), True, None, "WSD", {"qk_norm": True, "rms_eps": 1e-6, "saved": 1}),
    "dp": ((1, 1, 1), True, "dp_reshardable", "linear", {}),
}


class OnCpu(TorchFunctionMode):
    """Where a GPU is asked for, the CPU answers."""
    def __torch_function__(self, call, types, arguments=(), named=None):
        named = dict(named or {})
        if "cuda" in str(named.get("device", "")):
            named["device"] = "cpu"
        if call is torch.Tensor.cuda:
            return arguments[0]
        if call is torch.Tensor.type and len(arguments) == 1 and not named:
            return call(arguments[0]).replace("torch.", "torch.cuda.")
        return call(*arguments, **named)


def ids(step):
    """The tokens of a step: what is in a formula need not be kept."""
    at = torch.arange(BATCH * (LENGTH + 1)).view(BATCH, LENGTH + 1) + step * BATCH * (LENGTH + 1)
    return (at * at // 7 + at * 13) % VOCAB


def run_rank(rank, port, name, folder):
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    (tp, pp, dp), bf16, form, style, more = CASES[name]
    saved = more.get("saved", SAVED)
    world = tp * pp * dp
    torch.cuda.current_device = lambda: "cpu"
    torch.cuda.synchronize = lambda *arguments: None
    os.environ.update(RANK=str(rank), WORLD_SIZE=str(world), MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    torch.distributed.init_process_group("gloo", rank=rank, world_size=world)

    CudaRNGStatesTracker.fork = lambda *arguments: contextlib.nullcontext()  # there is no dropout
    parallel_state.initialize_model_parallel(tp, pp)
    dtype = torch.bfloat16 if bf16 else torch.float32
    config = TransformerConfig(
        num_layers=LAYERS, hidden_size=HIDDEN, num_attention_heads=HEADS, num_query_groups=GROUPS, kv_channels=HEAD, ffn_hidden_size=INNER, normalization="RMSNorm",
        layernorm_epsilon=more.get("rms_eps", 1e-5), gated_linear_unit=True, activation_func=torch.nn.functional.silu, add_bias_linear=False, add_qkv_bias=more.get("qkv_bias", False),
        qk_layernorm=more.get("qk_norm", False), hidden_dropout=0.0, attention_dropout=0.0, bf16=bf16, params_dtype=dtype, pipeline_dtype=dtype, tensor_model_parallel_size=tp,
        pipeline_model_parallel_size=pp, use_cpu_initialization=True, gradient_accumulation_fusion=False, masked_softmax_fusion=False, bias_activation_fusion=False,
        bias_dropout_fusion=False, apply_rope_fusion=False, persist_layer_norm=False, init_method_std=0.2)
    torch.manual_seed(7)
    model = GPTModel(config, get_gpt_layer_local_spec(normalization="RMSNorm", qk_layernorm=config.qk_layernorm), vocab_size=PADDED, max_sequence_length=LENGTH,
                     pre_process=parallel_state.is_pipeline_first_stage(), post_process=parallel_state.is_pipeline_last_stage(),
                     share_embeddings_and_output_weights=more.get("tied", False), position_embedding_type="rope", rotary_base=10000)
    for key, parameter in sorted(model.named_parameters()):  # biases and norms are no constants then
        if parameter.dim() == 1:
            torch.manual_seed(sum(map(ord, key)))
            parameter.data.add_(torch.randn(64)[:len(parameter)] * 0.1)
    model = model.to(dtype)
    wrapped = DistributedDataParallel(config, DistributedDataParallelConfig(use_distributed_optimizer=form is not None), model)
    wrapped.broadcast_params()
    config.finalize_model_grads_func = finalize_model_grads
    config.no_sync_func = None
    optimizer = get_megatron_optimizer(OptimizerConfig(optimizer="adam", lr=PEAK, min_lr=LEAST, weight_decay=DECAY, adam_beta1=0.9, adam_beta2=0.95, adam_eps=1e-8, bf16=bf16,
                                                       params_dtype=dtype, use_distributed_optimizer=form is not None, clip_grad=1.0), [wrapped])
    schedule = OptimizerParamScheduler(optimizer, init_lr=0.0, max_lr=PEAK, min_lr=LEAST, lr_warmup_steps=WARMUP * BATCH, lr_decay_steps=STEPS * BATCH, lr_decay_style=style,
                                       start_wd=DECAY, end_wd=DECAY, wd_incr_steps=STEPS * BATCH, wd_incr_style="constant", wsd_decay_steps=6 * BATCH, lr_wsd_decay_style="minus_sqrt")
    causal = torch.triu(torch.ones(1, 1, LENGTH, LENGTH, dtype=torch.bool), diagonal=1)
    places = torch.arange(LENGTH)[None]
    kept = {}

    def forward(rows, chunk):
        batch = next(rows)
        out = chunk(batch[:, :-1], places, causal, labels=batch[:, 1:])

        def loss(tensor):
            mean = tensor.float().mean()
            return mean, {"loss": mean.detach().clone()}
        return out, loss

    losses, rates = [], []
    for step in range(STEPS):
        if step == saved:
            kept |= save(step, folder / name, locals())
        wrapped.zero_grad_buffer()
        optimizer.zero_grad()
        rows = ids(step)[parallel_state.get_data_parallel_rank()::dp]
        parts = len(rows) // 2
        done = get_forward_backward_func()(forward_step_func=forward, data_iterator=iter(rows.chunk(parts)), model=wrapped, num_microbatches=parts, seq_length=LENGTH,
                                           micro_batch_size=2, forward_only=False)
        rates.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        schedule.step(increment=BATCH)
        mean = torch.stack([one["loss"] for one in done]).mean() if done else torch.zeros(())
        if dp > 1:
            torch.distributed.all_reduce(mean, group=parallel_state.get_data_parallel_group())
        losses.append(mean.item() / dp)
    if rank == world - 1:  # of the last stage
        (folder / f"{name}.json").write_text(json.dumps({"losses": losses, "rates": rates, "logits": kept.get("logits")}))
    torch.distributed.barrier()
    for child in psutil.Process().children(recursive=True):  # of the writer, which would stay
        child.kill()
    os._exit(0)


def save(step, folder, at):
    """Saves as megatron/training/checkpointing.py does; returns what only this rank knows."""
    model, form, more, config = at["model"], at["form"], at["more"], at["config"]
    metadata = {"distrib_optim_sharding_type": form or "fully_reshardable", "singleton_local_shards": more.get("singleton", False), "non_homogeneous_layers": more.get("singleton", False),
                "chained_optim_avoid_prefix": True}
    arguments = argparse.Namespace(
        num_layers=LAYERS, hidden_size=HIDDEN, ffn_hidden_size=INNER, num_attention_heads=HEADS, group_query_attention=True, num_query_groups=GROUPS, kv_channels=HEAD,
        normalization="RMSNorm", norm_epsilon=config.layernorm_epsilon, apply_layernorm_1p=False, swiglu=True, add_bias_linear=False, add_qkv_bias=config.add_qkv_bias, qk_layernorm=config.qk_layernorm,
        position_embedding_type="rope", rotary_base=10000, rotary_percent=1.0, rotary_interleaved=False, use_rope_scaling=False, rope_scaling_factor=8.0,
        untie_embeddings_and_output_weights=not more.get("tied", False), vocab_size=None, padded_vocab_size=PADDED, make_vocab_size_divisible_by=PADDED, tokenizer_type="HuggingFaceTokenizer",
        num_experts=None, multi_latent_attention=False, tensor_model_parallel_size=at["tp"], pipeline_model_parallel_size=at["pp"], data_parallel_size=at["dp"], seq_length=LENGTH,
        micro_batch_size=2, global_batch_size=BATCH, rampup_batch_size=None, train_iters=STEPS, iteration=step, consumed_train_samples=step * BATCH, consumed_valid_samples=0,
        optimizer="adam", lr=PEAK, min_lr=LEAST, lr_warmup_init=0.0, weight_decay=DECAY, lr_decay_style=at["style"], lr_wsd_decay_style="minus_sqrt", lr_wsd_decay_iters=6, clip_grad=1.0, bf16=at["bf16"], params_dtype=at["dtype"], use_distributed_optimizer=form is not None,
        ckpt_format="torch_dist", rank=0, world_size=at["world"], data_path=None, timers=None)
    weights = model.sharded_state_dict(metadata=metadata)
    moments = at["optimizer"].sharded_state_dict(weights, metadata=metadata)
    random = ShardedObject("rng_state", [{"random_rng_state": None, "torch_rng_state": torch.zeros(4, dtype=torch.uint8)}], (at["pp"], at["tp"]),
                           (parallel_state.get_pipeline_model_parallel_rank(), parallel_state.get_tensor_model_parallel_rank()), replica_id=parallel_state.get_data_parallel_rank(with_context_parallel=True))
    state = {"args": arguments, "checkpoint_version": 3.0, "iteration": step, "num_floating_point_operations_so_far": 0, "model": weights, "optimizer": moments,
             "opt_param_scheduler": at["schedule"].state_dict(), "rng_state": random}
    place = folder / f"iter_{step:07d}"
    if at["rank"] == 0:
        place.mkdir(parents=True)
    torch.distributed.barrier()
    dist_checkpointing.save(state, str(place), TorchDistSaveShardedStrategy("torch_dist", 1), content_metadata=metadata)
    if at["rank"] == 0:
        (folder / "latest_checkpointed_iteration.txt").write_text(str(step))
    # What this rank holds, for tests by hand; and the logits, where one rank has the whole model.
    torch.save({key: tensor.detach().clone() for key, tensor in model.named_parameters()}, folder / f"held_{at['rank']}.pt")
    if at["tp"] * at["pp"] > 1:
        return {}
    with torch.no_grad():
        return {"logits": model(ids(step)[:1, :-1], at["places"], at["causal"]).float()[0, -1].tolist()}


def main(folder, names):
    folder.mkdir(exist_ok=True)
    for name in names or CASES:
        store = torch.distributed.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)  # for a free port
        port = store.port
        del store
        tp, pp, dp = CASES[name][0]
        torch.multiprocessing.start_processes(run, args=(port, name, folder), nprocs=tp * pp * dp, start_method="fork")


def run(*arguments):
    with OnCpu():
        run_rank(*arguments)


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]), sys.argv[2:])
