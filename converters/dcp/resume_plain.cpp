// check_plain_resume: resumes a run of a plain torch loop, of accelerate or of transformers.
#include <algorithm>
#include <set>

#include "ckpt/base/text.h"
#include "ckpt/plan/lr_schedule.h"
#include "converters/dcp/optimizer_groups.h"
#include "converters/dcp/resume.h"
#include "recipe/keys/config.h"

namespace titan::convert::dcp {
namespace {

// The prefixes of the optimizer's param groups, whose keys begin with `before`. A flattened state has one group per
// parameter; otherwise these are the groups of the optimizer ("optimizer.param_groups.0."). \error kIncompatible: an
// unknown field
Result<std::set<std::string>> groups_of(const DcpReader& source, const std::string& before) {
  std::set<std::string> groups;
  const auto take = [&](const std::string& name) -> Status {
    const std::size_t dot = name.rfind('.');
    if (!name.starts_with(before) || dot < before.size()) return {};
    if (!is_group_field(std::string_view(name).substr(dot + 1))) return unknown_field(source.path(), name);
    groups.insert(name.substr(0, dot + 1));
    return {};
  };
  for (const BytesEntry& entry : source.metadata().values) TITAN_RETURN_IF_ERROR(take(entry.name));
  for (const TensorEntry& entry : source.metadata().tensors) TITAN_RETURN_IF_ERROR(take(entry.name));
  return groups;
}

// The parameters of a group under Titan's names: the one in the name of a flattened state, or those that the group
// lists. Empty if neither is known.
Result<std::vector<std::string>> parameters_of(const DcpReader& source, const std::string& group,
                                               const std::string& before,
                                               const std::function<std::string(const std::string&)>& our_name) {
  const std::string name = group.substr(before.size(), group.size() - before.size() - 1);
  if (!std::ranges::all_of(name, ckpt::is_digit)) return std::vector{our_name(name)};
  std::vector<std::string> names;
  const Result<ItemValue> listed = source.value(group + "params");
  if (!listed.ok() && listed.status().code == ckpt::Code::kNotFound) return names;
  TITAN_RETURN_IF_ERROR(listed.status());
  for (const ItemValue& part : listed->parts)
    if (part.kind == ItemValue::Kind::kText) names.push_back(our_name(part.text));
  return names;
}

// Checks each group against the configuration. If the parameters of a group are known, it must match the settings of
// each of them; otherwise it must match those of at least one parameter.
Status check_groups(const StoredValues& values, const std::string& before,
                    const std::function<std::string(const std::string&)>& our_name, const GroupSettings& expected,
                    const std::vector<ckpt::ParameterMeta>& parameters,
                    const std::vector<recipe::UpdateSettings>& updates, const std::set<std::string>& groups) {
  for (const std::string& group : groups) {
    TITAN_ASSIGN_OR_RETURN(const std::vector<std::string> names,
                           parameters_of(values.source(), group, before, our_name));
    Status first;
    bool any = false;
    for (std::size_t p = 0; p < parameters.size(); ++p) {
      if (!names.empty() && std::ranges::find(names, parameters[p].name) == names.end()) continue;
      GroupSettings settings = settings_of(expected, updates[p], parameters[p].name);
      if (names.size() > 1) settings.parameter = parameters[p].name;
      const Status status = check_group(values, group, settings);
      if (!names.empty()) TITAN_RETURN_IF_ERROR(status);
      any = any || status.ok();
      if (first.ok()) first = status;
      if (any && names.empty()) break;
    }
    if (names.empty() && !any) return first;
  }
  return {};
}

}  // namespace

Result<ResumedRun> check_plain_resume(const DcpReader& source, const std::string& optimizer,
                                      const std::function<std::string(const std::string&)>& our_name,
                                      const std::vector<ckpt::ParameterMeta>& parameters,
                                      const std::vector<std::uint64_t>& optimizer_steps, const recipe::Config& config,
                                      std::vector<std::string>& notes) {
  TITAN_RETURN_IF_ERROR(check_optimizer(config));
  const StoredValues values(source);
  const std::uint64_t step = optimizer_steps.front();
  TITAN_RETURN_IF_ERROR(check_steps(values, parameters, optimizer_steps, "that of " + parameters.front().name, step));
  TITAN_ASSIGN_OR_RETURN(const auto said, values.count_if_there("train_state.step"));
  if (said && *said != step)
    return values.differ("train_state.step", std::to_string(*said), "Adam's count", std::to_string(step));

  ResumedRun out;
  TITAN_ASSIGN_OR_RETURN(out.world, world_of(config));
  const ckpt::LrSettings curve = recipe::lr_settings(config);
  out.lr = ckpt::schedule_from(curve);
  const GroupSettings expected{.beta1 = config.optimizer.beta1,
                               .beta2 = config.optimizer.beta2,
                               .eps = config.optimizer.eps,
                               .weight_decay = config.optimizer.weight_decay,
                               .initial_lr = curve.peak,
                               .lr = next_lr(curve, step),
                               .lr_name = "lr(" + std::to_string(step + 1) + ") of the configuration's curve",
                               .lr_of_step = ckpt::lr_at(out.lr.phases, step),
                               .initial_needed = false,
                               .decay_hint = decay_hint(parameters)};
  const std::string before = optimizer + "param_groups.";
  TITAN_ASSIGN_OR_RETURN(const std::set<std::string> groups, groups_of(source, before));
  TITAN_ASSIGN_OR_RETURN(
      const std::vector<recipe::UpdateSettings> updates,
      recipe::update_settings(config.optimizer.weight_decay, config.optimizer.rules, parameters, notes));
  TITAN_RETURN_IF_ERROR(check_groups(values, before, our_name, expected, parameters, updates, groups));
  if (std::ranges::any_of(groups, [&](const std::string& group) {
        const Result<ItemValue> decay = source.value(group + "weight_decay");
        return !source.value(group + "decoupled_weight_decay").ok() && decay.ok() && decay->number() != 0;
      }))
    notes.emplace_back(kTakenForAdamW);
  if (groups.empty())
    notes.push_back("the optimizer's settings are the configuration's: the directory has no param_groups");

  const std::uint64_t batch = batch_of(config, out.world);
  const auto length = static_cast<std::uint64_t>(config.training.seq_len);
  TITAN_ASSIGN_OR_RETURN(const auto tokens, values.count_if_there("train_state.tokens"));
  out.train.tokens = tokens.value_or(step * batch * length);
  if (!tokens)
    notes.push_back("tokens: " + std::to_string(step) + " steps of " + std::to_string(batch) + " sequences of " +
                    std::to_string(length) + " tokens, as the configuration says");
  out.train.step = step;
  out.train.seed = static_cast<std::uint64_t>(config.debug.seed.value_or(0));
  return out;
}

}  // namespace titan::convert::dcp
