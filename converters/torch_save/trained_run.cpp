// TrainedSource::take_run and read_groups: resume a run of another trainer with the run's configuration.
#include <algorithm>
#include <string_view>

#include "ckpt/base/toml_text.h"
#include "ckpt/plan/lr_schedule.h"
#include "ckpt/plan/lr_settings.h"
#include "converters/dcp/optimizer_groups.h"
#include "converters/dcp/torchtitan.h"
#include "converters/torch_save/trained_source.h"
#include "converters/widen.h"
#include "recipe/keys/config.h"
#include "recipe/plan/parameter_rules.h"

namespace titan::convert {

namespace {

using recipe::UpdateSettings;

// Compares groups of an optimizer with a configuration.
class Groups {
 public:
  // `phases`: the LR schedule, if it differs from the one that the configuration's keys give.
  Groups(const std::string& path, const recipe::Config& config, std::uint64_t step, bool lr_of_step,
         const std::vector<ckpt::LrPhase>& phases)
      : path_(path), config_(config), curve_(recipe::lr_settings(config)), lr_of_step_(lr_of_step) {
    schedule_ = phases.empty() ? ckpt::schedule_from(curve_) : ckpt::LrSchedule{phases, curve_};
    last_ = ckpt::lr_at(schedule_.phases, step);
    next_ = phases.empty() ? dcp::next_lr(curve_, step) : ckpt::lr_at(phases, step + 1);
  }

  Status differ(const std::string& what, const std::string& found, const std::string& other,
                const std::string& expected) const {
    return ckpt::incompatible(path_ + ": " + what + " is " + found + ", but " + other + " is " + expected)
        .with_hint("give the configuration that this run was trained with (optimizer, lr_scheduler, training.steps)");
  }

  // Checks the group of a parameter that is updated by `update`.
  Status check(const GroupValues& group, const UpdateSettings& update, const std::string& parameter) const {
    const double peak = curve_.peak * update.lr_factor;
    const bool rule = update != UpdateSettings{config_.optimizer.weight_decay, 1};
    const std::tuple<const char*, double, double, const char*> numbers[] = {
        {"lr", group.lr, next_ * update.lr_factor, "that of the next step by the configuration"},
        {"initial_lr", group.initial_lr.value_or(peak), peak, "optimizer.lr of the configuration"},
        {"beta1", group.beta1, config_.optimizer.beta1, "optimizer.beta1 of the configuration"},
        {"beta2", group.beta2, config_.optimizer.beta2, "optimizer.beta2 of the configuration"},
        {"eps", group.eps, config_.optimizer.eps, "optimizer.eps of the configuration"},
        {kDecay, group.weight_decay, update.weight_decay,
         rule ? "what optimizer.rules say" : "optimizer.weight_decay of the configuration"}};
    const bool done = lr_of_step_ && dcp::is_number_of(group.lr, last_ * update.lr_factor);
    for (const auto& [name, found, expected, other] : numbers) {
      if (dcp::is_number_of(found, expected) || (done && name == std::string_view("lr"))) continue;
      const Status status = differ(std::string("the optimizer's ") + name + " of " + parameter, ckpt::toml_float(found),
                                   other, ckpt::toml_float(expected));
      return name == std::string_view(kDecay) ? status.with_hint(decay_hint_) : status;
    }
    if (group.amsgrad || group.maximize || !group.decoupled.value_or(true) || !group.bias_correction)
      return ckpt::incompatible(path_ +
                                ": its optimizer is no plain AdamW (amsgrad, maximize, coupled weight decay, or no "
                                "bias correction)")
          .with_hint(dcp::kTensorsAlone);
    return {};
  }

  const ckpt::LrSchedule& schedule() const { return schedule_; }
  void set_parameters(const std::vector<ckpt::ParameterMeta>& parameters) { decay_hint_ = dcp::decay_hint(parameters); }

