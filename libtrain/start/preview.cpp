#include "libtrain/start/preview.h"

#include <algorithm>

#include "ckpt/io/verifier.h"
#include "ckpt/plan/lr_schedule.h"
#include "ckpt/plan/lr_settings.h"
#include "libtrain/data/dataset.h"
#include "libtrain/start/read_errors.h"
#include "recipe/change/stored_number.h"
#include "recipe/keys/writer.h"
#include "recipe/model/from_shapes.h"

namespace titan::train {
namespace {

Status read_resume(const ckpt::CheckpointReader& reader, const StartInputs& inputs, StartPreview& preview) {
  TITAN_ASSIGN_OR_RETURN(preview.loaded, model_of_run(inputs.loaded, reader));
  const recipe::Config& config = preview.loaded.config;
  TITAN_ASSIGN_OR_RETURN(preview.stored, read_stored(reader));
  preview.stored->elsewhere = !preview.decision.origin.empty();
  const recipe::StoredRun& stored = *preview.stored;
  preview.decision.step = stored.state.step;
  preview.seed = stored.state.seed;
  preview.complete = stored.state.step == static_cast<std::uint64_t>(config.training.steps);
  if (std::string line = recipe::no_longer_given(inputs.loaded, preview.loaded, reader.manifest().config, stored.state);
      !line.empty())
    preview.warnings.push_back(std::move(line));
  TITAN_RETURN_IF_ERROR(check_steps(config, stored.state.step));
  const std::int64_t global_batch = stored_global_batch(stored.state.accepted);
  auto plan = recipe::make_run_plan(config, inputs.world, global_batch);
  if (!plan.ok() && preview.complete) {
    // Nothing is left to train, so that what could not train is no error; what is shown is then the plan of one rank.
    preview.warnings.push_back("could not train, shown for one rank: " + plan.status().message);
    recipe::Config single = config;
    single.parallelism.data_parallel_replicate_degree = single.parallelism.pipeline_parallel_degree = 1;
    single.parallelism.data_parallel_shard_degree = -1;
    plan = recipe::make_run_plan(single, 1, global_batch);
  }
  if (!plan.ok()) return plan.status();
  preview.plan = std::move(*plan);
  return ckpt::ok_status();
}

/// Where the dataset as configured begins. A complete run does without one: the checkpoint's stands for it.
Result<ckpt::DataPosition> open_data(StartPreview& preview) {
  auto dataset = Dataset::open(preview.loaded.config, preview.seed.value_or(0),
                               static_cast<std::uint64_t>(preview.plan.dims.vocab_size));
  if (dataset.ok()) {
    const Status& doubt = (*dataset)->doubt();
    if (!doubt.ok() && preview.decision.mode != StartMode::kResume) return doubt;
    if (!doubt.ok()) preview.warnings.push_back(doubt.message);
    preview.validation_samples = (*dataset)->validation_samples();
    preview.warnings.insert(preview.warnings.end(), (*dataset)->warnings().begin(), (*dataset)->warnings().end());
    preview.dataset = std::move(*dataset);
    return preview.dataset->origin();
  }
  if (!preview.complete) return dataset.status();
  preview.warnings.push_back("the dataset cannot be compared with the checkpoint's: " + dataset.status().message);
  return preview.stored->data;
}

Status read_transfer(ckpt::Fs& fs, const StartInputs& inputs, const recipe::Permission& permission,
                     StartPreview& preview) {
  const std::string& path = *inputs.loaded.config.checkpoint.initial_load_path;
  TITAN_ASSIGN_OR_RETURN(
      const std::unique_ptr<ckpt::WeightSource> source,
      inputs.open_weights ? inputs.open_weights(path) : ckpt::open_weights(fs, preview.decision.path));
  TITAN_ASSIGN_OR_RETURN(preview.loaded, model_of_weights(inputs.loaded, *source));
  TITAN_ASSIGN_OR_RETURN(preview.plan, recipe::make_run_plan(preview.loaded.config, inputs.world));
  auto match = match_transfer(*source, preview.loaded.config, preview.plan, permission, &preview.warnings);
  preview.verdict = match.status();
  if (match.ok()) preview.weights = match_lines(*match, source->tensors(), preview.plan.parameters);
  return ckpt::ok_status();
}

}  // namespace

Status read_whole(ckpt::Fs& fs, const std::string& path) {
  TITAN_ASSIGN_OR_RETURN(const ckpt::VerifyReport report, ckpt::verify_checkpoint(fs, path));
  for (const ckpt::Damage& damage : report.damage) {
    if (damage.unit == "derived") continue;  // loaded by nobody
    const std::string where =
        damage.tensor.empty() ? "" : ", leaf " + std::to_string(damage.leaf) + " of " + damage.tensor;
    return ckpt::corrupt(ckpt::join_path(path, damage.file) + where + ": " + damage.detail);
  }
  if (!report.unreadable.empty())
    return ckpt::failed(ckpt::join_path(path, report.unreadable[0].file) +
                        " cannot be read: " + report.unreadable[0].detail);
  return ckpt::ok_status();
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

Result<StartRequest> start_request(const recipe::Config& config, const std::string& resume,
                                   const recipe::Permission& permission, ckpt::WeightOpener opener) {
  TITAN_ASSIGN_OR_RETURN(StartRequest request, start_request(config, resume));
  request.open_weights = std::move(opener);
  if (permission.allow.contains("training.dataset_path")) request.exclude.push_back("dataloader");
  return request;
}

Status check_steps(const recipe::Config& config, std::uint64_t checkpoint_step) {
  const auto steps = static_cast<std::uint64_t>(config.training.steps);
  if (checkpoint_step <= steps) return ckpt::ok_status();
  return ckpt::incompatible("the checkpoint is at step " + std::to_string(checkpoint_step) +
                            ", beyond training.steps = " + std::to_string(steps))
      .with_hint("raise training.steps to more than " + std::to_string(checkpoint_step));
}

std::int64_t stored_global_batch(const ckpt::Settings& accepted) {
  // What is no number is no default either: it is drift then, and said as such.
  return recipe::stored_number<std::int64_t>(ckpt::setting(accepted, "training.global_batch_size")).value_or(0);
}

Result<recipe::LoadedConfig> model_of_weights(const recipe::LoadedConfig& loaded, const ckpt::WeightSource& source) {
  const ckpt::Settings rows = recipe::known_model(source.model_config(), source.tensors(), loaded.config.model.n_heads);
  TITAN_RETURN_IF_ERROR(recipe::check_model_known(loaded, rows, source.path()));
  return recipe::with_model_of(loaded, rows, source.path());
}

Result<recipe::LoadedConfig> model_of_run(const recipe::LoadedConfig& loaded, const ckpt::CheckpointReader& reader) {
  return recipe::with_model_of(loaded, reader.manifest().config, reader.path());
}

Result<recipe::LoadedConfig> model_of_start(ckpt::Fs& fs, const recipe::LoadedConfig& loaded, const std::string& resume,
                                            const std::vector<std::string>& allow, ckpt::WeightOpener opener) {
  TITAN_ASSIGN_OR_RETURN(const recipe::Permission permission, recipe::read_permission(loaded.config, allow));
  TITAN_ASSIGN_OR_RETURN(StartRequest request, start_request(loaded.config, resume, permission, opener));
  TITAN_ASSIGN_OR_RETURN(const StartDecision decision, decide_alone(fs, loaded.config, request, {}, nullptr));
  switch (decision.mode) {
    case StartMode::kFresh: break;
    case StartMode::kResume: {
      return model_of_run(loaded, ckpt::CheckpointReader::known(fs, decision.path, *decision.manifest));
    }
    case StartMode::kTransfer: {
      TITAN_ASSIGN_OR_RETURN(const std::unique_ptr<ckpt::WeightSource> source,
                             opener ? opener(request.init_from) : ckpt::open_weights(fs, decision.path));
      return model_of_weights(loaded, *source);
    }
  }
  return loaded;
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

Result<WeightMatch> match_transfer(const ckpt::WeightSource& source, const recipe::Config& config,
                                   const recipe::RunPlan& plan, const recipe::Permission& permission,
                                   std::vector<std::string>* warnings) {
  InitMap map;
  if (config.checkpoint.initial_load_map) {
    TITAN_ASSIGN_OR_RETURN(map, read_init_map(*config.checkpoint.initial_load_map));
  }
  auto match = match_weights(source.tensors(), plan.parameters, map);
  const bool attention = !match.ok() || std::ranges::any_of(match->loaded, [&](const WeightMatch::Pair& pair) {
    return plan.parameters[pair.parameter].name.find(".attention.") != std::string::npos;
  });
  Status other = ckpt::incompatible("the configuration's model is not that of " + source.path());
  bool by_shapes = false, by_permission = false;
  for (const recipe::Drift& row :
       recipe::model_differences(plan.dims, recipe::known_model(source.model_config(), source.tensors()))) {
    const std::string line =
        row.key + ": " + row.stored + " in the checkpoint, " + row.config + " in the configuration";
    const recipe::TransferRule rule = recipe::find_key(row.key)->transfer;
    const bool of_heads = row.key != "model.norm_eps" && rule != recipe::TransferRule::kShapes;
    if (rule == recipe::TransferRule::kShapes && config.checkpoint.initial_load_map) {
      warnings->push_back("by " + *config.checkpoint.initial_load_map + ", " + line);
    } else if (of_heads && !attention) {
      warnings->push_back("no weight of attention is taken; " + line);
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

Result<StartPreview> preview_start(ckpt::Fs& fs, const StartInputs& inputs) {
  StartPreview preview;
  preview.loaded = inputs.loaded;
  const recipe::Config& config = preview.loaded.config;
  TITAN_ASSIGN_OR_RETURN(const recipe::Permission permission, recipe::read_permission(config, inputs.allow));
  TITAN_RETURN_IF_ERROR(recipe::make_run_mesh(config, inputs.world).status());
  TITAN_ASSIGN_OR_RETURN(StartRequest request, start_request(config, inputs.resume, permission, inputs.open_weights));
  if (config.debug.seed) preview.seed = static_cast<std::uint64_t>(*config.debug.seed);
  for (std::set<std::uint64_t> damaged;;) {
    TITAN_ASSIGN_OR_RETURN(preview.decision, decide_alone(fs, config, request, damaged, &preview.warnings));
    if (preview.decision.mode != StartMode::kResume) break;
    ckpt::MediaWatch watch(fs);
    const auto reader = ckpt::CheckpointReader::known(watch, preview.decision.path, *preview.decision.manifest);
    Status status = read_resume(reader, inputs, preview);
    if (status.ok() && preview.complete && inputs.prove_complete) status = read_whole(fs, preview.decision.path);
    if (status.ok()) break;
    if (status.code == ckpt::Code::kMediaError) {
      TITAN_ASSIGN_OR_RETURN(const std::uint64_t step, step_to_pass_over(config, request, status, watch.place(),
                                                                         [&](const ckpt::UnreadablePlace& place) {
                                                                           return read_again(fs, place);
                                                                         }));
      request.unreadable.insert(step);
      preview.warnings.push_back(passed_over_line(step, status));
      continue;
    }
    if (status.code != ckpt::Code::kCorrupt || !preview.decision.may_fall_back) return status;
    damaged.insert(reader.manifest().step);
    preview.warnings.push_back("step " + std::to_string(reader.manifest().step) + " is damaged: " + status.message);
  }
  preview.warnings.insert(preview.warnings.end(), preview.decision.notes.begin(), preview.decision.notes.end());
  if (preview.decision.mode == StartMode::kFresh) {
    TITAN_RETURN_IF_ERROR(recipe::check_model_asked(inputs.loaded, request.checkpoint_dir));
    TITAN_ASSIGN_OR_RETURN(preview.plan, recipe::make_run_plan(config, inputs.world));
  } else if (preview.decision.mode == StartMode::kTransfer) {
    TITAN_RETURN_IF_ERROR(read_transfer(fs, inputs, permission, preview));
  }
  auto opened = open_data(preview);
  if (!opened.ok() && inputs.data_elsewhere && !preview.stored && !config.training.corpus.empty() &&
      !config.training.dataset_path) {
    preview.no_data = opened.status();
    opened = ckpt::DataPosition{};
  }
  TITAN_ASSIGN_OR_RETURN(const ckpt::DataPosition origin, std::move(opened));
  preview.data = origin;
  preview.lr = ckpt::schedule_from(preview.plan.lr);

  if (!preview.stored) return preview;
  const std::uint64_t seed =
      config.debug.seed ? static_cast<std::uint64_t>(*config.debug.seed) : preview.stored->state.seed;
  preview.continuation = recipe::continue_run(*preview.stored, config, preview.plan, origin, seed, permission);
  const recipe::Continuation& continuation = preview.continuation;
  preview.lr = continuation.lr;
  preview.data = continuation.data;
  preview.warnings.insert(preview.warnings.end(), continuation.warnings.begin(), continuation.warnings.end());
  if (!preview.complete) preview.verdict = continuation.verdict;
  return preview;
}

}  // namespace titan::train
