#include "libtrain/start/init_map.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <optional>

#include "ckpt/base/fs.h"
#include "ckpt/base/text.h"
#include "ckpt/model/shape_text.h"
#include "recipe/keys/toml_reader.h"

namespace titan::train {
namespace {

using ckpt::Result;
using ckpt::Status;

/// The parts that the wildcards of `pattern` stand for in `name`, or nothing. `dots`: a wildcard may cross dots.
std::optional<std::vector<std::string>> match(std::string_view pattern, std::string_view name, bool dots) {
  const std::size_t star = pattern.find('*');
  if (star == std::string_view::npos) return pattern == name ? std::optional(std::vector<std::string>{}) : std::nullopt;
  if (!name.starts_with(pattern.substr(0, star))) return std::nullopt;
  const std::string_view rest = name.substr(star);
  for (std::size_t length = 0; length <= rest.size(); ++length) {
    if (!dots && length > 0 && rest[length - 1] == '.') break;
    if (auto tail = match(pattern.substr(star + 1), rest.substr(length), dots)) {
      tail->insert(tail->begin(), std::string(rest.substr(0, length)));
      return tail;
    }
  }
  return std::nullopt;
}

std::string filled(std::string_view pattern, const std::vector<std::string>& parts) {
  std::string text;
  std::size_t next = 0;
  for (const char c : pattern) text += c == '*' ? parts[next++] : std::string(1, c);
  return text;
}

bool any_match(const std::vector<std::string>& patterns, const std::string& name) {
  return std::ranges::any_of(patterns,
                             [&](const std::string& pattern) { return match(pattern, name, true).has_value(); });
}

Result<std::vector<std::string>> words(const recipe::TomlEntry& entry, const std::string& path) {
  const auto* list = entry.value.as<std::vector<recipe::Value>>();
  std::vector<std::string> out;
  for (const recipe::Value& item : list ? *list : std::vector<recipe::Value>{}) {
    if (const auto* word = item.as<std::string>()) out.push_back(*word);
  }
  if (list == nullptr || out.size() != list->size())
    return ckpt::invalid(path + ": " + entry.key + ": expected a list of names, found " +
                         recipe::describe(entry.value));
  return out;
}

/// Index of the first rename rule that takes `name`; their number when none does.
std::size_t rename_rule(const std::string& name, const InitMap& map) {
  const auto takes = [&](const auto& rule) { return match(rule.first, name, false).has_value(); };
  return static_cast<std::size_t>(std::ranges::find_if(map.rename, takes) - map.rename.begin());
}

std::string renamed(const std::string& name, const InitMap& map) {
  const std::size_t rule = rename_rule(name, map);
  return rule == map.rename.size() ? name
                                   : filled(map.rename[rule].second, *match(map.rename[rule].first, name, false));
}

/// Rules that match nothing, or only names that rules before them take, are typing errors as a rule.
std::vector<std::string> unused_rules(const std::vector<ckpt::WeightInfo>& weights,
                                      const std::vector<ckpt::ParameterMeta>& parameters, const InitMap& map) {
  std::vector<std::string> unused;
  const auto check = [&](const char* kind, const std::string& pattern, const auto& names, bool dots) {
    const bool used =
        std::ranges::any_of(names, [&](const auto& one) { return match(pattern, one.name, dots).has_value(); });
    if (!used) unused.push_back(std::string("rule ") + kind + " \"" + pattern + "\" matches nothing");
  };
  for (const std::string& pattern : map.skip) check("skip", pattern, weights, true);
  for (const std::string& pattern : map.create) check("create", pattern, parameters, true);
  std::vector<bool> used(map.rename.size() + 1), matches(map.rename.size());
  for (const ckpt::WeightInfo& weight : weights) {
    if (!any_match(map.skip, weight.name)) used[rename_rule(weight.name, map)] = true;
    for (std::size_t i = 0; i < map.rename.size(); ++i)
      matches[i] = matches[i] || match(map.rename[i].first, weight.name, false).has_value();
  }
  for (std::size_t i = 0; i < map.rename.size(); ++i)
    if (!used[i])
      unused.push_back(
          "rule rename \"" + map.rename[i].first + "\" " +
          (matches[i] ? "does nothing: skip and the renames before it take all that it matches" : "matches nothing"));
  return unused;
}

}  // namespace

Result<InitMap> parse_init_map(std::string_view text, const std::string& path) {
  TITAN_ASSIGN_OR_RETURN(const std::vector<recipe::TomlEntry> entries, recipe::parse_toml(text, path));
  InitMap map;
  for (const recipe::TomlEntry& entry : entries) {
    if (entry.key == "skip") {
      TITAN_ASSIGN_OR_RETURN(map.skip, words(entry, path));
    } else if (entry.key == "create") {
      TITAN_ASSIGN_OR_RETURN(map.create, words(entry, path));
    } else if (entry.key.starts_with("rename.") && entry.value.as<std::string>()) {
      const std::string from = entry.key.substr(7), to = *entry.value.as<std::string>();
      if (std::ranges::count(from, '*') != std::ranges::count(to, '*'))
        return ckpt::invalid(path + ": rename \"" + from + "\" = \"" + to + "\": both sides need the same number of *");
      map.rename.emplace_back(from, to);
    } else {
      return ckpt::invalid(path + ": '" + entry.key +
                           "': expected skip = [..], create = [..] and [rename] with \"from\" = \"to\"")
          .with_hint("quote names with dots: \"a.b\" = \"c.d\"");
    }
  }
  return map;
}

Result<InitMap> read_init_map(const std::string& path) {
  auto bytes = ckpt::read_file(ckpt::posix_fs(), path, 16u << 20);
  if (!bytes.ok()) return ckpt::invalid("--init-map " + path + ": " + bytes.status().message);
  return parse_init_map(ckpt::text_of(*bytes), path);
}

Result<WeightMatch> match_weights(const std::vector<ckpt::WeightInfo>& weights,
                                  const std::vector<ckpt::ParameterMeta>& parameters, const InitMap& map) {
  std::map<std::string, std::size_t> index_of;
  for (std::size_t i = 0; i < parameters.size(); ++i) index_of[parameters[i].name] = i;

  WeightMatch found;
  std::vector<std::string> problems;
  std::map<std::size_t, std::size_t> taken;  // parameter -> weight
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const std::string& name = weights[i].name;
    if (any_match(map.skip, name)) {
      found.skipped.push_back(i);
      continue;
    }
    const std::string target = renamed(name, map);
    const auto place = index_of.find(target);
    const std::string as = target == name ? "" : " (renamed to " + target + ")";
    if (place == index_of.end()) {
      problems.push_back(name + as + ": the model has no such parameter, and no rule skips it");
    } else if (any_match(map.create, target)) {
      problems.push_back(name + as + ": the parameter is to be created, and the weight is there; skip one of them");
    } else if (const auto [other, first] = taken.emplace(place->second, i); !first) {
      problems.push_back(name + as + ": " + weights[other->second].name + " is that parameter already");
    } else if (weights[i].shape != parameters[place->second].shape) {
      problems.push_back(name + as + ": shape " + ckpt::shape_text(weights[i].shape) + " in the checkpoint, " +
                         ckpt::shape_text(parameters[place->second].shape) + " in the model");
    } else {
      found.loaded.push_back({i, place->second});
    }
  }
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (taken.contains(i)) continue;
    if (any_match(map.create, parameters[i].name)) {
      found.created.push_back(i);
    } else {
      problems.push_back(parameters[i].name + ": no weight for this parameter, and no rule creates it");
    }
  }
  for (const std::string& rule : unused_rules(weights, parameters, map)) problems.push_back(rule);
  if (problems.empty()) return found;
  Status status = ckpt::incompatible("the weights do not fit the model: " + std::to_string(problems.size()) +
                                     (problems.size() == 1 ? " problem" : " problems"));
  constexpr std::size_t kShown = 20;
  if (problems.size() > kShown) {
    const std::size_t more = problems.size() - kShown;
    problems.resize(kShown);
    problems.push_back("and " + std::to_string(more) + " more");
  }
  status.causes = std::move(problems);
  return status.with_hint(
      "set the model.* keys as the checkpoint's (titan-ckpt inspect --config), or say what goes where with --init-map "
      "FILE");
}

std::vector<std::string> match_lines(const WeightMatch& match, const std::vector<ckpt::WeightInfo>& weights,
                                     const std::vector<ckpt::ParameterMeta>& parameters) {
  std::vector<std::string> lines = {"weights: " + std::to_string(match.loaded.size()) + " loaded, " +
                                    std::to_string(match.skipped.size()) + " skipped, " +
                                    std::to_string(match.created.size()) + " created"};
  for (const WeightMatch::Pair& pair : match.loaded)
    if (weights[pair.weight].name != parameters[pair.parameter].name)
      lines.push_back("  loaded   " + weights[pair.weight].name + " as " + parameters[pair.parameter].name);
  for (const std::size_t i : match.skipped)
    lines.push_back("  skipped  " + weights[i].name + " " + ckpt::shape_text(weights[i].shape));
  for (const std::size_t i : match.created)
    lines.push_back("  created  " + parameters[i].name + " " + ckpt::shape_text(parameters[i].shape));
  return lines;
}

}  // namespace titan::train
