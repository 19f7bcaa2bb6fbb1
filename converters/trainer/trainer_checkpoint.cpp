#include "converters/trainer/trainer_checkpoint.h"

#include <algorithm>

#include "ckpt/base/fs.h"
#include "ckpt/base/path.h"
#include "converters/companions.h"
#include "converters/hf/hf_checkpoint.h"
#include "converters/hf/hf_plan.h"
#include "converters/hf/training_settings.h"
#include "converters/json_file.h"
#include "converters/name_map.h"
#include "converters/other_programs.h"
#include "converters/trainer/trainer_state.h"

namespace titan::convert {
namespace {

constexpr const char* kTrainerState = "trainer_state.json";
constexpr std::uint64_t kMaxTrainerState = std::uint64_t{256} << 20;

// The names of files with run state in `entries`. training_args.bin does not count, because it is also published with
// finished models.
std::vector<std::string> run_state_files(const std::vector<ckpt::DirEntry>& entries) {
  std::vector<std::string> names = training_state(entries);
  std::erase_if(names, [](const std::string& name) { return name.starts_with("training_args"); });
  return names;
}

class TrainerCheckpoint final : public TrainedSource {
 public:
  TrainerCheckpoint(Fs& fs, std::string path, std::unique_ptr<ForeignCheckpoint> model, std::string file)
      : TrainedSource(fs, std::move(path)), model_(std::move(model)), file_(std::move(file)) {
    add_model(*model_);
    set_why(read_state());
  }

  Result<ImportPlan> plan(const ImportOptions& options) const override {
    const bool run = asks_for_run(options);
    if (run) TITAN_RETURN_IF_ERROR(why_);
    TITAN_ASSIGN_OR_RETURN(ImportPlan plan, model_->plan(of_model(options)));
    if (!run && !options.look && !file_.empty())
      plan.notes.push_back(file_ + (why_.ok()
                                        ? ": --config FILE.toml with optimizer, lr_scheduler and training continues "
                                          "the run, optimizer included"
                                        : " cannot be read: " + why_.message));
    if (!run) return plan;
    note_training_state(plan);
    TITAN_RETURN_IF_ERROR(take_counted_run(options, of_weights(groups_, plan), plan));
    const Status alike = take_training_settings(fs_, ckpt::join_path(path(), kHfConfig), plan);
    if (!alike.ok()) return alike.with_hint(kModelAlone);
    return plan;
  }

 private:
  Status read_state() {
    if (file_.empty()) return missing();
    TITAN_ASSIGN_OR_RETURN(const bool config, file_there(fs_, ckpt::join_path(path(), kHfConfig)));
    if (!config)
      return ckpt::incompatible(ckpt::join_path(path(), file_) + " has no " + kHfConfig +
                                " next to it, which says whose states they are")
          .with_hint(std::string("copy the model's config.json there, or ") + kModelAlone);
    TITAN_ASSIGN_OR_RETURN(const recipe::ModelDims model, read_hf_config_file(fs_, ckpt::join_path(path(), kHfConfig)));
    TITAN_ASSIGN_OR_RETURN(state_,
                           read_trainer_state(fs_, {through_link(fs_, ckpt::join_path(path(), file_))}, model, files_));
    const std::vector<PlacedState> placed = placed_state(state_, tensors());
    groups_ = groups_of(placed);
    for (const auto& [moments, parts] : placed)
      add_moments(parts, moments->exp_avg, moments->exp_avg_sq, moments->step);
    know_states(huggingface_names().of(model));
    const double step = state_.empty() ? 0 : state_.begin()->second.step;
    return step >= 0 && step <= 0x1p53 ? check_step(step) : Status{};  // not a count: refused when it is used
  }

