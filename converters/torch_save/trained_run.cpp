// TrainedSource::take_run and read_groups: with the run's configuration, a run of another trainer goes on here.
#include <algorithm>
#include <cmath>
#include <string_view>

#include "ckpt/base/toml_text.h"
#include "ckpt/plan/lr_schedule.h"
#include "ckpt/plan/lr_settings.h"
#include "converters/dcp/optimizer_groups.h"
#include "converters/dcp/torchtitan.h"
#include "converters/torch_save/trained_source.h"
#include "converters/widen.h"
#include "recipe/plan/parameter_rules.h"

namespace titan::convert {

using dcp::NodeId;
using dcp::NodeKind;
using dcp::Pickle;

namespace {

constexpr double kWithin = 1e-12;

bool near(double a, double b) { return std::fabs(a - b) <= kWithin * std::max(std::fabs(a), std::fabs(b)); }

}  // namespace

Result<GroupValues> read_group(const TorchFile& file, NodeId group) {
  const Pickle& pickle = file.pickle();
  GroupValues values;
  for (const auto& [key, value] :
       {std::pair{"lr", &values.lr}, {"eps", &values.eps}, {"weight_decay", &values.weight_decay}}) {
    TITAN_ASSIGN_OR_RETURN(const NodeId node, file.at(group, key));
    TITAN_ASSIGN_OR_RETURN(*value, file.number(node));
  }
  if (const NodeId node = pickle.find(group, "initial_lr"); node != dcp::kNoNode) {
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
  values.decoupled = flag("decoupled_weight_decay", true);
  return values;
}

Status read_groups(const TorchFile& file, NodeId groups, std::set<GroupValues>& into) {
  if (!file.pickle().is(groups, NodeKind::kList)) return ckpt::corrupt(file.path() + ": param_groups is no list");
  for (std::size_t i = 0; i < file.pickle().size(groups); ++i) {
    TITAN_ASSIGN_OR_RETURN(const GroupValues values, read_group(file, file.pickle().item(groups, i)));
    into.insert(values);
  }
  return {};
}

Status TrainedSource::take_run(const Settings& given, const RunFacts& facts, ImportPlan& plan) const {
  TITAN_ASSIGN_OR_RETURN(const recipe::Config config, dcp::read_torchtitan(given));
  TITAN_RETURN_IF_ERROR(dcp::check_optimizer(config));
  const std::uint64_t step = plan.step;
  const auto differ = [&](const std::string& what, const std::string& found, const std::string& other,
                          const std::string& expected) {
    return ckpt::incompatible(path() + ": " + what + " is " + found + ", but " + other + " is " + expected)
        .with_hint("give the configuration that this run was trained with (optimizer, lr_scheduler, training.steps)");
  };
  for (const std::uint64_t count : plan.optimizer_steps)
    if (count != step)
      return differ("Adam's count", std::to_string(count), "the checkpoint's step", std::to_string(step));
  const ckpt::LrSettings curve = recipe::lr_settings(config);
  using Update = recipe::UpdateSettings;
  std::vector<std::pair<GroupValues, Update>> groups;
  for (const GroupValues& group : facts.groups) groups.emplace_back(group, Update{config.optimizer.weight_decay, 1});
  TITAN_ASSIGN_OR_RETURN(const std::vector<Update> updates,
                         recipe::update_settings(config, plan.parameters, plan.notes));
  for (std::size_t p = 0; p < updates.size() && !facts.of.empty(); ++p)
    groups.emplace_back(facts.of.at(tensors_[plan.tensors[p].source].name), updates[p]);
  for (const auto& [group, update] : groups) {
    const double peak = curve.peak * update.lr_factor;
    const std::tuple<const char*, double, double, const char*> numbers[] = {
        {"lr", group.lr, dcp::next_lr(curve, step) * update.lr_factor, "that of the next step by the configuration"},
        {"initial_lr", group.initial_lr.value_or(peak), peak, "optimizer.lr of the configuration"},
        {"beta1", group.beta1, config.optimizer.beta1, "optimizer.beta1 of the configuration"},
        {"beta2", group.beta2, config.optimizer.beta2, "optimizer.beta2 of the configuration"},
        {"eps", group.eps, config.optimizer.eps, "optimizer.eps of the configuration"},
        {"weight_decay", group.weight_decay, update.weight_decay, "optimizer.weight_decay of the configuration"}};
    const double last = ckpt::lr_at(ckpt::schedule_from(curve).phases, step) * update.lr_factor;
    const bool done = facts.lr_of_step && near(group.lr, last);
    for (const auto& [name, found, expected, other] : numbers)
      if (!near(found, expected) && !(done && name == std::string_view("lr"))) {
        const Status status =
            differ(std::string("the optimizer's ") + name, ckpt::toml_float(found), other, ckpt::toml_float(expected));
        return name == std::string_view("weight_decay") ? status.with_hint(dcp::kDecayHint) : status;
      }
    if (group.amsgrad || group.maximize || !group.decoupled)
      return ckpt::incompatible(path() +
                                ": its optimizer is no plain AdamW (amsgrad, maximize, or coupled weight decay)")
          .with_hint(dcp::kTensorsAlone);
  }
  plan.lr = ckpt::schedule_from(curve);
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
  RunFacts facts;
  facts.of = std::move(of);
  facts.data_ranks = 0;
  facts.lr_of_step = true;
  return take_run(*options.config, facts, plan);
}

}  // namespace titan::convert
