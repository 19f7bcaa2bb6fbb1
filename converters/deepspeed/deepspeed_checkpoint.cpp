#include "converters/deepspeed/deepspeed_checkpoint.h"

#include <algorithm>

#include "ckpt/base/fs.h"
#include "ckpt/base/path.h"
#include "converters/deepspeed/step_files.h"
#include "converters/deepspeed/zero.h"
#include "converters/hf/hf_checkpoint.h"
#include "converters/hf/hf_plan.h"
#include "converters/hf/training_settings.h"
#include "converters/run_names.h"
#include "converters/widen.h"

namespace titan::convert::deepspeed {
namespace {

constexpr std::string_view kStep = "global_step";

std::optional<std::uint64_t> step_of_folder(const std::string& path) {
  const std::string name = ckpt::base_name(path);
  return name.starts_with(kStep) ? step_of_name(name) : std::nullopt;
}

class Checkpoint final : public TrainedSource {
 public:
  Checkpoint(Fs& fs, std::string path, FoundStep step)
      : TrainedSource(fs, std::move(path)), folder_(std::move(step.folder)), other_(std::move(step.other)) {}

  Status open() {
    const auto zero = fs_.stat(ckpt::join_path(folder_, "zero"));
    universal_ = zero.ok() && zero->type == ckpt::FileType::kDirectory;
    TITAN_ASSIGN_OR_RETURN(content_,
                           universal_ ? read_universal(fs_, folder_, files_) : read_zero(fs_, folder_, files_));
    for (const auto& [name, state] : content_.states) add_part(name, add_pieced(state.weights), 0, state.weights.shape);
    TITAN_ASSIGN_OR_RETURN(const std::vector<ckpt::DirEntry> entries, fs_.list(folder_));
    for (const ckpt::DirEntry& entry : entries)  // for verify(), which also reads files that are not converted
      if (entry.name.ends_with("_states.pt")) files_.add_archive(ckpt::join_path(folder_, entry.name));
    end_of_model();
    set_why(content_.why_optimizer);
    for (const auto& [name, state] : content_.states) {
      if (!state.exp_avg || !state.exp_avg_sq) continue;
      add_moments(name, *state.exp_avg, *state.exp_avg_sq, state.step);
    }
    return {};
  }

  Result<ImportPlan> plan(const ImportOptions& options) const override {
    if (asks_for_run(options)) TITAN_RETURN_IF_ERROR(why_);
    TITAN_ASSIGN_OR_RETURN(const std::string config, folder_of_config());
    TITAN_ASSIGN_OR_RETURN(ImportPlan plan, plan_hf_import(fs_, config, *model_view(), of_model(options)));
    plan.step = content_.step.value_or(step_of_folder(folder_).value_or(0));
    plan.data_ranks = static_cast<std::uint32_t>(std::min<std::uint64_t>(content_.data_ranks, UINT32_MAX));
    note_training_state(config, plan);
    if (!other_.empty())
      plan.notes.push_back(folder_ + " is taken, not " + other_ + ", which is older: `" + kLatestOfDeepspeed +
                           "` and `" + kLatestUniversal + "` name other steps");
    plan.notes.push_back(content_.of_module
                             ? "weights are those of the model's file: there are no files of the optimizer"
                             : "weights are the optimizer's, in float32");
    plan.notes.insert(plan.notes.end(), content_.notes.begin(), content_.notes.end());
    TITAN_RETURN_IF_ERROR(take_slots(options, plan));
    if (plan.optimizer_steps.empty()) return plan;
    if (!content_.step && !step_of_folder(folder_)) plan.step = plan.optimizer_steps.front();
    if (options.widen) TITAN_RETURN_IF_ERROR(widen_state(*this, plan));
    if (!asks_for_run(options)) return plan;
    if (content_.groups.empty())
      plan.notes.push_back(folder_ +
                           " does not say the optimizer's settings: lr, betas, eps and weight decay are those of the "
                           "configuration, compared with nothing");
    RunFacts facts;
    facts.of = content_.groups;
    facts.clip = content_.clip;
    facts.data_ranks = content_.data_ranks;
    facts.lr_of_step = true;
    facts.skipped = content_.skipped;
    TITAN_RETURN_IF_ERROR(take_run(*options.config, facts, plan));
    const Status alike = take_training_settings(fs_, ckpt::join_path(config, kHfConfig), plan);
    if (!alike.ok()) return alike.with_hint(kModelAlone);
    return plan;
  }

