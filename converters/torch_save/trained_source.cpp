#include "converters/torch_save/trained_source.h"

#include <cmath>
#include <set>

#include "ckpt/base/toml_text.h"
#include "converters/dcp/torchtitan.h"
#include "converters/hf/hf_checkpoint.h"
#include "converters/read_all.h"
#include "converters/skip_rules.h"

namespace titan::convert {
namespace {

constexpr const char* kSlots[] = {ckpt::kExpAvg, ckpt::kExpAvgSq};

std::string slot_name(const std::string& parameter, const char* slot) { return kStatePrefix + parameter + "." + slot; }

// The model's tensors alone, which are the first ones.
class ModelView final : public ForeignCheckpoint {
 public:
  ModelView(const ForeignCheckpoint& whole, std::size_t tensors) : ForeignCheckpoint(whole.path()), whole_(whole) {
    tensors_.assign(whole.tensors().begin(), whole.tensors().begin() + static_cast<std::ptrdiff_t>(tensors));
  }
  Status read(std::size_t tensor, std::uint64_t first, std::span<std::byte> out) const override {
    return whole_.read(tensor, first, out);
  }
  Result<ImportPlan> plan(const ImportOptions& options) const override { return whole_.plan(options); }
  Result<ckpt::VerifyReport> verify(const Progress& progress) const override { return whole_.verify(progress); }

 private:
  const ForeignCheckpoint& whole_;
};

}  // namespace

std::size_t TrainedSource::add_pieced(PiecedTensor pieced) {
  pieced_.push_back(std::move(pieced));
  return pieced_.size() - 1;
}

void TrainedSource::add_moments(const std::string& name, const PiecedTensor& exp_avg, const PiecedTensor& exp_avg_sq,
                                double step) {
  add_part(slot_name(name, ckpt::kExpAvg), add_pieced(exp_avg), 0, exp_avg.shape);
  add_part(slot_name(name, ckpt::kExpAvgSq), add_pieced(exp_avg_sq), 0, exp_avg_sq.shape);
  set_step(name, step);
}

void TrainedSource::add_moments(const std::vector<ExpertPart>& parts, const PiecedTensor& exp_avg,
                                const PiecedTensor& exp_avg_sq, double step) {
  const std::size_t first = add_pieced(exp_avg), second = add_pieced(exp_avg_sq);
  for (const ExpertPart& part : parts) {
    add_part(slot_name(part.name, ckpt::kExpAvg), first, part.first(), part.shape);
    add_part(slot_name(part.name, ckpt::kExpAvgSq), second, part.first(), part.shape);
    set_step(part.name, step);
  }
}

void TrainedSource::add_part(const std::string& name, std::size_t pieced, std::uint64_t first,
                             std::vector<std::uint64_t> shape) {
  tensors_.push_back({name, pieced_[pieced].dtype, std::move(shape)});
  places_.push_back({pieced, first});
}

void TrainedSource::add_whole(const ForeignCheckpoint& whole, std::size_t of_model) {
  whole_ = &whole;
  tensors_ = whole.tensors();
  places_.resize(tensors_.size());
  model_tensors_ = of_model;
}

Status TrainedSource::read(std::size_t tensor, std::uint64_t first, std::span<std::byte> out) const {
  if (whole_ != nullptr && tensor < whole_->tensors().size()) return whole_->read(tensor, first, out);
  const Place& place = places_[tensor];
  return files_.read_checked(pieced_[place.pieced], place.first + first, out);
}

std::unique_ptr<ForeignCheckpoint> TrainedSource::model_view() const {
  return std::make_unique<ModelView>(*this, model_tensors_);
}

ImportOptions TrainedSource::of_model(const ImportOptions& options) const {
  ImportOptions out = options;
  out.skip.clear();
  for (const std::string& glob : options.skip) {
    SkipRules rule({glob});
    bool of_slot = false, of_weights = false;
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      const bool weights = i < model_tensors_;
      if (rule.takes(tensors_[i].name)) (weights ? of_weights : of_slot) = true;
      for (const char* slot : kSlots) of_slot = of_slot || (weights && rule.takes(slot_name(tensors_[i].name, slot)));
    }
    if (of_weights || !of_slot) out.skip.push_back(glob);
  }
  return out;
}

bool TrainedSource::skips_optimizer(const ImportOptions& options) const {
  SkipRules skip(options.skip);
  for (std::size_t i = 0; i < model_tensors_; ++i)
    for (const char* slot : kSlots)
      if (!skip.takes(slot_name(tensors_[i].name, slot))) return false;
  return true;
}

void TrainedSource::know_states(const NameMap& names) {
  std::set<std::string_view> model;
  for (std::size_t i = 0; i < model_tensors_; ++i) model.insert(tensors_[i].name);
  for (const auto& [name, step] : steps_)
    if (const auto ours = names.ours(name); ours && !model.contains(name)) state_of_[ours->name] = name;
}

// The name of a parameter's optimizer state: that of its tensor, or the one that know_states() found.
const std::string& TrainedSource::state_name(const ImportPlan& plan, std::size_t parameter) const {
  const std::string& tensor = tensors_[plan.tensors[parameter].source].name;
  const auto at = state_of_.find(plan.parameters[parameter].name);
  return steps_.contains(tensor) || at == state_of_.end() ? tensor : at->second;
}

