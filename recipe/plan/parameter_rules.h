#pragma once
// optimizer.rules: weight decay and learning-rate factor of parameters, by name pattern. Pure.
#include <optional>
#include <string>
#include <vector>

#include "ckpt/base/result.h"
#include "ckpt/model/tensor_meta.h"

namespace titan::recipe {

/// One rule.
struct ParameterRule {
  std::string pattern;  ///< matches the whole name; "*" stands for any text
  std::optional<double> weight_decay, lr_factor;
};

/// Settings for updating one parameter.
struct UpdateSettings {
  double weight_decay = 0, lr_factor = 1;
  bool operator==(const UpdateSettings&) const = default;
};

/// Reads "PATTERN weight_decay=X lr_factor=Y" in any order; "pattern=PATTERN" works, too. \error kInvalid, which names
/// the rule
ckpt::Result<std::vector<ParameterRule>> parse_rules(const std::vector<std::string>& words);
/// The rules in the form that a checkpoint stores.
std::vector<std::string> rule_words(const std::vector<ParameterRule>& rules);
/// The value of `optimizer.rules` in a checkpoint's settings. The order of the words within a rule does not change the
/// value. ckpt::kNotSet if there are no rules, or if they cannot be read.
std::string rules_row(const std::vector<std::string>& words);
/// Whether the whole of `name` matches `pattern`; "*" stands for any text.
bool fits(const std::string& pattern, const std::string& name);

/// The settings of each of `parameters`: of the first matching rule of `words` (optimizer.rules), else `weight_decay`
/// (optimizer.weight_decay) and factor 1. `warnings` names rules that apply to no parameter. \error as parse_rules
ckpt::Result<std::vector<UpdateSettings>> update_settings(double weight_decay, const std::vector<std::string>& words,
                                                          const std::vector<ckpt::ParameterMeta>& parameters,
                                                          std::vector<std::string>& warnings);

}  // namespace titan::recipe
