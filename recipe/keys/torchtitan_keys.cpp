// torchtitan's keys that ask for nothing we lack as long as they have a harmless value, and its other names of keys.
// \source torchtitan v0.2.2 config/job_config.py; names of v0.1.0 and of August 2026
#include <algorithm>

#include "recipe/keys/key_list.h"

namespace titan::recipe {
namespace {

Value integer(std::int64_t value) { return {value}; }
Value word(const char* value) { return {std::string(value)}; }

/// Accepted with false, "", "none", [] and `harmless`.
Key only(const char* name, KeyClass cls, std::vector<Value> harmless, const char* doc, const char* hint = "") {
  Key key{name, cls, nullptr, doc};
  key.harmless = std::move(harmless);
  key.hint = hint;
  return key;
}

/// Accepted with every value: it tunes something that is off.
Key idle(const char* name, KeyClass cls, const char* doc) {
  Key key{name, cls, nullptr, doc};
  key.any_harmless = true;
  return key;
}

bool always(Config&, const Value&) { return true; }
bool without_stages(Config& config, const Value&) { return config.parallelism.pipeline_parallel_degree == 1; }
bool without_validation_of_its_own(Config& config, const Value&) {
  return !config.validation.enable || config.validation.dataset_path;
}

bool shares_a_batch(Config& config, const Value& value) {
  const auto* degree = value.as<std::int64_t>();
  if (!degree || *degree < 1 || *degree > 1'000'000) return false;
  config.parallelism.ranks_of_a_batch =
      std::min<std::int64_t>(config.parallelism.ranks_of_a_batch * *degree, 1'000'000);
  return true;
}

/// Passed over in a file with one warning (Key::pass_over).
Key ignored(Key key, bool (*when)(Config&, const Value&) = always, const char* instead = "") {
  key.pass_over = when;
  key.instead = instead;
  return key;
}

}  // namespace

std::vector<Key> torchtitan_keys() {
  using enum KeyClass;
  const char* batch_hint = "set training.local_batch_size and training.global_batch_size, in sequences";
  return {
      only("job.config_file", kStart, {}, "the CONFIG argument",
           "name the file on the command line: titan-train run CONFIG.toml"),
      ignored(only("job.save_config_file", kLogging, {}, "the run folder always has config.toml")),
      only("job.custom_config_module", kLogging, {word("torchtitan.config")}, "Python configuration module"),
      idle("job.use_for_integration_test", kLogging, "torchtitan's own tests"),

      only("model.rope_scaling.*", kCurve, {}, "scaling of RoPE frequencies",
           "model.rope_scaling is one string: \"llama3:8:1:4:8192\""),
      ignored(only("model.hf_assets_path", kCurve, {}, "folder of a Hugging Face tokenizer",
                   "remove it: model.tokenizer = \"byte\" is the only tokenizer"),
              always, "no tokenizer of theirs is used: text is read as bytes"),
      only("model.converters", kCurve, {}, "model converters (float8, mx)",
           "without it the model computes in training.mixed_precision_param, another curve: --model.converters=none"),
      ignored(only("model.print_after_conversion", kLogging, {}, "print the converted model")),
      only("optimizer.implementation", kCurve, {word("fused"), word("foreach"), word("for-loop")},
           "kernel of the optimizer"),
      only("optimizer.early_step_in_backward", kCurve, {}, "update inside the backward pass"),
      only("optimizer.param_groups", kCurve, {}, "parameter groups",
           "set optimizer.lr, .beta1, .beta2, .eps, .weight_decay"),

      only("training.num_tokens_per_microbatch_per_dp_rank", kCurve, {}, "tokens per forward", batch_hint),
      only("training.num_tokens_per_train_step", kCurve, {integer(-1)}, "tokens per step", batch_hint),
      ignored(only("training.dataloader.num_workers", kLayout, {integer(0)}, "loader processes")),
      ignored(only("training.dataloader.persistent_workers", kLayout, {}, "keep loader processes")),
      ignored(only("training.dataloader.pin_memory", kLayout, {}, "pinned host memory")),
      ignored(only("training.dataloader.prefetch_factor", kLayout, {}, "batches loaded ahead")),
      ignored(only("training.enable_cpu_offload", kLayout, {}, "keep state in host memory")),
      idle("training.gc_freq", kEnvironment, "Python's garbage collector"),
      idle("training.gc_debug", kEnvironment, "Python's garbage collector"),
      idle("training.disable_cuda_graphs", kEnvironment, "CUDA graphs are never used"),
      idle("debug.deterministic", kEnvironment, "always deterministic"),
      idle("debug.deterministic_warn_only", kEnvironment, "always deterministic"),
      only("debug.moe_force_load_balance", kCurve, {}, "mixture of experts"),
      only("debug.detect_anomaly", kLogging, {}, "autograd's anomaly mode"),
      only("debug.batch_invariant", kCurve, {}, "batch-invariant kernels"),
      idle("debug.enable_structured_logging", kLogging, "metrics.jsonl is always written"),

      ignored(only("parallelism.tensor_parallel_degree", kLayout, {integer(1)}, "tensor parallelism"), shares_a_batch),
      ignored(only("parallelism.context_parallel_degree", kLayout, {integer(1)}, "context parallelism"),
              shares_a_batch),
      only("parallelism.expert_parallel_degree", kLayout, {integer(1)}, "expert parallelism"),
      only("parallelism.expert_tensor_parallel_degree", kLayout, {integer(1)}, "tensor parallelism of experts"),
      idle("parallelism.disable_loss_parallel", kLayout, "tensor parallelism is off"),
      ignored(only("parallelism.enable_async_tensor_parallel", kLayout, {}, "asynchronous tensor parallelism")),
      idle("parallelism.enable_sequence_parallel", kLayout, "tensor parallelism is off"),
      ignored(only("parallelism.enable_compiled_autograd", kLayout, {}, "compiled autograd")),
      ignored(
          only("parallelism.fsdp_reshard_after_forward", kLayout, {word("default")}, "fully sharded data parallelism")),
      ignored(only("parallelism.pipeline_parallel_schedule_csv", kLayout, {}, "schedule from a file"), without_stages),
      ignored(
          only("parallelism.pipeline_parallel_split_points", kLayout, {}, "stages by hand", "stages are cut by cost"),
          without_stages),
      ignored(only("parallelism.module_fqns_per_model_part", kLayout, {}, "stages by hand", "stages are cut by cost"),
              without_stages),
      ignored(only("parallelism.pipeline_parallel_layers_per_stage", kLayout, {}, "stages by hand",
                   "stages are cut by cost"),
              without_stages),
      ignored(only("parallelism.pipeline_parallel_first_stage_less_layers", kLayout, {integer(1)}, "stages by hand",
                   "stages are cut by cost"),
              without_stages),
      ignored(only("parallelism.pipeline_parallel_last_stage_less_layers", kLayout, {integer(1)}, "stages by hand",
                   "stages are cut by cost"),
              without_stages),
      ignored(only("parallelism.num_pp_microbatches", kCurve, {integer(1)}, "count of micro-batches (not their size)",
                   "set parallelism.pipeline_parallel_microbatch_size, in sequences"),
              without_stages),
      idle("parallelism.context_parallel_load_balancer", kLayout, "context parallelism is off"),
      idle("parallelism.context_parallel_rotate_method", kLayout, "context parallelism is off"),

      only("checkpoint.initial_load_in_hf", kStart, {}, "start from a Hugging Face folder",
           "leave it out: checkpoint.initial_load_path (--init-from) takes a Hugging Face folder as it is"),
      only("checkpoint.initial_load_in_hf_quantized", kStart, {}, "start from a Hugging Face folder"),
      ignored(only("checkpoint.last_save_in_hf", kSaving, {}, "last save as a Hugging Face folder")),
      ignored(only("checkpoint.export_dtype", kSaving, {word("float32")}, "dtype of a weights-only save")),
      ignored(only("checkpoint.async_mode", kSaving, {word("disabled")}, "asynchronous saving")),
      only("checkpoint.create_seed_checkpoint", kSaving, {}, "save step 0 and stop",
           "not needed: a seed gives the same model on every layout"),
      only("checkpoint.load_only", kSaving, {}, "never save"),
      idle("checkpoint.enable_ft_dataloader_checkpoints", kSaving, "torchtitan's fault-tolerance experiment"),

      ignored(only("activation_checkpoint.mode", kLayout, {}, "recompute activations (torchtitan: selective)",
                   "set it to \"none\"")),
      idle("activation_checkpoint.*", kLayout, "activation checkpointing is off"),
      ignored(only("compile.enable", kEnvironment, {}, "torch.compile")),
      idle("compile.*", kEnvironment, "torch.compile is off"),
      ignored(only("metrics.enable_tensorboard", kLogging, {}, "TensorBoard files")),
      ignored(only("metrics.enable_wandb", kLogging, {}, "Weights & Biases")),
      idle("metrics.save_tb_folder", kLogging, "TensorBoard is off"),
      ignored(only("metrics.save_for_all_ranks", kLogging, {}, "TensorBoard files of every rank")),
      ignored(only("profiling.enable_profiling", kLogging, {}, "profiler traces")),
      ignored(only("profiling.enable_memory_snapshot", kLogging, {}, "memory snapshots")),
      idle("profiling.*", kLogging, "profiling is off"),
      only("comm.mode", kEnvironment, {word("default")}, "communication backend"),
      idle("comm.trace_buf_size", kEnvironment, "NCCL's flight recorder"),
      idle("comm.save_traces_folder", kEnvironment, "NCCL's flight recorder"),
      idle("comm.save_traces_file_prefix", kEnvironment, "NCCL's flight recorder"),
      ignored(only("validation.dataset", kLogging, {}, "validation data are of training.dataset's kind",
                   "set validation.dataset_path, or neither for a held-back tail"),
              without_validation_of_its_own),
      only("memory_estimation.enable", kEnvironment, {}, "memory estimation"),
      idle("memory_estimation.*", kEnvironment, "memory estimation is off"),
      only("fault_tolerance.enable", kEnvironment, {}, "torchft"),
      idle("fault_tolerance.*", kEnvironment, "torchft is off"),
      idle("quantize.*", kCurve, "model.converters is empty"),
      idle("float8.*", kCurve, "model.converters is empty"),
      idle("mx.*", kCurve, "model.converters is empty"),
      only("experimental.*", kEnvironment, {}, "torchtitan's experiments"),
  };
}

std::vector<Alias> torchtitan_aliases() {
  return {
      {"dump_folder", "job.dump_folder"},
      {"debug.print_config", "job.print_config"},
      {"job.print_args", "job.print_config"},
      {"debug.save_config_file", "job.save_config_file"},
      {"hf_assets_path", "model.hf_assets_path"},
      {"model.tokenizer_path", "model.hf_assets_path"},
      {"lr_scheduler.lr_min", "lr_scheduler.min_lr_factor"},
      {"training.warmup_steps", "lr_scheduler.warmup_steps"},
      {"training.max_context_length", "training.seq_len"},
      {"training.batch_size", "training.local_batch_size"},
      {"training.seed", "debug.seed"},
      {"training.deterministic", "debug.deterministic"},
      {"training.compile", "compile.enable"},
      {"checkpoint.enable_checkpoint", "checkpoint.enable"},
      {"checkpoint.initial_load_model_weights_only", "checkpoint.initial_load_model_only"},
      {"checkpoint.last_save_model_weights_only", "checkpoint.last_save_model_only"},
      {"memory_estimation.enabled", "memory_estimation.enable"},
      {"checkpoint.model_weights_only", "checkpoint.last_save_model_only"},
      {"validation.enabled", "validation.enable"},
      {"validator.enable", "validation.enable"},
      {"validator.dataset", "validation.dataset"},
      {"validator.dataset_path", "validation.dataset_path"},
      {"validator.local_batch_size", "validation.local_batch_size"},
      {"validator.seq_len", "validation.seq_len"},
      {"validator.freq", "validation.freq"},
      {"validator.steps", "validation.steps"},
      {"profiler.enable_profiling", "profiling.enable_profiling"},
      {"profiler.enable_memory_snapshot", "profiling.enable_memory_snapshot"},
      {"profiler.save_traces_folder", "profiling.save_traces_folder"},
      {"profiler.profile_freq", "profiling.profile_freq"},
      {"profiler.profiler_active", "profiling.profiler_active"},
      {"profiler.profiler_warmup", "profiling.profiler_warmup"},
      {"profiler.profiler_repeat", "profiling.profiler_repeat"},
      {"profiler.profiler_skip_first", "profiling.profiler_skip_first"},
      {"profiler.memory_snapshot_freq", "profiling.memory_snapshot_freq"},
      {"profiler.save_memory_snapshot_folder", "profiling.save_memory_snapshot_folder"},
  };
}

}  // namespace titan::recipe