std::map<std::string, GroupValues> TrainedSource::of_weights(std::map<std::string, GroupValues> groups,
                                                             const ImportPlan& plan) const {
  for (std::size_t p = 0; p < plan.parameters.size(); ++p)
    if (const auto at = groups.find(state_name(plan, p)); at != groups.end()) {
      const GroupValues values = at->second;
      groups[tensors_[plan.tensors[p].source].name] = values;
    }
  return groups;
}

void TrainedSource::set_why(Status status) {
  const bool left_open = !status.ok() && status.code != ckpt::Code::kCorrupt && status.hint.empty();
  why_ = left_open ? status.with_hint(kModelAlone) : std::move(status);
}

bool TrainedSource::asks_for_run(const ImportOptions& options) const {
  const bool asked = options.config && !options.look && dcp::has_run_settings(*options.config);
  return asked && (why_.ok() || !skips_optimizer(options));
}

Status TrainedSource::take_slots(const ImportOptions& options, ImportPlan& plan) const {
  SkipRules skip(options.skip);
  std::map<std::string, std::size_t> by_name;
  for (std::size_t i = model_tensors_; i < tensors_.size(); ++i) {
    if (!skip.takes(tensors_[i].name)) {
      by_name[tensors_[i].name] = i;
      continue;
    }
    plan.report.push_back(uncast(tensors_[i].name, Fate::kSkipped, tensors_[i].dtype, tensors_[i].shape));
    plan.left_out.push_back(tensors_[i].name);
  }
  if (by_name.empty()) {
    if (tensors_.size() > model_tensors_ || !asks_for_run(options) || skips_optimizer(options)) return {};
    return ckpt::incompatible(path() + " has no optimizer state, which is needed to continue the run")
        .with_hint(kModelAlone);
  }
  const std::size_t parameters = plan.parameters.size();
  std::vector<std::string> missing;
  std::set<std::string> taken;  // contains duplicates if a tensor has several experts
  for (std::uint32_t p = 0; p < parameters; ++p) {
    const TensorPlan weights = plan.tensors[p];
    const std::string& theirs = state_name(plan, p);
    const bool apart = theirs != tensors_[weights.source].name;  // a state of its own, not rows of a shared one
    for (const char* slot : kSlots) {
      const auto at = by_name.find(slot_name(theirs, slot));
      if (at == by_name.end()) {
        missing.push_back(slot_name(theirs, slot));
        continue;
      }
      plan.tensors.push_back({{p, slot}, at->second, weights.head_dim, false, apart ? RowBlocks{} : weights.blocks});
      plan.report.push_back(uncast(at->first, Fate::kWritten, tensors_[at->second].dtype, plan.parameters[p].shape));
      plan.report.back().to = plan.parameters[p].name + "." + slot;
      plan.report.back().permuted = weights.head_dim != 0;
      taken.insert(at->first);
    }
    const auto at = steps_.find(theirs);
    const double step = at == steps_.end() ? 0 : at->second;
    if (!(step >= 0 && step <= 0x1p53 && step == std::floor(step)))
      return ckpt::incompatible(path() + ": Adam's count of '" + theirs + "' is " + ckpt::toml_float(step) +
                                ", expected a whole number")
          .with_hint(kModelAlone);
    plan.optimizer_steps.push_back(static_cast<std::uint64_t>(step));
  }
  for (const auto& [name, source] : by_name)
    if (!taken.contains(name)) plan.left_out.push_back(name);
  if (missing.empty()) return {};
  if (!options.look)
    return ckpt::incompatible(path() + ": optimizer state is missing: " + listed(missing)).with_hint(kModelAlone);
  plan.tensors.resize(parameters);
  plan.optimizer_steps.clear();
  return {};
}

void TrainedSource::note_masters(const std::vector<std::string>& without, ImportPlan& plan) {
  plan.notes.push_back("weights are the optimizer's float32 masters, of which the model's files are roundings");
  if (!without.empty()) plan.notes.push_back("without a master, as the model's files have them: " + listed(without));
}

Status TrainedSource::check_masters(const std::vector<std::string>& without) const {
  if (without.empty()) return {};
  return ckpt::incompatible(path() + ": the optimizer has no float32 master of " + listed(without) +
                            ", and the model's files have roundings of what was trained")
      .with_hint(kModelAlone);
}

Result<ckpt::VerifyReport> TrainedSource::verify(const Progress& progress) const {
  const bool all_checked = whole_ == nullptr && files_.all_archives();
  TITAN_ASSIGN_OR_RETURN(ckpt::VerifyReport report, read_all(*this, all_checked ? "" : kSafetensorsNote, progress));
  TITAN_RETURN_IF_ERROR(files_.check_rest([&](const std::string& file, const Status& found) {
    if (!found.ok()) report.damage.push_back({file, "storage", "", 0, 0, 0, found.message});
    return progress ? progress(report.bytes, report.bytes) : ckpt::ok_status();
  }));
  if (why_.code == ckpt::Code::kCorrupt)
    report.damage.push_back({"optimizer", "structure", "", 0, 0, 0, why_.message});
  else if (!why_.ok())
    report.note += (report.note.empty() ? "" : "; ") + ("the optimizer cannot be taken as it is: " + why_.message);
  return report;
}

}  // namespace titan::convert
