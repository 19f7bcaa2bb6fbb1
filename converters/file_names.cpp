#include "converters/file_names.h"

#include <algorithm>
#include <map>
#include <set>

#include "ckpt/base/printed.h"
#include "converters/skip_rules.h"

namespace titan::convert {
namespace {

constexpr const char* kStateOfAll = "optimizer.state.";
constexpr std::string_view kWrappers[] = {"_orig_mod", "_fsdp_wrapped_module", "_checkpoint_wrapped_module", "module"};

template <typename Use>
void for_each_segment(std::string_view name, Use&& use) {
  while (!name.empty()) {
    const std::string_view segment = name.substr(0, name.find('.'));
    use(segment);
    name.remove_prefix(std::min(name.size(), segment.size() + 1));
  }
}

bool is_wrapper(std::string_view segment) { return std::ranges::find(kWrappers, segment) != std::end(kWrappers); }

bool has_rule(std::string_view name, const recipe::NameRules& rules) {
  return recipe::rename_rule(name, rules) < rules.rename.size();
}

// Finds the weight that belongs to an optimizer state, whose name may lack a prefix that all weights have.
class Weights {
 public:
  explicit Weights(const std::vector<std::string>& names) {
    std::set<std::string_view> parameters;
    for (const std::string& name : names)
      if (const auto state = split_state_key(name))
        parameters.insert(state->parameter);
      else
        weights_.insert(name);
    std::map<std::string_view, std::size_t> prefixes;
    for (const std::string_view name : weights_)
      for (std::size_t at = 0; at < name.size(); at = std::min(name.find('.', at), name.size() - 1) + 1)
        if (parameters.contains(name.substr(at))) ++prefixes[name.substr(0, at)];
    const auto most = std::max_element(prefixes.begin(), prefixes.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    if (most != prefixes.end()) prefix_ = most->first;
  }

  std::string_view prefix() const { return prefix_; }
  // "" if the file has none.
  std::string of(std::string_view parameter) const {
    std::string name = prefix_ + std::string(parameter);
    return weights_.contains(name) ? name : "";
  }

 private:
  std::set<std::string_view> weights_;
  std::string prefix_;
};

// A rule matches a whole name. A state is renamed like its weight; a state without a weight is renamed by its
// parameter's name.
std::string ruled(const std::string& name, const Weights& weights, const recipe::NameRules& rules) {
  if (has_rule(name, rules)) return recipe::renamed(name, rules);
  const std::optional<StateKey> state = split_state_key(name);
  if (!state) return name;
  std::string weight = weights.of(state->parameter), to;
  if (weight.empty()) {
    to = recipe::renamed(state->parameter, rules);
  } else if (!has_rule(weight, rules)) {
    return name;
  } else {
    to = recipe::renamed(weight, rules);
    if (to.starts_with(weights.prefix())) to.erase(0, weights.prefix().size());
  }
  return std::string(state->before) + to + "." + std::string(state->field);
}

// Whether a tensor belongs to a PEFT adapter: the adapted weight ("base_layer") or the adapter's own ("lora_A"). The
// weights without the adapter are another model, so they are not converted alone.
bool is_adapted(std::string_view name) {
  bool found = false;
  for_each_segment(name, [&](std::string_view segment) {
    found = found || segment == "base_layer" || segment.starts_with("lora_");
  });
  return found;
}

Status check_merged(const std::string& path, const FileNames& found) {
  for (std::size_t i = 0; i < found.names.size(); ++i)
    if (!found.skipped[i] && is_adapted(found.names[i]))
      return ckpt::unsupported(path + " has an adapter (PEFT) that is not merged into its model: '" + found.names[i] +
                               "'")
          .with_hint("merge it first: merge_and_unload() of PEFT, then save_pretrained(FOLDER)");
  return {};
}

Status refuse(const std::string& path, std::vector<std::string> problems, const char* hint) {
  constexpr std::size_t kShown = 20;
  const std::size_t all = problems.size();
  Status status = ckpt::incompatible(path + ": the rules for names do not fit: " + ckpt::counted(all, "problem"));
  if (all > kShown) {
    problems.resize(kShown);
    problems.push_back("and " + std::to_string(all - kShown) + " more");
  }
  status.causes = std::move(problems);
  return hint == nullptr ? status : status.with_hint(hint);
}

}  // namespace

std::optional<StateKey> split_state_key(std::string_view name) {
  constexpr std::string_view kState = "state.", kTitanState = "optimizer.state.";
  std::size_t at = 0;
  if (!name.starts_with(kState)) {
    at = name.find(".state.");
    if (at == std::string_view::npos) return std::nullopt;
    ++at;
  }
  const std::size_t begin = at + kState.size(), dot = name.rfind('.');
  if (dot == std::string_view::npos || dot < begin) return std::nullopt;
  const std::string_view field = name.substr(dot + 1);
  const bool known = field == ckpt::kExpAvg || field == ckpt::kExpAvgSq || field == "step";
  if (!known && !name.starts_with(kTitanState)) return std::nullopt;
  return StateKey{name.substr(0, begin), name.substr(begin, dot - begin), field};
}

std::string without_wrappers(std::string_view name) {
  std::string text;
  for_each_segment(name, [&](std::string_view segment) {
    if (!is_wrapper(segment)) text += (text.empty() ? "" : ".") + std::string(segment);
  });
  return text;
}

Result<FileNames> file_names(const std::string& path, const std::vector<std::string>& names,
                             const ImportOptions& options) {
  SkipRules skip(options.skip);
  const Weights weights(names);
  FileNames found;
  std::vector<std::string> problems, rows, rows_of_state;
  std::map<std::string_view, std::size_t> wrappers;
  for (const std::string& name : names) {
    // --skip accepts "optimizer.state.<parameter>.<field>" even if the file has another prefix before "state.".
    const std::optional<StateKey> state = split_state_key(name);
    const bool by_flag = skip.takes(
        {name, state ? kStateOfAll + std::string(state->parameter) + "." + std::string(state->field) : name});
    found.skipped.push_back(by_flag || recipe::any_match(options.rules.skip, name));
    const std::string target = ruled(name, weights, options.rules);
    if (!found.skipped.back())
      if (const std::string unsaid = recipe::unknown_row_order(name, target, options.rules); !unsaid.empty())
        (split_state_key(name) ? rows_of_state : rows).push_back(unsaid);
    for_each_segment(target, [&](std::string_view segment) {
      const auto* const wrapper = std::ranges::find(kWrappers, segment);
      if (wrapper != std::end(kWrappers)) ++wrappers[*wrapper];
    });
    found.names.push_back(without_wrappers(target));
  }
  TITAN_RETURN_IF_ERROR(skip.check_used(path));
  // A rule that matches the parameter of a state must also apply to its weight.
  std::vector<std::string> matched = names;
  for (const std::string& name : names) {
    const auto state = split_state_key(name);
    if (!state) continue;
    const std::string weight = weights.of(state->parameter);
    if (weight.empty() || has_rule(weight, options.rules)) matched.emplace_back(state->parameter);
  }
  problems = recipe::unused_rules(matched, options.rules);
  if (rows.empty()) rows = std::move(rows_of_state);  // the weight's problem already covers its moments
  problems.insert(problems.end(), rows.begin(), rows.end());
  if (!problems.empty()) return refuse(path, std::move(problems), rows.empty() ? nullptr : recipe::kRowOrderHint);
  if (!options.look || options.config) TITAN_RETURN_IF_ERROR(check_merged(path, found));
  for (const auto& [wrapper, count] : wrappers)
    found.notes.push_back("the wrapper's `" + std::string(wrapper) + ".` is taken off " + ckpt::counted(count, "name"));
  return found;
}

Status duplicate_mapping(const std::string& path, const std::string& parameter, const std::string& a,
                         const std::string& b) {
  return ckpt::incompatible(path + ": two tensors stand for " + parameter + ": '" + a + "' and '" + b + "'")
      .with_hint("leave one of them out, by its name in the file: --skip '" + a + "', or --skip '" + b + "'");
}

}  // namespace titan::convert
