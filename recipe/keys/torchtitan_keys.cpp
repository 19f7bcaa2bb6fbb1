// torchtitan's keys that are accepted only with harmless values, and its other names of Titan's keys.
// \source torchtitan v0.2.2 config/job_config.py; names of v0.1.0 and of August 2026
#include <algorithm>

#include "recipe/keys/config.h"
#include "recipe/keys/key_table.h"

namespace titan::recipe {
namespace {

Value integer(std::int64_t value) { return {value}; }
Value word(const char* value) { return {std::string(value)}; }

Key key(const char* name, KeyClass cls, const char* doc, KeyFacts facts = {}) {
  return {std::move(facts), name, cls, nullptr, doc};
}

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

}  // namespace

std::vector<Key> torchtitan_keys() {
  using enum KeyClass;
  const char* batch_hint = "set training.local_batch_size and training.global_batch_size, in sequences";
  return {
      key("job.config_file", kStart, "the configuration file: give it as the CONFIG argument",
          {.hint = "name the file on the command line: titan-train run CONFIG.toml"}),
      key("job.save_config_file", kLogging, "save the configuration; the run folder always has it as config.toml",
          {.ignore_if = always, .aliases = {"debug.save_config_file"}}),
      key("job.custom_config_module", kLogging, "Python configuration module",
          {.harmless = {word("torchtitan.config")}}),
      key("job.use_for_integration_test", kLogging, "torchtitan's own tests", {.any_harmless = true}),

      key("model.rope_scaling.*", kCurve, "scaling of RoPE frequencies",
          {.hint = "model.rope_scaling is one string: \"llama3:8:1:4:8192\""}),
      key("model.converters", kCurve, "model converters (float8, mx)",
          {.hint = "without it the model computes in training.mixed_precision_param, another curve: "
                   "--model.converters=none"}),
      key("model.print_after_conversion", kLogging, "print the converted model", {.ignore_if = always}),
      key("optimizer.implementation", kCurve, "kernel of the optimizer",
          {.harmless = {word("fused"), word("foreach"), word("for-loop")}}),
      key("optimizer.early_step_in_backward", kCurve, "optimizer updates inside the backward pass"),
      key("optimizer.param_groups", kCurve, "parameter groups",
          {.hint = "set optimizer.lr, .beta1, .beta2, .eps, .weight_decay"}),

      key("training.num_tokens_per_microbatch_per_dp_rank", kCurve, "tokens of a micro-batch", {.hint = batch_hint}),
      key("training.num_tokens_per_train_step", kCurve, "tokens per step",
          {.harmless = {integer(-1)}, .hint = batch_hint}),
      key("training.dataloader.num_workers", kLayout, "loader processes",
          {.harmless = {integer(0)}, .ignore_if = always}),
      key("training.dataloader.persistent_workers", kLayout, "keep loader processes", {.ignore_if = always}),
      key("training.dataloader.pin_memory", kLayout, "pinned host memory", {.ignore_if = always}),
      key("training.dataloader.prefetch_factor", kLayout, "batches loaded ahead", {.ignore_if = always}),
      key("training.enable_cpu_offload", kLayout, "keep state in host memory", {.ignore_if = always}),
      key("training.gc_freq", kEnvironment, "Python's garbage collector", {.any_harmless = true}),
      key("training.gc_debug", kEnvironment, "Python's garbage collector", {.any_harmless = true}),
      key("training.disable_cuda_graphs", kEnvironment, "CUDA graphs, which are never used", {.any_harmless = true}),
      key("debug.deterministic_warn_only", kEnvironment,
          "only warn of operations that are not deterministic; they are always an error", {.any_harmless = true}),
      key("debug.moe_force_load_balance", kCurve, "equal load of all experts"),
      key("debug.detect_anomaly", kLogging, "autograd's anomaly mode"),
      key("debug.batch_invariant", kCurve, "batch-invariant kernels"),
      key("debug.enable_structured_logging", kLogging, "a structured log; metrics.jsonl is always written",
          {.any_harmless = true}),

      key("parallelism.tensor_parallel_degree", kLayout, "tensor parallelism",
          {.harmless = {integer(1)}, .ignore_if = shares_a_batch}),
      key("parallelism.context_parallel_degree", kLayout, "context parallelism",
          {.harmless = {integer(1)}, .ignore_if = shares_a_batch}),
      key("parallelism.expert_parallel_degree", kLayout, "expert parallelism", {.harmless = {integer(1)}}),
      key("parallelism.expert_tensor_parallel_degree", kLayout, "tensor parallelism of experts",
          {.harmless = {integer(1)}}),
      key("parallelism.disable_loss_parallel", kLayout, "an option of tensor parallelism, which is off",
          {.any_harmless = true}),
      key("parallelism.enable_async_tensor_parallel", kLayout, "asynchronous tensor parallelism",
          {.ignore_if = always}),
      key("parallelism.enable_sequence_parallel", kLayout, "an option of tensor parallelism, which is off",
          {.any_harmless = true}),
      key("parallelism.enable_compiled_autograd", kLayout, "compiled autograd", {.ignore_if = always}),
      key("parallelism.fsdp_reshard_after_forward", kLayout, "fully sharded data parallelism",
          {.harmless = {word("default")}, .ignore_if = always}),
      key("parallelism.pipeline_parallel_split_points", kLayout, "stages by their first modules",
          {.hint = "write the stages as parallelism.pipeline_parallel_layout or module_fqns_per_model_part",
           .ignore_if = without_stages}),
      key("parallelism.num_pp_microbatches", kCurve, "number of micro-batches (not their size)",
          {.harmless = {integer(1)},
           .hint = "set parallelism.pipeline_parallel_microbatch_size, in sequences",
           .ignore_if = without_stages}),
      key("parallelism.context_parallel_load_balancer", kLayout, "an option of context parallelism, which is off",
          {.any_harmless = true}),
      key("parallelism.context_parallel_rotate_method", kLayout, "an option of context parallelism, which is off",
          {.any_harmless = true}),

      key("checkpoint.initial_load_in_hf", kStart, "start from a Hugging Face folder",
          {.hint = "leave it out: checkpoint.initial_load_path (--init-from) takes a Hugging Face folder as it is"}),
      key("checkpoint.initial_load_in_hf_quantized", kStart, "start from a Hugging Face folder with quantised weights"),
      key("checkpoint.last_save_in_hf", kSaving, "last save as a Hugging Face folder", {.ignore_if = always}),
      key("checkpoint.export_dtype", kSaving, "dtype of a weights-only save",
          {.harmless = {word("float32")}, .ignore_if = always}),
      key("checkpoint.create_seed_checkpoint", kSaving, "save step 0 and stop",
          {.hint = "not needed: a seed gives the same model on every layout"}),
      key("checkpoint.load_only", kSaving, "never save"),
      key("checkpoint.enable_ft_dataloader_checkpoints", kSaving, "torchtitan's fault-tolerance experiment",
          {.any_harmless = true}),

      key("activation_checkpoint.*", kLayout, "options of torch's own checkpointing", {.any_harmless = true}),
      key("compile.enable", kEnvironment, "torch.compile", {.ignore_if = always, .aliases = {"training.compile"}}),
      key("compile.*", kEnvironment, "options of torch.compile, which is off", {.any_harmless = true}),
      key("metrics.enable_wandb", kLogging, "Weights & Biases", {.ignore_if = always}),
      key("metrics.save_for_all_ranks", kLogging, "TensorBoard files of every rank", {.ignore_if = always}),
      key("profiling.enable_memory_snapshot", kLogging, "memory snapshots",
          {.ignore_if = always, .aliases = {"profiler.enable_memory_snapshot"}}),
      key("profiling.*", kLogging, "options of torch's profiler",
          {.any_harmless = true,
           .aliases = {"profiler.profiler_active", "profiler.profiler_warmup", "profiler.profiler_repeat",
                       "profiler.profiler_skip_first", "profiler.memory_snapshot_freq",
                       "profiler.save_memory_snapshot_folder"}}),
      key("comm.mode", kEnvironment, "communication backend", {.harmless = {word("default")}}),
      key("comm.trace_buf_size", kEnvironment, "NCCL's flight recorder", {.any_harmless = true}),
      key("comm.save_traces_folder", kEnvironment, "NCCL's flight recorder", {.any_harmless = true}),
      key("comm.save_traces_file_prefix", kEnvironment, "NCCL's flight recorder", {.any_harmless = true}),
      key("validation.dataset", kLogging, "kind of the validation data; it is always that of training.dataset",
          {.hint = "set validation.dataset_path, or neither for a held-back tail",
           .ignore_if = without_validation_of_its_own,
           .aliases = {"validator.dataset"}}),
      key("memory_estimation.enable", kEnvironment, "memory estimation", {.aliases = {"memory_estimation.enabled"}}),
      key("memory_estimation.*", kEnvironment, "options of memory estimation, which is off", {.any_harmless = true}),
      key("fault_tolerance.enable", kEnvironment, "torchft"),
      key("fault_tolerance.*", kEnvironment, "options of torchft, which is off", {.any_harmless = true}),
      key("quantize.*", kCurve, "options of a model converter, of which there are none", {.any_harmless = true}),
      key("float8.*", kCurve, "options of a model converter, of which there are none", {.any_harmless = true}),
      key("mx.*", kCurve, "options of a model converter, of which there are none", {.any_harmless = true}),
      key("experimental.*", kEnvironment, "torchtitan's experiments"),
  };
}

}  // namespace titan::recipe
