#include "converters/trainer/trainer_checkpoint.h"

#include <algorithm>

#include "ckpt/base/text.h"
#include "ckpt/format/json_value.h"
#include "converters/companions.h"
#include "converters/dcp/torchtitan.h"
#include "converters/hf/hf_checkpoint.h"
#include "converters/hf/hf_plan.h"
#include "converters/trainer/trainer_state.h"

namespace titan::convert {
namespace {

constexpr const char* kTrainerState = "trainer_state.json";
constexpr std::uint64_t kMaxTrainerState = std::uint64_t{256} << 20;

class TrainerCheckpoint final : public TrainedSource {
 public:
  TrainerCheckpoint(Fs& fs, std::string path, std::unique_ptr<ForeignCheckpoint> model, std::string file)
      : TrainedSource(fs, std::move(path)), model_(std::move(model)), file_(std::move(file)) {
    add_model(*model_);
    why_ = read_state();
  }

  Result<ImportPlan> plan(const ImportOptions& options) const override {
    const bool run = options.config && !options.look && dcp::says_run(*options.config);
    if (run) TITAN_RETURN_IF_ERROR(why_);
    TITAN_ASSIGN_OR_RETURN(ImportPlan plan, model_->plan(of_model(options)));
    if (!run && !options.look)
      plan.notes.push_back(file_ + (why_.ok()
                                        ? ": --config FILE.toml with optimizer, lr_scheduler and training goes on "
                                          "with the run, optimizer included"
                                        : " cannot be read: " + why_.message));
    if (!run) return plan;
    note_training_state(plan);
    TITAN_RETURN_IF_ERROR(take_counted_run(options, groups_of(state_), plan));
    if (plan.train) TITAN_RETURN_IF_ERROR(check_step(plan.step));
    return plan;
  }

 private:
  Status read_state() {
    TITAN_ASSIGN_OR_RETURN(const bool config, is_file(fs_, ckpt::join_path(path(), kHfConfig)));
    if (!config)
      return ckpt::incompatible(ckpt::join_path(path(), file_) + " has no " + kHfConfig +
                                " beside it, which says whose states they are")
          .with_hint("copy the model's config.json there, or take the model alone: leave out --config");
    TITAN_ASSIGN_OR_RETURN(const recipe::ModelDims model, read_hf_config_file(fs_, ckpt::join_path(path(), kHfConfig)));
    TITAN_ASSIGN_OR_RETURN(state_,
                           read_trainer_state(fs_, {through_link(fs_, ckpt::join_path(path(), file_))}, model, files_));
    for (const auto& [name, moments] : state_) add_moments(name, moments.exp_avg, moments.exp_avg_sq, moments.step);
    return {};
  }

  // The model's own plan says that all of it is left behind.
  void note_training_state(ImportPlan& plan) const {
    std::erase_if(plan.notes, [](const std::string& note) { return note.starts_with(kLeftBehind); });
    const auto entries = fs_.list(path());
    if (!entries.ok()) return;
    std::vector<std::string> names = training_state(*entries);
    std::erase(names, file_);
    if (!names.empty())
      plan.notes.push_back(kLeftBehind + listed(names) + ": the state of a run in pickles, which is not read");
  }

  // The Trainer says its step, too.
  Status check_step(std::uint64_t step) const {
    const std::string path = ckpt::join_path(this->path(), kTrainerState);
    TITAN_ASSIGN_OR_RETURN(const bool there, is_file(fs_, path));
    if (!there) return {};
    TITAN_ASSIGN_OR_RETURN(const std::vector<std::byte> bytes,
                           ckpt::read_file(fs_, through_link(fs_, path), kMaxTrainerState));
    TITAN_ASSIGN_OR_RETURN(const ckpt::JsonValue json, ckpt::parse_json(path, ckpt::text_of(bytes)));
    const ckpt::JsonValue* said = json.is_object() ? json.find("global_step") : nullptr;
    const auto global = said == nullptr ? std::nullopt : said->as_u64();
    if (!global || *global == step) return {};
    return ckpt::incompatible(path + ": global_step is " + std::to_string(*global) + ", but Adam's count in " + file_ +
                              " is " + std::to_string(step));
  }

  const std::unique_ptr<ForeignCheckpoint> model_;
  const std::string file_;
  TrainerState state_;
};

}  // namespace

Result<std::unique_ptr<ForeignCheckpoint>> open_hf_with_state(Fs& fs, const std::string& path) {
  TITAN_ASSIGN_OR_RETURN(std::unique_ptr<ForeignCheckpoint> model, open_hf(fs, path));
  if (model->path() != path) return model;
  TITAN_ASSIGN_OR_RETURN(std::string file, find_trainer_state(fs, path));
  if (file.empty()) return model;
  return std::unique_ptr<ForeignCheckpoint>(
      std::make_unique<TrainerCheckpoint>(fs, path, std::move(model), std::move(file)));
}

}  // namespace titan::convert