 private:
  // Corrects a note of the model's plan. It says that all run state next to config.json is ignored, but DeepSpeed's
  // steps are read.
  void note_training_state(const std::string& config, ImportPlan& plan) const {
    std::erase_if(plan.notes, [](const std::string& note) { return note.starts_with(kNotCopied); });
    const auto entries = fs_.list(config);
    if (!entries.ok() || path() != config) return;
    std::vector<std::string> names = training_state(*entries);
    std::erase_if(names, [](const std::string& name) { return name.starts_with(kStep); });
    if (!names.empty()) plan.notes.push_back(kNotCopied + listed(names) + ": " + kStateOfRun);
  }

  // The folder of config.json: the step's own folder, or one or two levels above it (transformers' Trainer,
  // accelerate).
  Result<std::string> folder_of_config() const {
    std::string folder = folder_;
    for (int i = 0; i < 3; ++i) {
      TITAN_ASSIGN_OR_RETURN(const bool there, is_file(fs_, ckpt::join_path(folder, kHfConfig)));
      if (there) return folder;
      folder = ckpt::parent_path(folder);
    }
    return folder_;
  }

  const std::string folder_, other_;
  bool universal_ = false;
  Content content_;
};

// Whether a folder contains the files of a step.
Result<bool> is_step(Fs& fs, const std::string& path) {
  TITAN_ASSIGN_OR_RETURN(const std::vector<ckpt::DirEntry> entries, entries_of(fs, path));
  return std::ranges::any_of(entries, [](const ckpt::DirEntry& entry) {
    return entry.name.ends_with(kStates) || entry.name.ends_with("model_states.pt");
  });
}

class DeepspeedFormat final : public Format {
 public:
  const char* name() const override { return "deepspeed"; }
  const char* title() const override { return "DeepSpeed"; }
  bool writes() const override { return false; }
  Result<bool> probe(Fs& fs, const std::string& path) const override {
    TITAN_ASSIGN_OR_RETURN(const FoundStep step, find_step(fs, path));
    return !step.folder.empty();
  }
  Status near_miss(Fs& fs, const std::string& path) const override {
    const auto entries = fs.list(path);
    std::optional<std::uint64_t> last;
    std::string newest;
    for (std::size_t i = 0; entries.ok() && i < entries->size(); ++i) {
      const std::string folder = ckpt::join_path(path, (*entries)[i].name);
      const std::optional<std::uint64_t> step = step_of_folder(folder);
      if (!step || (last && *step < *last)) continue;
      TITAN_ASSIGN_OR_RETURN(const bool there, is_step(fs, folder));
      if (!there) continue;
      newest = folder;
      last = step;
    }
    if (newest.empty()) return {};
    return ckpt::not_found(path + " holds steps of DeepSpeed, but its file " + kLatestOfDeepspeed +
                           " is missing, or names none that is there")
        .with_hint("name a step: the newest is " + newest);
  }
  bool is_member(const std::string&) const override { return false; }
  Result<std::unique_ptr<ForeignCheckpoint>> open(Fs& fs, const std::string& path) const override {
    TITAN_ASSIGN_OR_RETURN(const FoundStep step, find_step(fs, path));
    if (step.folder.empty()) return ckpt::not_found(path + " holds no checkpoint of DeepSpeed");
    return opened<Checkpoint>(fs, path, step);
  }
  Result<std::unique_ptr<ForeignWriter>> create(Fs&, const CheckpointReader&, const ExportOptions&) const override {
    return ckpt::unsupported("DeepSpeed's checkpoints are read, not written")
        .with_hint("--to hf writes weights that from_pretrained loads before deepspeed.initialize");
  }
};

}  // namespace

Result<FoundStep> find_step(Fs& fs, const std::string& path) {
  FoundStep out;
  TITAN_ASSIGN_OR_RETURN(const bool itself, is_step(fs, path));
  if (itself) return FoundStep{path, ""};
  for (const char* name : {kLatestUniversal, kLatestOfDeepspeed}) {
    const Result<std::string> word = latest_word(fs, ckpt::join_path(path, name));
    if (!word.ok() && word.status().code == ckpt::Code::kMediaError) return word.status();
    const std::string step = word.ok() ? *word : "";
    if (step.empty() || step.find_first_of("/\n") != std::string::npos || step == "." || step == "..") continue;
    std::string folder = ckpt::join_path(path, step);
    TITAN_ASSIGN_OR_RETURN(const bool found, is_step(fs, folder));
    if (!found || folder == out.folder) continue;
    const bool newer =
        out.folder.empty() || step_of_folder(folder).value_or(0) > step_of_folder(out.folder).value_or(0);
    if (newer) std::swap(folder, out.folder);
    if (step_of_folder(folder) != step_of_folder(out.folder)) out.other = folder;
  }
  return out;
}

const Format& deepspeed_format() {
  static const DeepspeedFormat format;
  return format;
}

}  // namespace titan::convert::deepspeed
