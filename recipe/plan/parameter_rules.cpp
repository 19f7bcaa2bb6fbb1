#include "recipe/plan/parameter_rules.h"

#include <algorithm>

#include "ckpt/base/text.h"
#include "ckpt/base/toml_text.h"
#include "ckpt/plan/lr_settings.h"

namespace titan::recipe {
namespace {

ckpt::Status refuse(const std::string& rule, const std::string& why) {
  return ckpt::invalid("optimizer.rules: " + ckpt::toml_string(rule) + ": " + why)
      .with_hint("a rule is \"PATTERN weight_decay=X lr_factor=Y\", for example \"*norm* weight_decay=0\"");
}

ckpt::Status read_number(const std::string& rule, const std::string& key, const std::string& text,
                         std::optional<double>& out) {
  const std::optional<double> number = ckpt::number_of<double>(text);
  if (out) return refuse(rule, key + " is there twice");
  if (!number || !(*number >= 0 && *number <= 1e6))
    return refuse(rule, "expected a number from 0 to 1000000 as " + key + ", found " + ckpt::toml_string(text));
  out = number;
  return ckpt::ok_status();
}

ckpt::Result<ParameterRule> parse_rule(const std::string& text) {
  ParameterRule rule;
  for (const std::string& word : ckpt::split(text, ' ')) {
    if (word.empty()) continue;
    const std::size_t equals = word.find('=');
    const std::string key = equals == std::string::npos ? "pattern" : word.substr(0, equals);
    const std::string value = equals == std::string::npos ? word : word.substr(equals + 1);
    if (key == "weight_decay") {
      TITAN_RETURN_IF_ERROR(read_number(text, key, value, rule.weight_decay));
    } else if (key == "lr_factor") {
      TITAN_RETURN_IF_ERROR(read_number(text, key, value, rule.lr_factor));
    } else if (key != "pattern") {
      return refuse(text, "unknown word " + ckpt::toml_string(key) + ", known are weight_decay, lr_factor");
    } else if (!rule.pattern.empty()) {
      return refuse(text, "it has two patterns");
    } else {
      rule.pattern = value;
    }
  }
  if (rule.pattern.empty()) return refuse(text, "it has no pattern");
  if (!rule.weight_decay && !rule.lr_factor) return refuse(text, "it sets nothing");
  return rule;
}

}  // namespace

ckpt::Result<std::vector<ParameterRule>> parse_rules(const std::vector<std::string>& words) {
  std::vector<ParameterRule> rules;
  for (const std::string& word : words) {
    TITAN_ASSIGN_OR_RETURN(ParameterRule rule, parse_rule(word));
    rules.push_back(std::move(rule));
  }
  return rules;
}

std::vector<std::string> rule_words(const std::vector<ParameterRule>& rules) {
  std::vector<std::string> words;
  for (const ParameterRule& rule : rules) {
    std::string word = rule.pattern;
    if (rule.weight_decay) word += " weight_decay=" + ckpt::toml_float(*rule.weight_decay);
    if (rule.lr_factor) word += " lr_factor=" + ckpt::toml_float(*rule.lr_factor);
    words.push_back(std::move(word));
  }
  return words;
}

std::string rules_row(const std::vector<std::string>& words) {
  const auto rules = parse_rules(words);
  if (!rules.ok() || rules->empty()) return ckpt::kNotSet;
  return ckpt::toml_string(ckpt::joined(rule_words(*rules)));
}

bool fits(const std::string& pattern, const std::string& name) {
  // Each part between stars is matched at its first possible place. On a mismatch, only the last star has to match more
  // text.
  std::size_t p = 0, n = 0, star = std::string::npos, taken = 0;
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      taken = n;
    } else if (p < pattern.size() && pattern[p] == name[n]) {
      ++p;
      ++n;
    } else if (star != std::string::npos) {
      p = star + 1;
      n = ++taken;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == std::string::npos;
}

ckpt::Result<std::vector<UpdateSettings>> update_settings(double weight_decay, const std::vector<std::string>& words,
                                                          const std::vector<ckpt::ParameterMeta>& parameters,
                                                          std::vector<std::string>& warnings) {
  TITAN_ASSIGN_OR_RETURN(const std::vector<ParameterRule> rules, parse_rules(words));
  std::vector<UpdateSettings> settings;
  std::vector<bool> used(rules.size());
  for (const ckpt::ParameterMeta& parameter : parameters) {
    UpdateSettings own{weight_decay, 1};
    const auto rule =
        std::ranges::find_if(rules, [&](const ParameterRule& r) { return fits(r.pattern, parameter.name); });
    if (rule != rules.end()) {
      own = {rule->weight_decay.value_or(weight_decay), rule->lr_factor.value_or(1)};
      used[static_cast<std::size_t>(rule - rules.begin())] = true;
    }
    settings.push_back(own);
  }
  for (std::size_t i = 0; i < rules.size(); ++i)
    if (!used[i])
      warnings.push_back("optimizer.rules: " + ckpt::toml_string(rules[i].pattern) +
                         " is in force for no parameter of this model");
  return settings;
}

}  // namespace titan::recipe
