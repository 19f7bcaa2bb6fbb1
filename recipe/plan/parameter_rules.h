#pragma once
// optimizer.rules: other weight decay and learning rate for parameters by name. Pure.
#include <optional>
#include <string>
#include <vector>

#include "ckpt/base/result.h"
#include "ckpt/model/tensor_meta.h"

namespace titan::recipe {

struct Config;

struct ParameterRule {
  std::string pattern;  ///< of the whole name; "*" stands for any text
  std::optional<double> weight_decay, lr_factor;
};

/// How one parameter is updated.
struct UpdateSettings {
  double weight_decay = 0, lr_factor = 1;
  bool operator==(const UpdateSettings&) const = default;
};

/// Reads "PATTERN weight_decay=X lr_factor=Y", in any order, "pattern=PATTERN" too. \error kInvalid, naming the rule
ckpt::Result<std::vector<ParameterRule>> parse_rules(const std::vector<std::string>& words);
/// The rules in the form that a checkpoint stores.
std::vector<std::string> rule_words(const std::vector<ParameterRule>& rules);
/// The row of a checkpoint's accepted settings for `words`: one text, whatever the order of words in a rule; kNotSet
/// for none, and for what cannot be read.
std::string rules_row(const std::vector<std::string>& words);
bool fits(const std::string& pattern, const std::string& name);

/// Of each of `parameters`: of the first rule that fits, else what `config` says. Where a rule comes into force for
/// none of them, `warnings` says so. \error as parse_rules
ckpt::Result<std::vector<UpdateSettings>> update_settings(const Config& config,
                                                          const std::vector<ckpt::ParameterMeta>& parameters,
                                                          std::vector<std::string>& warnings);

}  // namespace titan::recipe
