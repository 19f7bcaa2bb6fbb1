#include "libtrain/start/preview.h"

#include <algorithm>

#include "ckpt/plan/lr_schedule.h"
#include "ckpt/plan/lr_settings.h"
#include "libtrain/config/writer.h"
#include "libtrain/data/dataset.h"

namespace titan::train {
namespace {

Status read_resume(const ckpt::CheckpointReader& reader, const StartInputs& inputs, StartPreview& preview) {
  TITAN_ASSIGN_OR_RETURN(preview.stored, read_stored(reader));
  const StoredRun& stored = *preview.stored;
  preview.decision.step = stored.state.step;
  preview.seed = stored.state.seed;
  preview.complete = stored.state.step == static_cast<std::uint64_t>(inputs.config.training.steps);
  TITAN_RETURN_IF_ERROR(check_steps(inputs.config, stored.state.step));
  TITAN_ASSIGN_OR_RETURN(preview.plan, make_run_plan(inputs.config, inputs.world, stored_global_batch(stored.state.accepted)));
  return ckpt::ok_status();
}

Status read_transfer(ckpt::Fs& fs, const StartInputs& inputs, StartPreview& preview) {
  const std::string& path = *inputs.config.checkpoint.initial_load_path;
  TITAN_ASSIGN_OR_RETURN(const std::unique_ptr<ckpt::WeightSource> source,
                         inputs.open_weights ? inputs.open_weights(path) : ckpt::open_weights(fs, preview.decision.path));
  TITAN_ASSIGN_OR_RETURN(const WeightMatch match, match_transfer(*source, inputs.config, preview.plan, &preview.warnings));
  preview.weights = match_lines(match, source->tensors(), preview.plan.parameters);
  return ckpt::ok_status();
}

}  // namespace

Result<StoredRun> read_stored(const ckpt::CheckpointReader& reader) {
  StoredRun stored;
  stored.path = reader.path();
  const ckpt::Manifest& manifest = reader.manifest();
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

Result<StartRequest> start_request(const Config& config, const std::string& resume, const Permission& permission, ckpt::WeightOpener opener) {
  TITAN_ASSIGN_OR_RETURN(StartRequest request, start_request(config, resume));
  request.open_weights = std::move(opener);
  if (permission.allow.contains("training.dataset_path")) request.exclude.push_back("dataloader");
  return request;
}

Status check_steps(const Config& config, std::uint64_t checkpoint_step) {
  const auto steps = static_cast<std::uint64_t>(config.training.steps);
  if (checkpoint_step <= steps) return ckpt::ok_status();
  return ckpt::incompatible("the checkpoint is at step " + std::to_string(checkpoint_step) + ", beyond training.steps = " + std::to_string(steps))
      .with_hint("raise training.steps to more than " + std::to_string(checkpoint_step));
}

std::int64_t stored_global_batch(const ckpt::Settings& accepted) {
  const std::string text = ckpt::setting(accepted, "training.global_batch_size");
  return text == ckpt::kNotSet ? 0 : std::stoll(text);
}

Result<WeightMatch> match_transfer(const ckpt::WeightSource& source, const Config& config, const RunPlan& plan, std::vector<std::string>* warnings) {
  const ckpt::Settings model = resolved_settings(resolved_config(config, plan)), theirs = source.model_config();
  Status heads = ckpt::incompatible("the attention heads of " + source.path() + " are not the configuration's");
  for (const char* key : {"model.n_heads", "model.n_kv_heads", "model.head_dim", "model.norm_eps", "model.rope_theta", "model.rope_scaling"}) {
    const std::string stored = ckpt::setting(theirs, key), ours = ckpt::setting(model, key);
    // A source without any row does not say what it was trained with.
    if (theirs.empty() || stored == ours) continue;
    const bool dimension = std::string_view(key).ends_with("heads") || std::string_view(key) == "model.head_dim";
    if (dimension && stored == ckpt::kNotSet) continue;
    const std::string line = std::string(key) + ": " + stored + " in the checkpoint, " + ours + " in the configuration";
    if (dimension) {
      heads.causes.push_back(line);
    } else {
      warnings->push_back("the weights were trained with another value: " + line);
    }
  }
  if (!heads.causes.empty()) return heads.with_hint("set the model.* keys as the checkpoint's: titan-ckpt inspect --config shows them");
  InitMap map;
  if (config.checkpoint.initial_load_map) {
    TITAN_ASSIGN_OR_RETURN(map, read_init_map(*config.checkpoint.initial_load_map));
  }
  auto match = match_weights(source.tensors(), plan.parameters, map);
  if (!match.ok()) return match.status().wrapped("cannot start from " + source.path());
  return match;
}

Result<StartPreview> preview_start(ckpt::Fs& fs, const StartInputs& inputs) {
  const Config& config = inputs.config;
  StartPreview preview;
  TITAN_ASSIGN_OR_RETURN(const Permission permission, read_permission(config, inputs.allow));
  TITAN_ASSIGN_OR_RETURN(preview.plan, make_run_plan(config, inputs.world));
  TITAN_ASSIGN_OR_RETURN(const StartRequest request, start_request(config, inputs.resume, permission, inputs.open_weights));
  if (config.debug.seed) preview.seed = static_cast<std::uint64_t>(*config.debug.seed);
  for (std::set<std::uint64_t> damaged;;) {
    TITAN_ASSIGN_OR_RETURN(preview.decision, decide_start(fs, request, damaged));
    if (preview.decision.mode != StartMode::kResume) break;
    TITAN_ASSIGN_OR_RETURN(const ckpt::CheckpointReader reader, ckpt::CheckpointReader::open(fs, preview.decision.path));
    const Status status = read_resume(reader, inputs, preview);
    if (status.ok()) break;
    if (status.code != ckpt::Code::kCorrupt || !preview.decision.may_fall_back) return status;
    damaged.insert(reader.manifest().step);
    preview.warnings.push_back("step " + std::to_string(reader.manifest().step) + " is damaged: " + status.message);
  }
  TITAN_ASSIGN_OR_RETURN(const std::unique_ptr<Dataset> dataset,
                         Dataset::open(config, preview.seed.value_or(0), static_cast<std::uint64_t>(preview.plan.dims.vocab_size)));
  preview.data = dataset->origin();
  preview.validation_samples = dataset->validation_samples();
  preview.lr = ckpt::schedule_from(preview.plan.lr);

  if (preview.decision.mode == StartMode::kTransfer) preview.verdict = read_transfer(fs, inputs, preview);
  if (!preview.stored) return preview;
  const std::uint64_t seed = config.debug.seed ? static_cast<std::uint64_t>(*config.debug.seed) : preview.stored->state.seed;
  preview.continuation = continue_run(*preview.stored, config, preview.plan, dataset->origin(), seed, permission);
  const Continuation& continuation = preview.continuation;
  preview.lr = continuation.lr;
  preview.data = continuation.data;
  preview.warnings.insert(preview.warnings.end(), continuation.warnings.begin(), continuation.warnings.end());
  if (!preview.complete) preview.verdict = continuation.verdict;
  return preview;
}

}  // namespace titan::train
