#pragma once
// A user's rules for the tensors in a file: which are left out, which are renamed, and in which order the rows of heads
// are.
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ckpt/base/result.h"

namespace titan::ckpt {
class Fs;
}

namespace titan::recipe {

struct Config;

/// The order of the rows of queries and keys within a head (ckpt/model/rope_permutation.h).
enum class HeadRows {
  kInterleaved,  ///< "interleaved": as in Titan, Meta's files, torchtitan's llama3 and Mistral's own files
  kRotateHalf,   ///< "hf": rotate-half order, as in Hugging Face's files
};

/// Rules from a TOML file:
///
///     skip = ["teacher.*"]       weights that are left out (* matches dots, too)
///     create = ["output.weight"] parameters that are initialised as in a new model (* matches dots, too)
///     rows = "hf"                order of the rows of queries and keys in the file: "hf" or "interleaved"
///     [rename]
///     "decoder.*.wq" = "layers.*.attention.wq.weight"   # each * stands for a part without dots, in order
///
/// A weight is skipped if a skip rule matches, else renamed by the first matching rename rule, else keeps its name.
struct NameRules {
  std::vector<std::pair<std::string, std::string>> rename;
  std::vector<std::string> skip, create;
  std::optional<HeadRows> rows;
  bool empty() const { return rename.empty() && skip.empty() && create.empty() && !rows; }
};

/// Reads the rules in the file `path`. \error kInvalid: not readable, not TOML, an unknown key, a rename whose sides
/// have different numbers of *
ckpt::Result<NameRules> read_name_rules(ckpt::Fs& fs, const std::string& path);
/// As read_name_rules(), for the text of a file named `path`.
ckpt::Result<NameRules> parse_name_rules(std::string_view text, const std::string& path);
/// Reads "hf" or "interleaved"; `what` names the value in messages. \error kInvalid
ckpt::Result<HeadRows> parse_head_rows(const std::string& what, const std::string& text);
/// Adds the rename "FROM=TO"; `what` names the flag in messages. \error kInvalid
ckpt::Status parse_rename(const std::string& what, const std::string& text, NameRules& rules);

/// Whether `config` has rules for its initial weights: checkpoint.initial_load_map, _skip, _rename or _rows.
bool gives_rules(const Config& config);
/// The rules that these keys give. Rules of initial_load_skip and _rename are tried before the rules in the file
/// initial_load_map. \error as read_name_rules
ckpt::Result<NameRules> given_rules(ckpt::Fs& fs, const Config& config);

/// Whether any of `patterns` matches `name`; * also matches dots.
bool any_match(const std::vector<std::string>& patterns, std::string_view name);
/// Whether `pattern` matches `name`. `dots`: * also matches dots.
bool matches(std::string_view pattern, std::string_view name, bool dots);
/// Index of the first rename rule that matches `name`; the number of rules if none does.
std::size_t rename_rule(std::string_view name, const NameRules& rules);
/// The new name of `name` by the rename rules.
std::string renamed(std::string_view name, const NameRules& rules);

/// Whether `name`, as Titan, torchtitan, Meta or Hugging Face name tensors, is one whose rows belong to heads of
/// queries or keys.
bool has_head_rows(std::string_view name);
/// Why `from` must not be renamed to `to`: `to` is a tensor of queries or keys, whose rows may have another order in
/// this file, and the rules do not state the order. "" if it may be renamed.
std::string unknown_row_order(std::string_view from, std::string_view to, const NameRules& rules);
/// The hint for the error of unknown_row_order().
extern const char* const kRowOrderHint;

/// One line for each skip or rename rule that has no effect on `names`, because it matches none of them, or only names
/// that earlier rules match. Such a rule is probably a typing error.
std::vector<std::string> unused_rules(const std::vector<std::string>& names, const NameRules& rules);

}  // namespace titan::recipe
