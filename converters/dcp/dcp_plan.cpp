// plan_dcp_import: which tensor becomes what, and with torchtitan's configuration a run that can go on.
#include <algorithm>
#include <cmath>
#include <map>

#include "ckpt/plan/lr_settings.h"
#include "converters/dcp/dcp_checkpoint.h"
#include "converters/dcp/model.h"
#include "converters/dcp/names.h"
#include "converters/dcp/resume.h"
#include "converters/dcp/torchtitan.h"
#include "converters/name_table.h"
#include "converters/skip.h"
#include "recipe/model/from_rows.h"
#include "recipe/model/parameters.h"

namespace titan::convert::dcp {
namespace {

using Kind = DcpKey::Kind;
constexpr std::size_t kNamed = 5;  // tensors, in a message

class Planner {
 public:
  Planner(const DcpCheckpoint& source, const ImportOptions& options)
      : source_(source), options_(options), skip_(options.skip) {}

  Result<ImportPlan> run() {
    TITAN_RETURN_IF_ERROR(sort_in_others());
    for (std::size_t i = 0; i < source_.tensors().size(); ++i) TITAN_RETURN_IF_ERROR(sort_in(i));
    TITAN_RETURN_IF_ERROR(skip_.check_used(source_.path()));
    if (parameters_.empty()) return ckpt::incompatible(source_.path() + " holds no parameters of a model");
    if (newer_ && !slots_.empty() && options_.look) {
      for (const auto& [name, own] : slots_)
        for (const auto& [slot, source] : own) leave_out(source);
      for (const auto& [name, source] : steps_) leave_out(source);
      slots_.clear();
      steps_.clear();
      plan_.notes.push_back("torchtitan 0.3.0's optimizer state cannot be read");
    } else if (newer_ && !slots_.empty()) {
      return ckpt::unsupported(source_.path() +
                               " has the names of torchtitan 0.3.0, whose optimizer state cannot be read")
          .with_hint("take the model alone: --skip 'optimizer.*'");
    }
    list_parameters();
    if (options_.config) TITAN_RETURN_IF_ERROR(check_model());
    std::vector<std::string> missing;
    TITAN_RETURN_IF_ERROR(take_slots(missing));
    TITAN_RETURN_IF_ERROR(settle(missing));
    note_values();
    TITAN_RETURN_IF_ERROR(take_step());
    if (options_.config) {
      TITAN_RETURN_IF_ERROR(take_run());
    } else {
      plan_.notes.push_back(
          "tensors only: the learning rate's curve, head counts, RoPE and eps are not in a DCP directory; a run cannot "
          "go on from this "
          "without lr_scheduler, dataloader and train_state (give --config torchtitan.toml)");
    }
    return std::move(plan_);
  }

 private:
  void add_report(std::size_t source, Fate fate, std::string to = "") {
    const ForeignTensor& tensor = source_.tensors()[source];
    plan_.report.push_back(uncast(tensor.name, fate, tensor.dtype, tensor.shape));
    plan_.report.back().to = std::move(to);
  }

  void leave_out(std::size_t source) { plan_.left_out.push_back(source_.tensors()[source].name); }

  // Tensors of element types that a checkpoint of ours cannot hold.
  Status sort_in_others() {
    std::vector<std::string> refused;
    std::string what;
    for (const auto& [name, dtype] : source_.others()) {
      if (torchtitan_names().derivable(name)) {
        plan_.notes.push_back("dropped: " + name + " (it follows from the configuration)");
      } else if (skip_.takes(name)) {
        continue;
      } else if (options_.look) {
        plan_.left_out.push_back(name);
      } else {
        refused.push_back(name);
        if (refused.size() <= kNamed)
          what += (what.empty() ? "tensor '" : ", tensor '") + name + "' has the element type " + dtype;
      }
    }
    if (refused.empty()) return {};
    std::vector<std::string> all = tensor_names();
    all.insert(all.end(), refused.begin(), refused.end());
    if (refused.size() > kNamed) what += " and " + std::to_string(refused.size() - kNamed) + " more";
    return ckpt::unsupported(source_.path() + ": " + what + ", which a checkpoint of ours cannot hold")
        .with_hint("leave out what has no place here with " + skip_flags(refused, all));
  }

  Status sort_in(std::size_t i) {
    const std::string& name = source_.tensors()[i].name;
    const bool skipped = skip_.takes(name);
    if (skipped || torchtitan_names().derivable(name)) {
      add_report(i, skipped ? Fate::kSkipped : Fate::kDropped);
      return {};
    }
    const DcpKey key = parse_key(name);
    bool added = true;
    if (key.kind == Kind::kParameter) {
      newer_ = newer_ || key.newer;
      added = parameters_.try_emplace(key.parameter, i).second;
    } else if (key.kind == Kind::kSlot && (key.field == ckpt::kExpAvg || key.field == ckpt::kExpAvgSq)) {
      added = slots_[key.parameter].try_emplace(key.field, i).second;
    } else if (key.kind == Kind::kStep) {
      added = steps_.try_emplace(key.parameter, i).second;
    } else if (key.kind != Kind::kTrainState && key.kind != Kind::kScheduler && key.kind != Kind::kGroup) {
      left_over_.push_back(name);
    } else {
      add_report(i, Fate::kDropped);  // a number: read as a value
    }
    if (!added) return ckpt::corrupt(source_.path() + ": two tensors stand for " + key.parameter);
    return {};
  }