 private:
  static constexpr const char* kDecay = "weight_decay";
  const std::string& path_;
  const recipe::Config& config_;
  const ckpt::LrSettings curve_;
  ckpt::LrSchedule schedule_;
  double last_ = 0, next_ = 0;  // rates of the last step and of the next one
  const bool lr_of_step_;
  std::string decay_hint_;
};

// Checks Adam's step counts. \error kIncompatible: they are not the run's steps minus the skipped ones
Status check_counts(const std::string& path, ImportPlan& plan, std::uint64_t skipped) {
  for (const std::uint64_t count : plan.optimizer_steps)
    if (count + skipped != plan.step)
      return ckpt::incompatible(path + ": Adam's count is " + std::to_string(count) +
                                ", but the checkpoint's step is " + std::to_string(plan.step) +
                                (skipped > 0 ? ", and " + std::to_string(skipped) + " steps were skipped" : ""))
          .with_hint(kModelAlone);
  if (skipped > 0)
    plan.notes.push_back(
        std::to_string(skipped) + " of " + std::to_string(plan.step) +
        " steps were skipped by the loss scaler: Adam's count and the learning rate are as far behind");
  return {};
}

// Checks other settings of training. \error kIncompatible: gradient clipping or sequence length differ from the
// configuration
Status check_training(const std::string& path, std::optional<double> clip, std::optional<std::uint64_t> length,
                      const recipe::Config& config) {
  if (clip && (!dcp::is_number_of(*clip, config.training.max_norm) || (*clip > 0 && config.training.norm_type != 2)))
    return ckpt::incompatible(path + ": the run clips gradients to the 2-norm " + ckpt::toml_float(*clip) +
                              ", but training.max_norm of the configuration is " +
                              ckpt::toml_float(config.training.max_norm) + ", and training.norm_type " +
                              ckpt::toml_float(config.training.norm_type))
        .with_hint("add: --set training.max_norm=" + ckpt::toml_float(*clip));
  if (length && *length != static_cast<std::uint64_t>(config.training.seq_len))
    return ckpt::incompatible(path + ": sequences of the run have " + std::to_string(*length) +
                              " tokens, but training.seq_len of the configuration is " +
                              std::to_string(config.training.seq_len))
        .with_hint("add: --set training.seq_len=" + std::to_string(*length));
  return {};
}

// The phases of the schedule of `settings`, shifted `steps` steps later.
std::vector<ckpt::LrPhase> later(const ckpt::LrSettings& settings, std::uint64_t steps) {
  std::vector<ckpt::LrPhase> phases = ckpt::schedule_from(settings).phases;
  for (std::size_t i = 0; i < phases.size(); ++i) {
    if (i > 0) phases[i].first += steps;
    phases[i].origin += static_cast<double>(steps);
  }
  return phases;
}

}  // namespace

Result<GroupValues> read_group(const TorchFile& file, NodeId group) {
  const Pickle& pickle = file.pickle();
  GroupValues values;
  for (const auto& [key, value] :
       {std::pair{"lr", &values.lr}, {"eps", &values.eps}, {"weight_decay", &values.weight_decay}}) {
    TITAN_ASSIGN_OR_RETURN(const NodeId node, file.at(group, key));
    TITAN_ASSIGN_OR_RETURN(*value, file.number(node));
  }
  if (const NodeId node = pickle.find(group, "initial_lr"); node != kNoNode) {
    TITAN_ASSIGN_OR_RETURN(values.initial_lr, file.number(node));
  }
  TITAN_ASSIGN_OR_RETURN(const NodeId betas, file.at(group, "betas"));
  if ((!pickle.is(betas, NodeKind::kTuple) && !pickle.is(betas, NodeKind::kList)) || pickle.size(betas) != 2)
    return ckpt::corrupt(file.path() + ": betas is " + pickle.describe(betas));
  TITAN_ASSIGN_OR_RETURN(values.beta1, file.number(pickle.item(betas, 0)));
  TITAN_ASSIGN_OR_RETURN(values.beta2, file.number(pickle.item(betas, 1)));
  const auto flag = [&](const char* key, bool otherwise) {
    const NodeId node = pickle.find(group, key);
    return pickle.is(node, NodeKind::kBool) ? pickle.boolean(node) : otherwise;
  };
  values.amsgrad = flag("amsgrad", false);
  values.maximize = flag("maximize", false);
  if (const NodeId node = pickle.find(group, "decoupled_weight_decay"); pickle.is(node, NodeKind::kBool))
    values.decoupled = pickle.boolean(node);
  values.bias_correction = flag("bias_correction", true);
  return values;
}

Result<std::vector<GroupValues>> read_groups(const TorchFile& file, NodeId groups, std::size_t count) {
  const Pickle& pickle = file.pickle();
  if (!pickle.is(groups, NodeKind::kList)) return ckpt::corrupt(file.path() + ": param_groups is no list");
  std::vector<GroupValues> values;
  std::map<std::size_t, std::size_t> of;  // number of a parameter -> number of its group
  for (std::size_t g = 0; g < pickle.size(groups); ++g) {
    TITAN_ASSIGN_OR_RETURN(values.emplace_back(), read_group(file, pickle.item(groups, g)));
    const NodeId members = pickle.find(pickle.item(groups, g), "params");
    if (!pickle.is(members, NodeKind::kList)) {
      of.emplace(g, g);
      continue;
    }
    for (std::size_t i = 0; i < pickle.size(members); ++i) {
      const NodeId member = pickle.item(members, i);
      if (!pickle.is(member, NodeKind::kInt) || pickle.integer(member) < 0 ||
          !of.emplace(static_cast<std::size_t>(pickle.integer(member)), g).second)
        return ckpt::corrupt(file.path() + ": params has " + pickle.describe(member) +
                             ", expected the number of a parameter that no group has yet");
    }
  }
  if (values.empty()) return values;
  if (std::all_of(values.begin(), values.end(), [&](const GroupValues& one) { return one == values.front(); }))
    return std::vector<GroupValues>(count, values.front());
  if (of.size() != count || of.rbegin()->first + 1 != count)
    return ckpt::incompatible(file.path() + ": the optimizer's groups differ, and number " + std::to_string(of.size()) +
                              " parameters where there are " + std::to_string(count) +
                              ": which is in which group is unknown")
        .with_hint(kModelAlone);
  std::vector<GroupValues> out;
  for (const auto& [number, group] : of) out.push_back(values[group]);
  return out;
}

Status TrainedSource::take_run(const Settings& given, const RunFacts& facts, ImportPlan& plan) const {
  TITAN_ASSIGN_OR_RETURN(const recipe::Config config, dcp::read_torchtitan(given));
  TITAN_RETURN_IF_ERROR(dcp::check_optimizer(config));
  const std::uint64_t step = plan.step;
  TITAN_RETURN_IF_ERROR(check_counts(path(), plan, facts.skipped));
  std::vector<ckpt::LrPhase> phases = facts.phases;
  if (phases.empty() && facts.skipped > 0) phases = later(recipe::lr_settings(config), facts.skipped);
  Groups groups(path(), config, step, facts.lr_of_step, phases);
  groups.set_parameters(plan.parameters);
  TITAN_ASSIGN_OR_RETURN(
      const std::vector<UpdateSettings> updates,
      recipe::update_settings(config.optimizer.weight_decay, config.optimizer.rules, plan.parameters, plan.notes));
  for (std::size_t p = 0; p < updates.size() && !facts.of.empty(); ++p) {
    const auto group = facts.of.find(tensors_[plan.tensors[p].source].name);
    if (group == facts.of.end())
      return ckpt::incompatible(path() + ": no group of the optimizer has '" + tensors_[plan.tensors[p].source].name +
                                "'")
          .with_hint(kModelAlone);
    TITAN_RETURN_IF_ERROR(groups.check(group->second, updates[p], plan.parameters[p].name));
  }
  TITAN_RETURN_IF_ERROR(check_training(path(), facts.clip, facts.length, config));
  plan.lr = groups.schedule();
  plan.train = ckpt::TrainState{};
  plan.train->step = step;
  plan.train->seed = static_cast<std::uint64_t>(config.debug.seed.value_or(0));
  const auto length = static_cast<std::uint64_t>(config.training.seq_len);
  std::uint64_t ranks = facts.data_ranks;
  if (ranks == 0) {
    TITAN_ASSIGN_OR_RETURN(ranks, dcp::world_of(config));
  }
  const std::uint64_t batch = dcp::batch_of(config, ranks);
  plan.train->tokens = facts.samples.value_or(step * batch) * length;
  plan.train->accepted = ckpt::with_rows(dcp::curve_rows(config, ranks), plan.config);
  plan.config = plan.train->accepted;
  if (!facts.clip) plan.notes.push_back(dcp::uncompared_settings(config));
  dcp::note_average(config, plan);
  plan.notes.push_back(
      "the data position cannot be translated: it is absent, the first run needs --allow training.dataset and begins "
      "at sample 0");
  return {};
}

Status TrainedSource::take_counted_run(const ImportOptions& options, std::map<std::string, GroupValues> of,
                                       ImportPlan& plan) const {
  TITAN_RETURN_IF_ERROR(take_slots(options, plan));
  if (plan.optimizer_steps.empty()) return {};
  plan.step = plan.optimizer_steps.front();
  if (options.widen) TITAN_RETURN_IF_ERROR(widen_state(*this, plan));
  const auto unsaid = [](const auto& one) { return !one.second.decoupled && one.second.weight_decay != 0; };
  if (std::ranges::any_of(of, unsaid)) plan.notes.emplace_back(dcp::kTakenForAdamW);
  RunFacts facts;
  facts.of = std::move(of);
  facts.data_ranks = 0;
  facts.lr_of_step = true;
  return take_run(*options.config, facts, plan);
}

}  // namespace titan::convert
