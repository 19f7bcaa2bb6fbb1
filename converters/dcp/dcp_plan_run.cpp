// The run state in the plan of a DCP directory, for a resume with torchtitan's configuration.
#include <algorithm>

#include "ckpt/base/path.h"
#include "ckpt/base/text.h"
#include "ckpt/plan/lr_settings.h"
#include "converters/dcp/dcp_companions.h"
#include "converters/dcp/dcp_planner.h"
#include "converters/dcp/optimizer_groups.h"
#include "converters/dcp/resume.h"
#include "converters/fused_experts.h"
#include "converters/hf/training_settings.h"
#include "recipe/keys/config.h"

namespace titan::convert::dcp {
namespace {

// The step in a folder's name: "step-10" of torchtitan, or "checkpoint-10" of Hugging Face's trainers, which contains
// the DCP directory.
std::optional<std::uint64_t> step_of_folder(const std::string& name) {
  for (const std::string_view prefix : {"step-", "checkpoint-"}) {
    if (!name.starts_with(prefix)) continue;
    const std::string_view digits = std::string_view(name).substr(prefix.size());
    if (digits.size() <= 15 && std::ranges::all_of(digits, ckpt::is_digit))
      return ckpt::number_of<std::uint64_t>(digits);
  }
  return std::nullopt;
}

// The step in train_state; without a train_state (only the model was saved), the step in the name of the folder or of
// its parent. nullopt if there is none. \error kCorrupt, kFailed
Result<std::optional<std::uint64_t>> stored_step(const DcpReader& source) {
  const Result<ItemValue> step = source.value("train_state.step");
  if (step.ok()) {
    if (step->kind != ItemValue::Kind::kInt || step->integer < 0)
      return ckpt::corrupt(source.path() + ": train_state.step is " + step->to_string());
    return std::optional(static_cast<std::uint64_t>(step->integer));
  }
  if (step.status().code != ckpt::Code::kNotFound) return step.status();
  const std::optional<std::uint64_t> named = step_of_folder(ckpt::base_name(source.path()));
  return named ? named : step_of_folder(ckpt::base_name(ckpt::parent_path(source.path())));
}

}  // namespace

Result<std::vector<std::string>> Planner::missing_run_settings() const {
  if (slots_.empty()) return std::vector<std::string>{};
  TITAN_ASSIGN_OR_RETURN(const recipe::Config config, read_torchtitan(*options_.config));
  const Result<ItemValue> stored = source_.reader().value("dataloader.world_size");
  const bool absent = !stored.ok() && stored.status().code == ckpt::Code::kNotFound && data_ranks(config) == 0;
  return absent ? std::vector<std::string>{"parallelism.data_parallel_shard_degree"} : std::vector<std::string>{};
}

Status Planner::take_step() {
  TITAN_ASSIGN_OR_RETURN(std::optional<std::uint64_t> step, stored_step(source_.reader()));
  const std::vector<std::uint64_t>& counts = plan_.optimizer_steps;
  if (!step && !counts.empty() && std::ranges::count(counts, counts.front()) == std::ssize(counts))
    step = counts.front();
  plan_.step = step.value_or(0);
  if (!step && !options_.look) plan_.notes.push_back("the step is not in the checkpoint: step 0 is written");
  return {};
}

void Planner::note_values() {
  std::vector<std::string> names;
  for (const BytesEntry& entry : source_.reader().metadata().values) {
    const Kind kind = layout_.key(entry.name).kind;
    if (kind == Kind::kParameter || kind == Kind::kSlot || kind == Kind::kStep) names.push_back(entry.name);
  }
  if (names.empty()) return;
  if (!options_.look)
    plan_.notes.push_back("dropped: " + listed(names) +
                          (names.size() == 1 ? " (it is no tensor)" : " (they are no tensors)"));
  plan_.left_out.insert(plan_.left_out.end(), names.begin(), names.end());
}

Status Planner::take_alike() {
  if (!layout_.huggingface) return {};
  TITAN_ASSIGN_OR_RETURN(const std::string config, find_config(source_.reader().fs(), source_.path()));
  const Status alike = take_training_settings(source_.reader().fs(), config, plan_);
  return alike.ok() ? alike : alike.with_hint(kTensorsAlone);
}

Status Planner::take_run() {
  if (plan_.optimizer_steps.empty()) {
    plan_.notes.push_back("the model alone: no optimizer state in the source, so a run cannot continue from this");
    return {};
  }
  TITAN_ASSIGN_OR_RETURN(const recipe::Config config, read_torchtitan(*options_.config));
  TITAN_ASSIGN_OR_RETURN(
      const ResumedRun run,
      layout_.huggingface
          ? check_plain_resume(
                source_.reader(), optimizer_,
                [&](const std::string& name) {
                  const auto at = renamed_.find(name);
                  const std::string now = first_expert(at == renamed_.end() ? name : at->second);
                  return layout_.key(optimizer_ + "state." + now + ".exp_avg").parameter;
                },
                plan_.parameters, plan_.optimizer_steps, config, plan_.notes)
          : check_resume(source_.reader(), {plan_.parameters, groups_, newer_}, plan_.optimizer_steps, config));
  if (run.train.step != plan_.step)
    return ckpt::incompatible(source_.path() + ": Adam's count is " + std::to_string(run.train.step) +
                              ", but the folder's name says step " + std::to_string(plan_.step))
        .with_hint(kTensorsAlone);
  plan_.lr = run.lr;
  plan_.train = run.train;
  plan_.data_ranks = static_cast<std::uint32_t>(std::min<std::uint64_t>(run.world, UINT32_MAX));
  if (!layout_.huggingface && !source_.reader().value("dataloader.world_size").ok()) {
    plan_.notes.push_back(
        "tokens: " + std::to_string(run.world) +
        " data ranks, taken from the configuration's parallelism (dataloader.world_size is not in the source)");
  }
  std::string model;
  for (const auto& [key, value] : plan_.config) model += (model.empty() ? "" : ", ") + key + " = " + value;
  plan_.notes.push_back("titan-train's configuration must make this model: " + model);
  plan_.train->accepted = ckpt::with_rows(curve_rows(config, run.world), plan_.config);
  plan_.config = plan_.train->accepted;
  TITAN_RETURN_IF_ERROR(take_alike());
  if (layout_.huggingface) plan_.notes.push_back(uncompared_settings(config));
  note_average(config, plan_);
  plan_.notes.push_back(std::string("the data position cannot be translated") +
                        (layout_.huggingface ? "" : " (torchtitan's iterator is pickled)") +
                        ": it is absent, the first run needs --allow training.dataset and begins at sample 0");
  return {};
}

}  // namespace titan::convert::dcp