  void list_parameters() {
    std::vector<std::pair<ModelOrder, std::size_t>> order;
    for (const auto& [name, source] : parameters_) order.emplace_back(model_order(name), source);
    std::ranges::sort(order);
    for (const auto& [place, source] : order) {
      const auto index = static_cast<std::uint32_t>(plan_.parameters.size());
      plan_.parameters.push_back({place.name, source_.tensors()[source].shape, 0});
      plan_.tensors.push_back({{index, ""}, source, 0});
      add_report(source, Fate::kWritten, place.name);
      if (!place.of_model()) left_over_.push_back(source_.tensors()[source].name);
    }
  }

  // The setting that a run needs beyond the model, where neither checkpoint nor configuration says it.
  Result<std::vector<std::string>> unsaid_of_run() const {
    if (slots_.empty()) return std::vector<std::string>{};
    TITAN_ASSIGN_OR_RETURN(const recipe::Config config, read_torchtitan(*options_.config));
    const Result<Value> stored = source_.reader().value("dataloader.world_size");
    const bool absent = !stored.ok() && stored.status().code == ckpt::Code::kNotFound && data_ranks(config) == 0;
    return absent ? std::vector<std::string>{"parallelism.data_parallel_shard_degree"} : std::vector<std::string>{};
  }

  Status check_model() {
    recipe::Shapes shapes;
    for (const ckpt::ParameterMeta& parameter : plan_.parameters) shapes[parameter.name] = parameter.shape;
    TITAN_ASSIGN_OR_RETURN(const std::vector<std::string> further, unsaid_of_run());
    TITAN_ASSIGN_OR_RETURN(const recipe::ModelDims model, model_of(source_.path(), shapes, *options_.config, further));
    const std::vector<ckpt::ParameterMeta> expected = recipe::model_parameters(model);
    for (const ckpt::ParameterMeta& parameter : expected) {
      const auto found = shapes.find(parameter.name);
      if (found == shapes.end())
        return ckpt::incompatible(source_.path() + ": tensor '" + parameter.name + "' is missing");
      if (found->second != parameter.shape)
        return ckpt::corrupt(source_.path() + ": tensor '" + parameter.name +
                             "' has another shape than the rest of the model makes it");
      shapes.erase(found);
    }
    for (const auto& [name, shape] : shapes)
      if (model_order(name).of_model())
        left_over_.push_back(name);  // a layer too many, say; other names are there already
    plan_.config = recipe::model_rows(model);
    return {};
  }

  // `missing`: what parameters lack although others have it.
  Status take_slots(std::vector<std::string>& missing) {
    if (slots_.empty() && steps_.empty()) return {};
    for (std::uint32_t p = 0; p < plan_.parameters.size(); ++p) {
      const ckpt::ParameterMeta& parameter = plan_.parameters[p];
      for (const char* slot : {ckpt::kExpAvg, ckpt::kExpAvgSq}) {
        const auto& own = slots_[parameter.name];
        const auto at = own.find(slot);
        if (at == own.end()) {
          missing.push_back("optimizer.state." + parameter.name + "." + slot);
          continue;
        }
        if (source_.tensors()[at->second].shape != parameter.shape)
          return ckpt::corrupt(source_.path() + ": '" + source_.tensors()[at->second].name +
                               "' has another shape than its parameter");
        plan_.tensors.push_back({{p, slot}, at->second, 0});
        add_report(at->second, Fate::kWritten, parameter.name + "." + slot);
      }
      slots_.erase(parameter.name);
      const auto step = steps_.find(parameter.name);
      if (step == steps_.end()) {
        missing.push_back("optimizer.state." + parameter.name + ".step");
        plan_.optimizer_steps.push_back(0);
        continue;
      }
      const std::string& name = source_.tensors()[step->second].name;
      TITAN_ASSIGN_OR_RETURN(const Value value, source_.reader().value(name));
      if (!(value.number() >= 0) || value.number() != std::floor(value.number()) || value.number() > 0x1p53)
        return ckpt::corrupt(source_.path() + ": '" + name + "' is " + value.to_string());
      plan_.optimizer_steps.push_back(static_cast<std::uint64_t>(value.number()));
      add_report(step->second, Fate::kWritten, parameter.name + ".step");
      steps_.erase(step);
    }
    for (const auto& [name, own] : slots_)
      for (const auto& [slot, source] : own) left_over_.push_back(source_.tensors()[source].name);
    for (const auto& [name, source] : steps_) left_over_.push_back(source_.tensors()[source].name);
    return {};
  }

