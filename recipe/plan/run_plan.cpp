#include "recipe/plan/run_plan.h"

#include <algorithm>
#include <numeric>

#include "ckpt/base/path.h"
#include "ckpt/base/text.h"
#include "recipe/keys/rows.h"
#include "recipe/model/dims.h"
#include "recipe/model/family.h"
#include "recipe/model/parameters.h"
#include "recipe/plan/exchange_parts.h"
#include "recipe/plan/stage_cost.h"
#include "recipe/plan/stage_rules.h"

namespace titan::recipe {
namespace {

/// The multiple of `unit` nearest to `value`, at least one unit.
std::int64_t nearest_multiple(std::int64_t value, std::int64_t unit) {
  return std::max<std::int64_t>(1, (value + unit / 2) / unit) * unit;
}

/// The largest micro-batch size with which `global` sequences give at least `ranks` micro-batches.
std::int64_t smaller_micro(std::int64_t global, std::int64_t ranks) {
  std::int64_t micro = global / ranks;
  while (global % micro != 0) --micro;
  return micro;
}

Result<ckpt::Mesh> make_mesh(const Config::Parallelism& parallelism, std::int64_t world) {
  const std::int64_t replicate = parallelism.data_parallel_replicate_degree;
  const std::int64_t shard = parallelism.data_parallel_shard_degree;
  const std::int64_t pp = parallelism.pipeline_parallel_degree;
  if (world < 1) return ckpt::invalid("world size " + std::to_string(world) + ": expected at least 1");

  const std::int64_t fixed = replicate * pp;
  const std::string names = "parallelism.data_parallel_replicate_degree " + std::to_string(replicate) + " x ";
  if (shard == -1) {
    if (world % fixed != 0)
      return ckpt::invalid("world size " + std::to_string(world) + " does not fit the mesh: it is not a multiple of " +
                           names + "pipeline_parallel_degree " + std::to_string(pp) + " = " + std::to_string(fixed))
          .with_hint("start " + std::to_string(nearest_multiple(world, fixed)) + " ranks (--nproc " +
                     std::to_string(nearest_multiple(world, fixed)) +
                     "), or set --parallelism.pipeline_parallel_degree=" + std::to_string(std::gcd(world, pp)) +
                     (replicate > 1 ? " --parallelism.data_parallel_replicate_degree=1" : ""));
  } else if (world != fixed * shard) {
    std::string hint =
        "start " + std::to_string(fixed * shard) + " ranks (--nproc " + std::to_string(fixed * shard) + ")";
    if (world % fixed == 0)
      hint += ", or set --parallelism.data_parallel_shard_degree=" + std::to_string(world / fixed);
    return ckpt::invalid("world size " + std::to_string(world) + " does not fit the mesh: " + names +
                         "data_parallel_shard_degree " + std::to_string(shard) + " x pipeline_parallel_degree " +
                         std::to_string(pp) + " = " + std::to_string(fixed * shard))
        .with_hint(hint);
  }
  return ckpt::Mesh{static_cast<std::uint32_t>(pp), static_cast<std::uint32_t>(world / pp), 1};
}

Result<BatchPlan> make_batch(const Config& config, std::int64_t dp, std::int64_t stored_global) {
  const Config::Training& training = config.training;
  const auto& given_micro = config.parallelism.pipeline_parallel_microbatch_size;
  BatchPlan batch;
  batch.seq_len = training.seq_len;
  batch.micro = given_micro.value_or(training.local_batch_size);
  std::string global_from = "training.global_batch_size";
  batch.global = training.global_batch_size;
  if (batch.global == -1 && stored_global > 0) {
    batch.global = stored_global;
    global_from = "the checkpoint's global batch size";
  } else if (batch.global == -1) {
    // torchtitan gives a batch to each rank, but the ranks of one tensor- and context-parallel group share one.
    const std::int64_t shared =
        config.parallelism.data_parallel_shard_degree == -1 ? config.parallelism.ranks_of_a_batch : 1;
    const std::int64_t batches = std::max<std::int64_t>(1, dp / shared);
    batch.global = training.local_batch_size * batches;
    global_from = "the global batch size (training.local_batch_size " + std::to_string(training.local_batch_size) +
                  " x DP degree " + std::to_string(batches) +
                  (shared > 1 && dp > 1 ? " of torchtitan's mesh, where " + std::to_string(shared) +
                                              " ranks of tensor and context parallelism share a batch"
                                        : "") +
                  " =)";
  }
  std::string micro_from = given_micro ? "parallelism.pipeline_parallel_microbatch_size" : "training.local_batch_size";
  if (batch.global % batch.micro != 0)
    return ckpt::invalid(global_from + " " + std::to_string(batch.global) +
                         " is not a multiple of the micro-batch size " + std::to_string(batch.micro) + " (" +
                         micro_from + ")")
        .with_hint("set --training.global_batch_size=" + std::to_string(nearest_multiple(batch.global, batch.micro)));
  if (batch.global / batch.micro < dp && batch.global >= dp)
    micro_from +=
        " (--parallelism.pipeline_parallel_microbatch_size=" + std::to_string(smaller_micro(batch.global, dp)) +
        " makes the same batch of smaller parts)";
  batch.count = batch.global / batch.micro;
  if (batch.count < dp)
    return ckpt::invalid(std::to_string(batch.count) + (batch.count == 1 ? " micro-batch" : " micro-batches") +
                         " per step (" + global_from + " " + std::to_string(batch.global) + " / micro-batch size " +
                         std::to_string(batch.micro) + (batch.count == 1 ? ") is fewer" : ") are fewer") +
                         " than the " + std::to_string(dp) + " data-parallel ranks; each rank needs at least one")
        .with_hint("use at most " + std::to_string(batch.count) +
                   (batch.count == 1 ? " data-parallel rank" : " data-parallel ranks") + ", a smaller " + micro_from +
                   ", or --training.global_batch_size=" + std::to_string(batch.micro * dp));
  return batch;
}

/// Sets the cuts of the model into stages, and the stage of each parameter.
Status cut_stages(const Config& config, const std::vector<std::uint32_t>& most_of_rank, RunPlan& plan) {
  const auto layers = static_cast<std::uint32_t>(plan.dims.n_layers);
  TITAN_ASSIGN_OR_RETURN(const PartCosts costs,
                         part_costs(config.parallelism.stage_cost, plan.dims, plan.batch.seq_len));
  StageChoice choice{{layers}, ""};
  if (plan.mesh.pp > 1) {
    TITAN_ASSIGN_OR_RETURN(choice, choose_stages(config.parallelism, {plan.schedule, plan.mesh.pp, plan.chunks, layers,
                                                                      costs, most_of_rank}));
  }
  TITAN_RETURN_IF_ERROR(set_stages(choice.layers, plan));
  plan.stages_from = choice.from;
  double total = 0;
  for (const std::uint64_t cost : stage_costs(costs, choice.layers)) {
    plan.stage_share.push_back(static_cast<double>(cost));
    total += plan.stage_share.back();
  }
  for (double& share : plan.stage_share) share /= total;
  return ckpt::ok_status();
}

/// Whether each data-parallel rank's number of micro-batches fits the schedule. The numbers differ by at most one.
Status check_schedule(const RunPlan& plan, bool from_file) {
  if (plan.mesh.pp == 1 || from_file) return ckpt::ok_status();
  const auto least = static_cast<std::uint32_t>(plan.batch.count / plan.mesh.dp);
  const std::uint32_t most = least + (plan.batch.count % plan.mesh.dp == 0 ? 0 : 1);
  for (const std::uint32_t count : {least, most})
    TITAN_RETURN_IF_ERROR(check_shape(plan.schedule, plan.pipeline(count)));
  return ckpt::ok_status();
}

/// The n of "every n-th layer": 0 without activation checkpointing.
Result<std::int64_t> layers_between(const Config::ActivationCheckpoint& keys) {
  const std::string& option = keys.selective_ac_option;
  const std::int64_t n = ckpt::number_of<std::int64_t>(option).value_or(0);
  if (n < 1)
    return ckpt::invalid(
        "activation_checkpoint.selective_ac_option: expected a number of layers in quotes such as "
        "\"2\", found " +
        toml_string(option));
  return keys.mode == "none" ? 0 : keys.mode == "full" ? 1 : n;
}

ExchangeDomain exchange_domain(const std::string& word) {
  return word == "always" ? ExchangeDomain::kAlways : word == "node" ? ExchangeDomain::kNode : ExchangeDomain::kLate;
}

/// The number of exchange parts. On the CPU the same cores compute and send, so parts cost time and help only if the
/// network is slow.
std::uint32_t parts_of_exchange(const Config& config, const RunPlan& plan) {
  const std::int64_t given = config.parallelism.exchange_parts;
  if (plan.mesh.dp == 1) return 1;
  if (given > 0) return static_cast<std::uint32_t>(given);
  return config.training.device == "cuda" ? most_exchange_parts(plan) : 1;
}

/// On the CPU attention is fused for every dtype, on a GPU only for bfloat16.
bool keeps_scores(const Config& config, const RunPlan& plan) {
  const std::string& kernel = config.training.attention;
  return config.training.device == "cuda" && (kernel == "math" || (kernel == "auto" && !plan.bf16));
}

/// Checks what a GPU supports. \source LibTorch's limits of head sizes: flash on every GPU, cuDNN before Hopper
ckpt::Status check_gpu(const Config& config, const RunPlan& plan) {
  if (config.training.device != "cuda") return ckpt::ok_status();
  if (plan.dims.window.tokens != 0 || plan.dims.experts)
    return ckpt::unsupported(std::string(plan.dims.experts ? "model.n_experts" : "model.sliding_window") +
                             " is not supported on a GPU yet")
        .with_hint("--training.device=cpu");
  if (plan.keeps_scores) return ckpt::ok_status();
  const bool cudnn = config.training.attention == "cudnn";
  const std::int64_t heads = plan.dims.head_dim;
  if (cudnn ? heads <= 128 && heads % 8 == 0 : heads <= 256) return ckpt::ok_status();
  return ckpt::invalid("attention by " + std::string(cudnn ? "cudnn" : "flash") + " computes heads of at most " +
                       (cudnn ? "128 elements, a multiple of 8" : "256 elements") + ", and this model's have " +
                       std::to_string(heads))
      .with_hint("training.attention = \"math\", which needs more memory, or more heads");
}

std::vector<std::string> find_warnings(const Config& config, const RunPlan& plan) {
  std::vector<std::string> warnings;
  const auto total = static_cast<std::int64_t>(plan.lr.total_steps);
  const std::string total_from = config.lr_scheduler.total_steps ? "lr_scheduler.total_steps " : "training.steps ";
  if (total < config.training.steps)
    warnings.push_back("lr_scheduler.total_steps " + std::to_string(total) + " < training.steps " +
                       std::to_string(config.training.steps) + ": steps " + std::to_string(total + 1) +
                       " and later train at the floor of the curve, " +
                       toml_float(plan.lr.peak * plan.lr.min_lr_factor));
  if (config.lr_scheduler.warmup_steps > total)
    warnings.push_back("lr_scheduler.warmup_steps " + std::to_string(config.lr_scheduler.warmup_steps) + " > " +
                       total_from + std::to_string(total) + ": the warm-up is cut to " + std::to_string(total) +
                       " steps and nothing decays");
  const std::int64_t shared = config.parallelism.ranks_of_a_batch;
  if (shared > 1 && plan.mesh.dp > 1 && config.training.global_batch_size == -1 &&
      config.parallelism.data_parallel_shard_degree == -1)
    warnings.push_back("in torchtitan " + std::to_string(shared) +
                       " ranks of tensor and context parallelism share a batch: training.global_batch_size is " +
                       std::to_string(plan.batch.global) + " sequences, as there on as many ranks");
  if (const std::int64_t degree = config.parallelism.data_parallel_shard_degree; degree > 1)
    warnings.push_back("parallelism.data_parallel_shard_degree = " + std::to_string(degree) + " divides " +
                       (config.parallelism.data_parallel_sharding == "zero2"
                            ? "the sums of gradients and the optimizer (ZeRO-2)"
                            : "the optimizer alone (ZeRO-1)") +
                       ": every rank holds all weights of its stages, which torchtitan's FSDP divides, too");
  const std::int64_t dp = plan.mesh.dp, more = plan.batch.count % dp, fewer = plan.batch.count / dp;
  if (more != 0)
    warnings.push_back(std::to_string(plan.batch.count) + " micro-batches do not divide evenly over " +
                       std::to_string(dp) + " data-parallel ranks: " + std::to_string(more) +
                       (more == 1 ? " has " : " have ") + std::to_string(fewer + 1) + ", the others have " +
                       std::to_string(fewer) + " and wait");
  if (plan.dims.qk_norm && plan.dims.qkv_bias)
    warnings.emplace_back(
        "model.qk_norm and model.qkv_bias: no class of transformers and no architecture of llama.cpp has both, so that "
        "no other program will read this model");
  if (config.training.router_aux_loss && !plan.dims.experts)
    warnings.emplace_back("training.router_aux_loss balances experts, and the model has none");
  if (plan.dims.post_norm != plan.dims.whole_qk_norm)
    warnings.emplace_back(
        "model.post_norm and model.whole_qk_norm: transformers has both together (OLMo 2) or neither, so that no other "
        "program will read this model");
  if (plan.mesh.pp > 1) {
    const std::int64_t least = plan.batch.count / plan.mesh.dp;
    if (least < plan.mesh.pp)
      warnings.push_back("a data-parallel rank has " + std::to_string(least) + " micro-batches for " +
                         std::to_string(plan.mesh.pp) +
                         " pipeline stages: some stages idle most of the time; a smaller micro-batch or a larger "
                         "training.global_batch_size fills them");
  }
  return warnings;
}

/// Checks that `folder` stays below the run folder, because the run's lock protects only paths there.
Status check_folder(const std::string& folder) {
  const std::string inside = "/" + folder + "/";
  if (!folder.starts_with('/') && inside.find("/../") == std::string::npos) return ckpt::ok_status();
  return ckpt::invalid("checkpoint.folder: expected a folder below job.dump_folder, named without `..`, found " +
                       toml_string(folder))
      .with_hint(
          "checkpoints stand in job.dump_folder/checkpoint.folder, as torchtitan's do; job.dump_folder may be any "
          "path");
}

/// Checks that `folder` is neither the folder of steps nor inside it, because tools allow only steps there.
Status check_own_folder(const std::string& key, const std::string& folder, const Config& config) {
  const std::string own = ckpt::without_slashes(folder), steps = ckpt::without_slashes(config.checkpoint.folder);
  if (!own.empty() && own != "." && own != steps && !own.starts_with(steps + "/")) return ckpt::ok_status();
  return ckpt::invalid(key + " \"" + folder + "\" is no folder of its own below job.dump_folder")
      .with_hint("leave it out, or name one next to checkpoint.folder (\"" + config.checkpoint.folder + "\")");
}

}  // namespace

Result<ckpt::Mesh> make_run_mesh(const Config& config, std::uint32_t world_size) {
  TITAN_RETURN_IF_ERROR(check_values(config));
  TITAN_RETURN_IF_ERROR(check_folder(config.checkpoint.folder));
  if (config.metrics.enable_tensorboard)
    TITAN_RETURN_IF_ERROR(check_own_folder("metrics.save_tb_folder", config.metrics.save_tb_folder, config));
  if (config.profiling.enable_profiling)
    TITAN_RETURN_IF_ERROR(
        check_own_folder("profiling.save_traces_folder", config.profiling.save_traces_folder, config));
  if (config.metrics.log_rank >= world_size)
    return ckpt::invalid("metrics.log_rank " + std::to_string(config.metrics.log_rank) + " is none of the " +
                         std::to_string(world_size) + " ranks, which are counted from 0");
  if (config.checkpoint.keep_best > 0 && !config.validation.enable)
    return ckpt::invalid("checkpoint.keep_best keeps steps by their validation loss, and validation.enable = false")
        .with_hint("set validation.enable = true, or leave keep_best out");
  return make_mesh(config.parallelism, world_size);
}

Result<RunPlan> make_run_plan(const Config& config, std::uint32_t world_size, std::int64_t stored_global_batch,
                              const std::vector<std::uint32_t>& most_layers) {
  TITAN_RETURN_IF_ERROR(check_values(config));
  RunPlan plan;
  TITAN_ASSIGN_OR_RETURN(plan.dims, model_dims(config));
  TITAN_ASSIGN_OR_RETURN(plan.mesh, make_mesh(config.parallelism, world_size));
  TITAN_ASSIGN_OR_RETURN(plan.batch, make_batch(config, plan.mesh.dp, stored_global_batch));
  const bool from_file = !config.parallelism.pipeline_parallel_schedule_csv.empty();
  TITAN_ASSIGN_OR_RETURN(plan.schedule, schedule_by_name(config.parallelism.pipeline_parallel_schedule, from_file));
  plan.bf16 = config.training.mixed_precision_param == "bfloat16";
  plan.ema = config.training.ema > 0;
  plan.loss_chunk = config.training.loss_chunk;
  if (plan.dims.experts) plan.router_aux_loss = config.training.router_aux_loss.value_or(kRouterLoss);
  TITAN_ASSIGN_OR_RETURN(plan.recompute_each, layers_between(config.activation_checkpoint));
  plan.exchange = exchange_domain(config.parallelism.gradient_exchange);
  plan.exchange_bytes = static_cast<std::uint64_t>(config.comm.exchange_bytes);
  plan.shard_gradients = config.parallelism.data_parallel_sharding == "zero2";
  // With one pipeline rank nothing is sent between stages: one stage is the whole model.
  if (plan.mesh.pp > 1) {
    TITAN_ASSIGN_OR_RETURN(plan.chunks, chunks_of(config.parallelism, facts_of(plan.schedule),
                                                  static_cast<std::uint32_t>(plan.dims.n_layers)));
  } else if (facts_of(plan.schedule).least_chunks > 1) {
    plan.schedule = ScheduleKind::k1F1B;
  }
  TITAN_RETURN_IF_ERROR(check_schedule(plan, from_file));
  plan.codec = config.checkpoint.compression == "zstd" ? ckpt::Codec::kZstd : ckpt::Codec::kRaw;
  plan.parameters = model_parameters(plan.dims);
  TITAN_RETURN_IF_ERROR(cut_stages(config, most_layers, plan));
  plan.exchange_parts = parts_of_exchange(config, plan);
  plan.keeps_scores = keeps_scores(config, plan);
  TITAN_RETURN_IF_ERROR(check_gpu(config, plan));
  plan.lr = lr_settings(config);
  plan.warnings = find_warnings(config, plan);
  TITAN_ASSIGN_OR_RETURN(plan.updates, update_settings(config.optimizer.weight_decay, config.optimizer.rules,
                                                       plan.parameters, plan.warnings));
  return plan;
}

ckpt::Ownership owners_of(const RunPlan& plan) {
  std::vector<std::uint32_t> groups = exchange_parts(plan);
  std::uint32_t own = groups.empty() ? 0 : *std::ranges::max_element(groups);
  for (std::uint32_t i = 0; i < plan.parameters.size(); ++i)
    if ((plan.dims.tied || plan.bf16) && plan.parameters[i].name == kEmbeddingName) groups[i] = ++own;
  return {plan.parameters, plan.leaf_elements, plan.mesh, groups};
}

RunPlan whole_model_plan(const ModelDims& dims, std::int64_t seq_len) {
  RunPlan plan;
  plan.dims = dims;
  plan.mesh = {1, 1, 1};
  plan.batch = {.micro = 1, .global = 1, .count = 1, .seq_len = seq_len};
  plan.parameters = model_parameters(dims);
  plan.stage_share = {1};
  return plan;
}

Config resolved_config(const Config& config, const RunPlan& plan, std::optional<std::uint64_t> seed, int threads) {
  Config resolved = config;
  set_dims(plan.dims, resolved);
  resolved.training.global_batch_size = plan.batch.global;
  resolved.training.sample_stride = config.training.sample_stride.value_or(config.training.seq_len);
  resolved.validation.seq_len = config.validation.seq_len.value_or(config.training.seq_len);
  if (seed) resolved.debug.seed = static_cast<std::int64_t>(*seed);
  if (threads > 0) {
    resolved.job.threads_per_rank = threads;
    resolved.training.cpu_gemm = gemm_name(plan.gemm);
  }
  return resolved;
}

bool recomputes(const RunPlan& plan, std::int64_t layer) {
  return plan.recompute_each > 0 && (layer + 1) % plan.recompute_each == 0;
}

}  // namespace titan::recipe
