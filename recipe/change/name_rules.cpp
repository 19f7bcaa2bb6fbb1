#include "recipe/change/name_rules.h"

#include <algorithm>

#include "ckpt/base/text.h"
#include "ckpt/store/named_file.h"
#include "recipe/keys/config.h"
#include "recipe/keys/toml_reader.h"
#include "recipe/model/family.h"

namespace titan::recipe {

using ckpt::Result;
using ckpt::Status;

const char* const kRowOrderHint =
    "say their order in the file, with --rows hf (Hugging Face's; most often names with q_proj have it) or --rows "
    "interleaved (Meta's and torchtitan's), or with rows = \"hf\" at the top of a file of rules; without rules, "
    "Hugging "
    "Face's names are read as they are";

namespace {

/// The texts that the wildcards of `pattern` match in `name`, or nullopt. `dots`: a wildcard may match dots.
std::optional<std::vector<std::string>> wildcards(std::string_view pattern, std::string_view name, bool dots) {
  const std::size_t star = pattern.find('*');
  if (star == std::string_view::npos) return pattern == name ? std::optional(std::vector<std::string>{}) : std::nullopt;
  if (!name.starts_with(pattern.substr(0, star))) return std::nullopt;
  const std::string_view rest = name.substr(star);
  for (std::size_t length = 0; length <= rest.size(); ++length) {
    if (!dots && length > 0 && rest[length - 1] == '.') break;
    if (auto tail = wildcards(pattern.substr(star + 1), rest.substr(length), dots)) {
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

Result<std::vector<std::string>> words(const TomlEntry& entry, const std::string& path) {
  const auto* list = entry.value.as<std::vector<Value>>();
  std::vector<std::string> out;
  for (const Value& item : list ? *list : std::vector<Value>{}) {
    if (const auto* word = item.as<std::string>()) out.push_back(*word);
  }
  if (list == nullptr || out.size() != list->size())
    return ckpt::invalid(path + ": " + entry.key + ": expected a list of names, found " + describe(entry.value));
  return out;
}

/// Which row order the program has in whose naming scheme a name means queries or keys. kBoth: schemes of both orders
/// have the name.
enum class Owner { kNobody, kInterleaved, kRotateHalf, kBoth };

/// The module in a name pattern: "wq" of "layers.#.attention.wq.weight".
std::string_view module_of(std::string_view pattern) {
  const std::string_view behind = pattern.substr(0, pattern.rfind('.'));
  return behind.substr(behind.rfind('.') + 1);
}

Owner owner_of_segment(std::string_view segment) {
  for (const ParameterKind& kind : parameter_kinds()) {
    if (kind.rows == Rows::kStay) continue;
    const bool ours = segment == module_of(kind.ours), rotate_half = segment == module_of(kind.huggingface);
    if (ours || rotate_half)
      return ours && rotate_half ? Owner::kBoth : ours ? Owner::kInterleaved : Owner::kRotateHalf;
  }
  return Owner::kNobody;
}

Owner owner_of(std::string_view name) {
  while (!name.empty()) {
    const std::string_view segment = name.substr(0, name.find('.'));
    if (const Owner owner = owner_of_segment(segment); owner != Owner::kNobody) return owner;
    name.remove_prefix(std::min(name.size(), segment.size() + 1));
  }
  return Owner::kNobody;
}

Status add_rename(const std::string& what, const std::string& from, const std::string& to, NameRules& rules) {
  if (std::ranges::count(from, '*') != std::ranges::count(to, '*'))
    return ckpt::invalid(what + "\"" + from + "\" = \"" + to + "\": both sides need the same number of *");
  rules.rename.emplace_back(from, to);
  return ckpt::ok_status();
}

}  // namespace

Result<HeadRows> parse_head_rows(const std::string& what, const std::string& text) {
  if (text == "hf") return HeadRows::kRotateHalf;
  if (text == "interleaved") return HeadRows::kInterleaved;
  return ckpt::invalid(what + ": expected \"hf\" or \"interleaved\", found \"" + text + "\"");
}

Status parse_rename(const std::string& what, const std::string& text, NameRules& rules) {
  const std::size_t sign = text.find('=');
  if (sign == 0 || sign == std::string::npos || sign + 1 == text.size())
    return ckpt::invalid(what + " " + text + ": expected FROM=TO")
        .with_hint("as in " + what + " 'decoder.*.wq=layers.*.attention.wq.weight'");
  return add_rename(what + " ", text.substr(0, sign), text.substr(sign + 1), rules);
}

bool gives_rules(const Config& config) {
  const Config::Checkpoint& keys = config.checkpoint;
  return keys.initial_load_map || !keys.initial_load_skip.empty() || !keys.initial_load_rename.empty() ||
         keys.initial_load_rows;
}

Result<NameRules> given_rules(ckpt::Fs& fs, const Config& config) {
  const Config::Checkpoint& keys = config.checkpoint;
  NameRules rules;
  for (const std::string& rule : keys.initial_load_rename) TITAN_RETURN_IF_ERROR(parse_rename("--rename", rule, rules));
  rules.skip = keys.initial_load_skip;
  if (keys.initial_load_map) {
    TITAN_ASSIGN_OR_RETURN(NameRules file, read_name_rules(fs, *keys.initial_load_map));
    rules.rename.insert(rules.rename.end(), file.rename.begin(), file.rename.end());
    rules.skip.insert(rules.skip.end(), file.skip.begin(), file.skip.end());
    rules.create = std::move(file.create);
    rules.rows = file.rows;
  }
  if (keys.initial_load_rows) {
    TITAN_ASSIGN_OR_RETURN(rules.rows, parse_head_rows("--rows", *keys.initial_load_rows));
  }
  return rules;
}

Result<NameRules> parse_name_rules(std::string_view text, const std::string& path) {
  TITAN_ASSIGN_OR_RETURN(const std::vector<TomlEntry> entries, parse_toml(text, path));
  NameRules rules;
  for (const TomlEntry& entry : entries) {
    const auto* const word = entry.value.as<std::string>();
    if (entry.key == "skip") {
      TITAN_ASSIGN_OR_RETURN(rules.skip, words(entry, path));
    } else if (entry.key == "create") {
      TITAN_ASSIGN_OR_RETURN(rules.create, words(entry, path));
    } else if (entry.key == "rows" && word != nullptr) {
      TITAN_ASSIGN_OR_RETURN(rules.rows, parse_head_rows(path + ": rows", *word));
    } else if (entry.key.starts_with("rename.") && word != nullptr) {
      TITAN_RETURN_IF_ERROR(add_rename(path + ": rename ", entry.key.substr(7), *word, rules));
    } else {
      return ckpt::invalid(path + ": '" + entry.key +
                           "': expected skip = [..], create = [..], rows = \"hf\" and [rename] with \"from\" = \"to\"")
          .with_hint("quote names with dots: \"a.b\" = \"c.d\"");
    }
  }
  return rules;
}

Result<NameRules> read_name_rules(ckpt::Fs& fs, const std::string& path) {
  const auto bytes = ckpt::read_named_file(fs, path, "rules in TOML", 16u << 20);
  if (!bytes.ok()) return ckpt::invalid("--init-map " + path + ": " + bytes.status().message);
  return parse_name_rules(ckpt::text_of(*bytes), path);
}

bool matches(std::string_view pattern, std::string_view name, bool dots) {
  return wildcards(pattern, name, dots).has_value();
}

bool any_match(const std::vector<std::string>& patterns, std::string_view name) {
  return std::ranges::any_of(patterns, [&](const std::string& pattern) { return matches(pattern, name, true); });
}

std::size_t rename_rule(std::string_view name, const NameRules& rules) {
  const auto takes = [&](const auto& rule) { return matches(rule.first, name, false); };
  return static_cast<std::size_t>(std::ranges::find_if(rules.rename, takes) - rules.rename.begin());
}

std::string renamed(std::string_view name, const NameRules& rules) {
  const std::size_t rule = rename_rule(name, rules);
  return rule == rules.rename.size()
             ? std::string(name)
             : filled(rules.rename[rule].second, *wildcards(rules.rename[rule].first, name, false));
}

bool has_head_rows(std::string_view name) { return owner_of(name) != Owner::kNobody; }

std::string unknown_row_order(std::string_view from, std::string_view to, const NameRules& rules) {
  const Owner owner = owner_of(to);
  // Norms of queries and keys have the same name in both schemes. Their order is that of the projections, which are
  // checked themselves.
  if (rules.rows || owner == Owner::kNobody || owner == Owner::kBoth || owner_of(from) == owner) return "";
  return std::string(from) + " (renamed to " + std::string(to) +
         "): the two names imply different orders of the rows of query and key projections, and no rule says which one "
         "the file has";
}

std::vector<std::string> unused_rules(const std::vector<std::string>& names, const NameRules& rules) {
  std::vector<std::string> unused;
  for (const std::string& pattern : rules.skip)
    if (std::ranges::none_of(names, [&](const std::string& name) { return matches(pattern, name, true); }))
      unused.push_back("rule skip \"" + pattern + "\" matches nothing");
  std::vector<bool> used(rules.rename.size() + 1), takes(rules.rename.size());
  for (const std::string& name : names) {
    if (!any_match(rules.skip, name)) used[rename_rule(name, rules)] = true;
    for (std::size_t i = 0; i < rules.rename.size(); ++i)
      takes[i] = takes[i] || matches(rules.rename[i].first, name, false);
  }
  for (std::size_t i = 0; i < rules.rename.size(); ++i)
    if (!used[i])
      unused.push_back(
          "rule rename \"" + rules.rename[i].first + "\" " +
          (takes[i] ? "does nothing: skip and the renames before it take all that it matches" : "matches nothing"));
  return unused;
}

}  // namespace titan::recipe