  // A conversion needs a place for every tensor. A look shows what is there.
  Status settle(const std::vector<std::string>& missing) {
    if (options_.look) {
      for (const std::string& name : left_over_)
        if (!parameters_.contains(name)) plan_.left_out.push_back(name);
      return {};
    }
    if (!left_over_.empty()) {
      return ckpt::incompatible(source_.path() + ": no place in a checkpoint of ours for " + listed(left_over_))
          .with_hint("leave them out with " + skip_flags(left_over_, tensor_names()));
    }
    if (missing.empty()) return {};
    return ckpt::incompatible(source_.path() + ": optimizer state is missing: " + listed(missing))
        .with_hint("take the model alone: --skip 'optimizer.*'");
  }

  std::vector<std::string> tensor_names() const {
    std::vector<std::string> names;
    for (const ForeignTensor& tensor : source_.tensors()) names.push_back(tensor.name);
    return names;
  }

  // Notes values beside tensors, except those that every run of torchtitan has.
  void note_values() {
    std::vector<std::string> names;
    for (const BytesEntry& entry : source_.reader().metadata().values) {
      const Kind kind = parse_key(entry.name).kind;
      if (kind == Kind::kParameter || kind == Kind::kSlot || kind == Kind::kStep) names.push_back(entry.name);
    }
    if (names.empty()) return;
    plan_.notes.push_back("dropped: " + listed(names) +
                          (names.size() == 1 ? " (it is no tensor)" : " (they are no tensors)"));
    plan_.left_out.insert(plan_.left_out.end(), names.begin(), names.end());
  }

  // The step stands in train_state; a checkpoint of the model alone has it in its folder's name only.
  Status take_step() {
    const Result<Value> step = source_.reader().value("train_state.step");
    if (step.ok()) {
      if (step->kind != Value::Kind::kInt || step->integer < 0)
        return ckpt::corrupt(source_.path() + ": train_state.step is " + step->to_string());
      plan_.step = static_cast<std::uint64_t>(step->integer);
      return {};
    }
    if (step.status().code != ckpt::Code::kNotFound) return step.status();
    const std::string base = source_.path().substr(source_.path().find_last_of('/') + 1);
    constexpr std::string_view kPrefix = "step-";
    const std::string digits = base.starts_with(kPrefix) ? base.substr(kPrefix.size()) : "";
    if (!digits.empty() && digits.size() <= 15 &&
        std::ranges::all_of(digits, [](char c) { return c >= '0' && c <= '9'; })) {
      plan_.step = std::stoull(digits);
    } else {
      plan_.notes.push_back("the step is not in the checkpoint: step 0 is written");
    }
    return {};
  }

  Status take_run() {
    if (plan_.optimizer_steps.empty()) {
      plan_.notes.push_back("the model alone: no optimizer state in the source, so a run cannot go on from this");
      return {};
    }
    TITAN_ASSIGN_OR_RETURN(const recipe::Config config, read_torchtitan(*options_.config));
    TITAN_ASSIGN_OR_RETURN(const ResumedRun run,
                           check_resume(source_.reader(), plan_.parameters, plan_.optimizer_steps, config));
    plan_.lr = run.lr;
    plan_.train = run.train;
    plan_.data_ranks = static_cast<std::uint32_t>(std::min<std::uint64_t>(run.world, UINT32_MAX));
    if (!source_.reader().value("dataloader.world_size").ok()) {
      plan_.notes.push_back(
          "tokens: " + std::to_string(run.world) +
          " data ranks, taken from the configuration's parallelism (dataloader.world_size is not in the source)");
    }
    std::string model;
    for (const auto& [key, value] : plan_.config) model += (model.empty() ? "" : ", ") + key + " = " + value;
    plan_.notes.push_back("titan-train's configuration must make this model: " + model);
    plan_.train->accepted = ckpt::with_rows(curve_rows(config, run.world), plan_.config);
    plan_.config = plan_.train->accepted;
    plan_.notes.push_back(
        "the data position cannot be translated (torchtitan's iterator is pickled): it is absent, the first run needs "
        "--allow training.dataset and begins at sample 0");
    return {};
  }

  const DcpCheckpoint& source_;
  const ImportOptions& options_;
  SkipRules skip_;
  ImportPlan plan_;
  bool newer_ = false;
  std::map<std::string, std::size_t> parameters_, steps_;
  std::map<std::string, std::map<std::string, std::size_t>> slots_;
  std::vector<std::string> left_over_;
};

}  // namespace

Result<ImportPlan> plan_dcp_import(const DcpCheckpoint& source, const ImportOptions& options) {
  return Planner(source, options).run();
}

}  // namespace titan::convert::dcp
