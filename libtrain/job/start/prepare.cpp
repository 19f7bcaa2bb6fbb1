#include "libtrain/job/start/prepare.h"

#include <algorithm>

#include "ckpt/base/path.h"
#include "ckpt/base/printed.h"
#include "ckpt/base/text.h"
#include "ckpt/plan/lr_schedule.h"
#include "ckpt/plan/lr_settings.h"
#include "ckpt/read/step_proof.h"
#include "ckpt/read/verifier.h"
#include "ckpt/store/named_file.h"
#include "libtrain/job/forecast/fit_memory.h"
#include "libtrain/job/forecast/forecast.h"
#include "libtrain/job/host/gemm.h"
#include "libtrain/job/host/measured_costs.h"
#include "libtrain/job/reduction/exchange_plan.h"
#include "libtrain/job/schedule/schedule_of_run.h"
#include "libtrain/job/start/open_data.h"
#include "libtrain/job/start/precision.h"
#include "libtrain/job/start/read_errors.h"
#include "recipe/keys/key_table.h"
#include "recipe/model/from_shapes.h"
#include "recipe/plan/run_plan.h"

namespace titan::train {
namespace {

/// The model of the checkpoint in the decision, and its reader.
Status open_model(ckpt::Fs& fs, const StartInputs& inputs, Start& start, std::map<std::string, std::string> json) {
  const std::string& path = start.decision.path;
  std::optional<ckpt::Manifest> manifest = std::exchange(start.decision.manifest, std::nullopt);
  switch (start.decision.mode) {
    case StartMode::kFresh: start.loaded = inputs.loaded; break;
    case StartMode::kTransfer: {
      TITAN_ASSIGN_OR_RETURN(start.weight_source,
                             manifest ? ckpt::weights_of(ckpt::CheckpointReader::known(fs, path, std::move(*manifest)))
                             : inputs.open_weights ? inputs.open_weights(fs, path)
                                                   : ckpt::open_weights(fs, path));
      for (const std::string& note : start.weight_source->model_file_notes()) start.warnings.push_back(note);
      TITAN_ASSIGN_OR_RETURN(start.loaded, model_of_weights(inputs.loaded, *start.weight_source));
      break;
    }
    case StartMode::kResume: {
      start.source = std::make_shared<ckpt::CheckpointReader>(
          ckpt::CheckpointReader::known(fs, path, std::move(*manifest), std::move(json)));
      start.id = start.source->manifest().id;
      TITAN_ASSIGN_OR_RETURN(start.loaded, model_of_run(inputs.loaded, *start.source));
      break;
    }
  }
  return ckpt::ok_status();
}

/// Reads the schedule table if a file has it, and checks it for each share of micro-batches.
Status read_schedule(ckpt::Fs& fs, const recipe::Config& config, recipe::RunPlan& plan) {
  constexpr std::uint64_t kMostBytes = 64 << 20;
  const std::string& path = config.parallelism.pipeline_parallel_schedule_csv;
  if (path.empty() || plan.mesh.pp == 1) return ckpt::ok_status();
  const auto bytes = ckpt::read_named_file(fs, path, "an order of work", kMostBytes);
  if (!bytes.ok()) {
    Status status = bytes.status();
    status.message = "parallelism.pipeline_parallel_schedule_csv: " + status.message;
    return status;
  }
  plan.schedule_file = {path, std::string(ckpt::text_of(*bytes))};
  for (std::uint32_t rank = 0; rank < plan.mesh.dp; ++rank)
    TITAN_RETURN_IF_ERROR(schedule_of(plan, share_of(plan, rank).count).status());
  return ckpt::ok_status();
}

/// Why nothing is exchanged within nodes although that is configured; else empty.
std::string no_node_domain(const recipe::RunPlan& plan) {
  if (plan.exchange != recipe::ExchangeDomain::kNode || plan.mesh.dp == 1 || exchanges_per_micro_batch(plan)) return {};
  return "parallelism.gradient_exchange = \"node\" is as \"late\" here: nodes of " +
         ckpt::counted(plan.node_ranks, "rank") + " and " + std::to_string(plan.mesh.dp) +
         " data-parallel ranks have no common divisor above 1";
}

Status plan_start(ckpt::Fs& fs, const StartInputs& inputs, Start& start) {
  TITAN_RETURN_IF_ERROR(take_measured_costs(fs, start.loaded.config));
  const recipe::Config& config = start.loaded.config;
  if (start.stored) TITAN_RETURN_IF_ERROR(check_steps(config, start.stored->state.step));
  const std::int64_t global_batch = start.stored ? stored_global_batch(start.stored->state.accepted) : 0;
  auto plan = recipe::make_run_plan(config, inputs.world, global_batch);
  if (!plan.ok() && start.complete) {
    // Nothing is left to train, so an untrainable plan is not an error; the plan for one rank is shown instead.
    start.warnings.push_back("could not train, shown for one rank: " + plan.status().message);
    recipe::Config single = config;
    single.parallelism.data_parallel_replicate_degree = single.parallelism.pipeline_parallel_degree = 1;
    single.parallelism.data_parallel_shard_degree = -1;
    plan = recipe::make_run_plan(single, 1, global_batch);
  }
  TITAN_ASSIGN_OR_RETURN(start.plan, std::move(plan));
  start.plan.node_ranks = inputs.node_ranks;
  if (std::string line = no_node_domain(start.plan); !line.empty()) start.warnings.push_back(std::move(line));
  TITAN_RETURN_IF_ERROR(read_schedule(fs, config, start.plan));
  if (!start.complete) TITAN_RETURN_IF_ERROR(fit_memory(config, global_batch, start.plan));
  start.plan.gemm = resolve_gemm(config, start.stored ? stored_gemm(start.stored->state.environment) : std::nullopt,
                                 start.processor.empty() ? processor_name() : start.processor);
  return ckpt::ok_status();
}

}  // namespace

Status open_start(ckpt::Fs& fs, const StartInputs& inputs, Start& start, std::map<std::string, std::string> json) {
  TITAN_RETURN_IF_ERROR(open_model(fs, inputs, start, std::move(json)));
  const recipe::Config& config = start.loaded.config;
  if (config.debug.seed) start.seed = static_cast<std::uint64_t>(*config.debug.seed);
  if (start.decision.mode == StartMode::kFresh)
    return recipe::check_model_asked(inputs.loaded, ckpt::join_path(config.job.dump_folder, config.checkpoint.folder));
  if (!start.source) return ckpt::ok_status();
  TITAN_ASSIGN_OR_RETURN(start.stored, read_stored(*start.source));
  start.precise = check_precision(start.source->manifest(), start.source->path(), true);
  start.precise_weights = check_precision(start.source->manifest(), start.source->path(), false);
  start.stored->elsewhere = !start.decision.origin.empty();
  std::optional<double>& router = start.loaded.config.training.router_aux_loss;
  if (!router)
    router = ckpt::number_of<double>(ckpt::setting(start.stored->state.accepted, "training.router_aux_loss"));
  start.decision.step = start.stored->state.step;
  start.seed = start.stored->state.seed;
  start.complete = start.decision.step == static_cast<std::uint64_t>(config.training.steps);
  return ckpt::ok_status();
}

Status prepare_start(ckpt::Fs& fs, const StartInputs& inputs, const recipe::Permission& permission, Start& start) {
  const recipe::Config& config = start.loaded.config;
  TITAN_RETURN_IF_ERROR(plan_start(fs, inputs, start));
  if (start.weight_source) {
    auto match = match_transfer(fs, *start.weight_source, config, start.plan, permission, &start.warnings);
    start.verdict = match.status();
    if (match.ok()) start.match = std::move(*match);
  }
  TITAN_RETURN_IF_ERROR(open_data(fs, inputs, start));
  // A configured seed must be the run's; otherwise the run keeps the seed drawn at its first start.
  const std::uint64_t seed =
      config.debug.seed ? static_cast<std::uint64_t>(*config.debug.seed) : start.seed.value_or(0);
  if (!start.stored) {
    start.lr = ckpt::schedule_from(start.plan.lr);
    start.accepted = recipe::first_settings(config, start.plan, start.data, seed, permission);
    return end_with_data(start);
  }
  start.continuation = recipe::continue_run(*start.stored, config, start.plan, start.data, seed, permission);
  start.lr = start.continuation.lr;
  start.data = start.complete && !start.continuation.verdict.ok() ? start.stored->data : start.continuation.data;
  start.accepted = start.continuation.accepted;
  if (start.complete) return ckpt::ok_status();
  start.verdict = start.continuation.verdict;
  if (start.verdict.ok()) start.verdict = start.continuation.fresh_optimizer ? start.precise_weights : start.precise;
  if (start.verdict.ok()) start.verdict = end_with_data(start);
  return ckpt::ok_status();
}

Status read_whole(ckpt::Fs& fs, const std::string& path, const ckpt::Digest& id, const ckpt::CancelToken& stop) {
  TITAN_ASSIGN_OR_RETURN(const ckpt::VerifyReport report, ckpt::verify_checkpoint(fs, path, {}, stop));
  for (const ckpt::Damage& damage : report.damage) {
    if (damage.unit == "derived") continue;  // a resume does not read derived files
    const std::string where =
        damage.tensor.empty() ? "" : ", leaf " + std::to_string(damage.leaf) + " of " + damage.tensor;
    return ckpt::corrupt(ckpt::join_path(path, damage.file) + where + ": " + damage.detail);
  }
  if (!report.unreadable.empty())
    return ckpt::failed(ckpt::join_path(path, report.unreadable[0].file) +
                        " cannot be read: " + report.unreadable[0].detail);
  return ckpt::check_id(path, report.id, id);
}

Result<recipe::StoredRun> read_stored(const ckpt::CheckpointReader& reader) {
  recipe::StoredRun stored;
  stored.path = reader.path();
  const ckpt::Manifest& manifest = reader.manifest();
  stored.has_optimizer = manifest.component("optimizer") != nullptr;
  if (!manifest.parameters.empty()) stored.optimizer_step = manifest.parameters.front().optimizer_step;
  if (manifest.component("lr_scheduler")) {
    TITAN_ASSIGN_OR_RETURN(stored.lr, reader.lr_schedule());
  }
  if (manifest.component("dataloader")) {
    TITAN_ASSIGN_OR_RETURN(stored.data, reader.data_position());
  }
  TITAN_ASSIGN_OR_RETURN(stored.state, reader.train_state());
  return stored;
}

Result<StartRequest> start_request(const StartInputs& inputs, const recipe::Permission& permission) {
  TITAN_ASSIGN_OR_RETURN(StartRequest request, start_request(inputs.loaded.config, inputs.resume));
  request.open_weights = inputs.open_weights;
  if (permission.allow.contains("training.dataset_path")) request.exclude.push_back("dataloader");
  return request;
}

Status check_steps(const recipe::Config& config, std::uint64_t checkpoint_step) {
  const auto steps = static_cast<std::uint64_t>(config.training.steps);
  if (checkpoint_step <= steps) return ckpt::ok_status();
  const std::string present = std::to_string(checkpoint_step);
  return ckpt::incompatible("the checkpoint is at step " + present +
                            ", beyond training.steps = " + std::to_string(steps))
      .with_hint("raise training.steps: to " + present + ", which ends the run there, or to more, to continue");
}

std::int64_t stored_global_batch(const ckpt::Settings& accepted) {
  // A malformed number is not a default either: it is reported as drift.
  return ckpt::number_of<std::int64_t>(ckpt::setting(accepted, "training.global_batch_size")).value_or(0);
}

Result<recipe::LoadedConfig> model_of_weights(const recipe::LoadedConfig& loaded, const ckpt::WeightSource& source) {
  const ckpt::Settings rows = recipe::known_model(source.model_config(), source.tensors(), loaded.config.model.n_heads);
  TITAN_RETURN_IF_ERROR(recipe::check_model_known(loaded, rows, source.path()));
  return recipe::with_model_of(loaded, rows, source.path());
}

Result<recipe::LoadedConfig> model_of_run(const recipe::LoadedConfig& loaded, const ckpt::CheckpointReader& reader) {
  return recipe::with_model_of(loaded, reader.manifest().config, reader.path());
}

Result<recipe::LoadedConfig> model_of_start(ckpt::Fs& fs, const StartInputs& inputs) {
  TITAN_ASSIGN_OR_RETURN(const recipe::Permission permission,
                         recipe::read_permission(inputs.loaded.config, inputs.allow));
  TITAN_ASSIGN_OR_RETURN(StartRequest request, start_request(inputs, permission));
  Start start;
  TITAN_ASSIGN_OR_RETURN(start.decision, decide_alone(fs, inputs.loaded.config, request, {}, nullptr));
  TITAN_RETURN_IF_ERROR(open_model(fs, inputs, start, {}));
  return std::move(start.loaded);
}

bool is_at_stop(const recipe::Config& config, const StartDecision& start) {
  const auto& stop_at = config.debug.stop_at_step;
  return start.mode == StartMode::kResume && stop_at && start.step >= static_cast<std::uint64_t>(*stop_at) &&
         start.step < static_cast<std::uint64_t>(config.training.steps);
}

std::string complete_line(const recipe::Config& config, const StartDecision& start) {
  const std::string what = "nothing to do, complete: " + start.path + " is ";
  if (!is_at_stop(config, start)) return what + "at training.steps = " + std::to_string(start.step);
  const auto stop_at = static_cast<std::uint64_t>(*config.debug.stop_at_step);
  return what + (start.step == stop_at ? "at" : "past") + " debug.stop_at_step = " + std::to_string(stop_at);
}

Result<WeightMatch> match_transfer(ckpt::Fs& fs, const ckpt::WeightSource& source, const recipe::Config& config,
                                   const recipe::RunPlan& plan, const recipe::Permission& permission,
                                   std::vector<std::string>* warnings) {
  TITAN_ASSIGN_OR_RETURN(recipe::NameRules rules, recipe::given_rules(fs, config));
  std::vector<std::string> left_out;
  if (source.manifest() == nullptr) {  // what opens another format applies the rules to the names in its files
    left_out = source.left_out();
    std::erase_if(left_out, [&](const std::string& name) { return !recipe::any_match(rules.skip, name); });
  }
  TITAN_ASSIGN_OR_RETURN(rules, rules_for_ours(source, rules));
  auto match = match_weights(source.tensors(), plan.parameters, rules, static_cast<std::uint64_t>(plan.dims.head_dim));
  if (match.ok()) match->left_out = std::move(left_out);
  const auto takes = [&](const char* part) {
    return !match.ok() || std::ranges::any_of(match->loaded, [&](const WeightMatch::Pair& pair) {
      return plan.parameters[pair.parameter].name.find(part) != std::string::npos;
    });
  };
  Status other = ckpt::incompatible("the configuration's model is not that of " + source.path());
  bool by_shapes = false, by_permission = false;
  for (const recipe::Drift& row :
       recipe::model_differences(plan.dims, recipe::known_model(source.model_config(), source.tensors()))) {
    const std::string line =
        row.key + ": " + row.stored + " in the checkpoint, " + row.config + " in the configuration";
    const recipe::TransferRule rule = recipe::find_key(row.key)->transfer;
    const bool of_experts = row.key == "model.experts_per_token" || row.key == "model.route_norm";
    const bool of_one_part = row.key != "model.norm_eps" && rule != recipe::TransferRule::kShapes;
    if (rule == recipe::TransferRule::kShapes && recipe::gives_rules(config)) {
      warnings->push_back("by " + config.checkpoint.initial_load_map.value_or("the rules for names") + ", " + line);
    } else if (of_one_part && !takes(of_experts ? ".moe." : ".attention.")) {
      warnings->push_back(std::string("no weight of ") + (of_experts ? "experts" : "attention") + " is taken; " + line);
    } else if (rule == recipe::TransferRule::kPermission && permission.allow.contains(row.key)) {
      warnings->push_back("the weights were trained with another value: " + line);
    } else {
      other.causes.push_back(line);
      by_shapes |= rule == recipe::TransferRule::kShapes;
      by_permission |= rule == recipe::TransferRule::kPermission;
    }
  }
  if (!other.causes.empty()) {
    std::string hint = "leave these keys and model.flavor out of the configuration: then they are the checkpoint's";
    if (by_shapes) hint += "; another shape needs --init-map with tensors to skip and create";
    if (by_permission) hint += "; to train on with another value all the same: --allow KEY";
    return other.with_hint(hint);
  }
  if (!match.ok()) return match.status().wrapped("cannot start from " + source.path());
  return match;
}

}  // namespace titan::train