  // The error that the optimizer file is missing although other run state is there.
  Status missing() const {
    TITAN_ASSIGN_OR_RETURN(const std::vector<ckpt::DirEntry> entries, fs_.list(path()));
    const std::vector<std::string> names = run_state_files(entries);
    const auto deepspeed =
        std::ranges::find_if(names, [](const std::string& name) { return name.starts_with("global_step"); });
    return ckpt::incompatible(path() + " holds " + listed(names) +
                              " of a trainer, but no optimizer.pt or optimizer.bin")
        .with_hint((deepspeed == names.end()
                        ? "copy the optimizer's file there, or "
                        : "give " + ckpt::join_path(path(), *deepspeed) + ", where DeepSpeed has it, or ") +
                   kModelAlone);
  }

  // Corrects the note of the model's plan that all run state is ignored.
  void note_training_state(ImportPlan& plan) const {
    std::erase_if(plan.notes, [](const std::string& note) { return note.starts_with(kNotCopied); });
    const auto entries = fs_.list(path());
    if (!entries.ok()) return;
    std::vector<std::string> names = training_state(*entries);
    std::erase(names, file_);
    std::erase(names, kTrainerState);
    if (!names.empty()) plan.notes.push_back(kNotCopied + listed(names) + ": " + kStateOfRun);
  }

  // Checks that the step that the Trainer stored equals Adam's `step`.
  Status check_step(double step) const {
    const std::string path = ckpt::join_path(this->path(), kTrainerState);
    const Result<ckpt::JsonValue> json = read_json_object(fs_, path, kMaxTrainerState);
    if (json.status().code == ckpt::Code::kNotFound) return {};
    if (json.status().code == ckpt::Code::kIncompatible) return json.status().with_hint(kModelAlone);
    TITAN_RETURN_IF_ERROR(json.status());
    const ckpt::JsonValue* said = json->find("global_step");
    if (said == nullptr) return {};
    std::string text = said->write();
    std::erase(text, '\n');
    if (said->as_u64() && static_cast<double>(*said->as_u64()) == step) return {};
    return ckpt::incompatible(path + ": global_step is " + text.substr(0, 40) + ", but Adam's count in " + file_ +
                              " is " + std::to_string(static_cast<std::int64_t>(step)))
        .with_hint(kModelAlone);
  }

  const std::unique_ptr<ForeignCheckpoint> model_;
  const std::string file_;
  TrainerState state_;
  std::map<std::string, GroupValues> groups_;
};

class HfFormat final : public Format {
 public:
  const char* name() const override { return "hf"; }
  const char* title() const override { return "Hugging Face safetensors"; }
  Result<bool> probe(Fs& fs, const std::string& path) const override { return probe_hf(fs, path); }
  Status near_miss(Fs& fs, const std::string& path) const override { return near_miss_hf(fs, path); }
  bool is_member(const std::string& name) const override {
    return is_companion(name) || name == kHfIndex || name.ends_with(".safetensors");
  }
  // A state that cannot be read is ignored with a note, but refused if a run's configuration is given.
  Result<std::unique_ptr<ForeignCheckpoint>> open(Fs& fs, const std::string& path) const override {
    TITAN_ASSIGN_OR_RETURN(std::unique_ptr<ForeignCheckpoint> model, open_hf(fs, path));
    if (model->path() != path) return model;
    TITAN_ASSIGN_OR_RETURN(std::string file, find_trainer_state(fs, path));
    if (file.empty()) {
      TITAN_ASSIGN_OR_RETURN(const ckpt::FileInfo info, fs.stat(through_link(fs, path)));
      if (info.type != ckpt::FileType::kDirectory) return model;
      TITAN_ASSIGN_OR_RETURN(const std::vector<ckpt::DirEntry> entries, fs.list(path));
      if (run_state_files(entries).empty()) return model;
    }
    return std::unique_ptr<ForeignCheckpoint>(
        std::make_unique<TrainerCheckpoint>(fs, path, std::move(model), std::move(file)));
  }
  Result<std::unique_ptr<ForeignWriter>> create(Fs& fs, const CheckpointReader& source,
                                                const ExportOptions& options) const override {
    return create_hf(fs, source, options);
  }
};

}  // namespace

const Format& hf_format() {
  static const HfFormat format;
  return format;
}

}  // namespace titan::convert
