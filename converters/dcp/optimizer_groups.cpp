#include "converters/dcp/optimizer_groups.h"

#include <algorithm>
#include <cmath>

#include "ckpt/base/toml_text.h"
#include "recipe/keys/config.h"

namespace titan::convert::dcp {
namespace {

constexpr double kTolerance = 1e-12;

// Fields of a parameter group. torch's Adam is AdamW if decoupled_weight_decay is True; older versions lack the field.
constexpr std::string_view kComparedFields[] = {"lr", "initial_lr", "betas", "eps", "weight_decay"};
struct Flag {
  const char* field;
  bool expected;
};
constexpr Flag kFlags[] = {{"amsgrad", false}, {"maximize", false}, {"decoupled_weight_decay", true}};
// These fields select an implementation; they do not change the result.
constexpr std::string_view kHarmless[] = {"foreach", "fused", "capturable", "differentiable", "param_names", "params"};

// A field that every Adam and AdamW of torch has. RAdam, whose state and other settings have the same names, does not
// have it.
constexpr const char* kMark = "amsgrad";

bool is_absent(const Status& status) { return status.code == ckpt::Code::kNotFound; }

}  // namespace

std::string decay_hint(const std::vector<ckpt::ParameterMeta>& parameters) {
  const bool biases =
      std::ranges::any_of(parameters, [](const ckpt::ParameterMeta& one) { return one.name.ends_with(".bias"); });
  return std::string(
             "give the decay that these parameters were trained with; where groups differ, by name: --set "
             "'optimizer.rules=[\"*norm* weight_decay=0\"") +
         (biases ? ", \"*.bias weight_decay=0\"" : "") + "]'";
}

bool is_number_of(double stored, double said) {
  return std::abs(stored - said) <= kTolerance * std::max(std::abs(stored), std::abs(said)) ||
         stored == static_cast<double>(static_cast<float>(said));
}

Result<ItemValue> StoredValues::need(const std::string& name) const {
  Result<ItemValue> value = source_.value(name);
  if (!value.ok() && is_absent(value.status())) {
    return ckpt::incompatible(source_.path() + " has no " + name + ": a run cannot continue from it")
        .with_hint(kTensorsAlone);
  }
  return value;
}

Result<std::uint64_t> StoredValues::count(const std::string& name) const {
  TITAN_ASSIGN_OR_RETURN(const ItemValue value, need(name));
  if (value.kind != ItemValue::Kind::kInt || value.integer < 0)
    return ckpt::corrupt(source_.path() + ": " + name + " is " + value.to_string());
  return static_cast<std::uint64_t>(value.integer);
}

Result<std::optional<std::uint64_t>> StoredValues::count_if_there(const std::string& name) const {
  const Result<ItemValue> value = source_.value(name);
  if (!value.ok() && is_absent(value.status())) return std::optional<std::uint64_t>();
  TITAN_ASSIGN_OR_RETURN(const std::uint64_t found, count(name));
  return std::optional(found);
}

Status StoredValues::differ(const std::string& name, const std::string& found, const std::string& other,
                            const std::string& expected) const {
  return ckpt::incompatible(source_.path() + ": " + name + " is " + found + ", but " + other + " is " + expected)
      .with_hint("give the configuration that this run was trained with (optimizer, lr_scheduler, training.steps)");
}

Status StoredValues::check_number(const std::string& name, const ItemValue& value, double expected,
                                  const std::string& other) const {
  if (!value.is_number()) return ckpt::corrupt(source_.path() + ": " + name + " is " + value.to_string());
  return is_number_of(value.number(), expected) ? Status{}
                                                : differ(name, value.to_string(), other, ckpt::toml_float(expected));
}

Status StoredValues::check_list(const std::string& name, double expected, const std::vector<double>& factors,
                                const std::string& other) const {
  TITAN_ASSIGN_OR_RETURN(const ItemValue value, need(name));
  if (value.kind != ItemValue::Kind::kList)
    return ckpt::corrupt(source_.path() + ": " + name + " is " + value.to_string());
  if (value.parts.empty())
    return ckpt::incompatible(source_.path() + ": " + name +
                              " is empty, expected a learning rate: a run cannot continue from it")
        .with_hint(kTensorsAlone);
  for (const ItemValue& part : value.parts) {
    const bool fits = part.is_number() && std::ranges::any_of(factors, [&](double factor) {
                        return is_number_of(part.number(), expected * factor);
                      });
    if (!fits) TITAN_RETURN_IF_ERROR(check_number(name, part, expected, other));
  }
  return {};
}

Status StoredValues::check_flag(const std::string& name, bool expected) const {
  const Result<ItemValue> flag = source_.value(name);
  if (!flag.ok()) return is_absent(flag.status()) ? Status{} : flag.status();
  if (flag->kind == ItemValue::Kind::kBool && (flag->integer != 0) == expected) return {};
  return ckpt::incompatible(source_.path() + ": " + name + " is " + flag->to_string() + ", expected " +
                            (expected ? "True" : "False") + "; Titan cannot continue with such an optimizer")
      .with_hint(kTensorsAlone);
}

GroupSettings settings_of(GroupSettings group, const recipe::UpdateSettings& update, const std::string& parameter) {
  if (update != recipe::UpdateSettings{group.weight_decay, 1}) group.rule = parameter;
  group.weight_decay = update.weight_decay;
  group.initial_lr *= update.lr_factor;
  group.lr *= update.lr_factor;
  if (group.lr_of_step) *group.lr_of_step *= update.lr_factor;
  return group;
}

std::vector<double> lr_factors(const std::vector<recipe::UpdateSettings>& updates) {
  std::vector<double> factors = {1};
  for (const recipe::UpdateSettings& update : updates)
    if (std::ranges::find(factors, update.lr_factor) == factors.end()) factors.push_back(update.lr_factor);
  return factors;
}

Status check_group(const StoredValues& values, const std::string& prefix, const GroupSettings& expected) {
  const auto check = [&](const char* field, double number, const std::string& other) -> Status {
    TITAN_ASSIGN_OR_RETURN(const ItemValue value, values.need(prefix + field));
    return values.check_number(prefix + field, value, number, other);
  };
  TITAN_ASSIGN_OR_RETURN(const ItemValue lr, values.need(prefix + "lr"));
  const bool of_step = expected.lr_of_step && lr.is_number() && is_number_of(lr.number(), *expected.lr_of_step);
  if (!of_step) TITAN_RETURN_IF_ERROR(values.check_number(prefix + "lr", lr, expected.lr, expected.lr_name));
  if (expected.initial_needed || values.source().value(prefix + "initial_lr").ok())
    TITAN_RETURN_IF_ERROR(check("initial_lr", expected.initial_lr, "optimizer.lr of the configuration"));
  TITAN_RETURN_IF_ERROR(check("eps", expected.eps, "optimizer.eps of the configuration"));
  Status decay = check("weight_decay", expected.weight_decay,
                       !expected.rule.empty()       ? "what optimizer.rules say for " + expected.rule
                       : expected.parameter.empty() ? "optimizer.weight_decay of the configuration"
                                                    : "that of " + expected.parameter + " in the configuration");
  if (decay.code == ckpt::Code::kIncompatible) return decay.with_hint(expected.decay_hint);
  TITAN_RETURN_IF_ERROR(decay);
  TITAN_ASSIGN_OR_RETURN(const ItemValue betas, values.need(prefix + "betas"));
  if (betas.parts.size() != 2)
    return ckpt::corrupt(values.source().path() + ": " + prefix + "betas is " + betas.to_string());
  TITAN_RETURN_IF_ERROR(
      values.check_number(prefix + "betas", betas.parts[0], expected.beta1, "optimizer.beta1 of the configuration"));
  TITAN_RETURN_IF_ERROR(
      values.check_number(prefix + "betas", betas.parts[1], expected.beta2, "optimizer.beta2 of the configuration"));
  for (const auto& [field, flag] : kFlags) TITAN_RETURN_IF_ERROR(values.check_flag(prefix + field, flag));
  return is_absent(values.source().value(prefix + kMark).status()) ? no_adamw(values.source().path()) : Status{};
}

Status check_optimizer(const recipe::Config& config) {
  if (config.optimizer.name == "AdamW") return {};
  return ckpt::incompatible("optimizer.name is \"" + config.optimizer.name +
                            "\" in the configuration; Titan can only continue with AdamW");
}

Status check_steps(const StoredValues& values, const std::vector<ckpt::ParameterMeta>& parameters,
                   const std::vector<std::uint64_t>& counts, const std::string& name, std::uint64_t step) {
  for (std::size_t p = 0; p < counts.size(); ++p)
    if (counts[p] != step)
      return values.differ("optimizer.state." + parameters[p].name + ".step", std::to_string(counts[p]), name,
                           std::to_string(step));
  return {};
}

bool is_group_field(std::string_view field) {
  const auto same = [&](std::string_view known) { return field == known; };
  return std::ranges::any_of(kComparedFields, same) || std::ranges::any_of(kHarmless, same) ||
         std::ranges::any_of(kFlags, [&](const Flag& flag) { return same(flag.field); });
}

Status no_adamw(const std::string& path) {
  return ckpt::incompatible(path + ": the optimizer's groups have no " + kMark +
                            ", which torch's AdamW has: it is another")
      .with_hint(kTensorsAlone);
}

Status unknown_field(const std::string& path, const std::string& name) {
  return ckpt::incompatible(path + ": " + name + " is not a setting of AdamW that is known here")
      .with_hint(kTensorsAlone);
}

}  // namespace titan::convert::dcp
