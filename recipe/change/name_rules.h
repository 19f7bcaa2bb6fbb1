#pragma once
// Rules of a user for the names of tensors in a file: what is left out, what is called otherwise, how its rows lie.
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ckpt/base/fs.h"
#include "ckpt/base/result.h"

namespace titan::recipe {

struct Config;

/// How rows of queries and keys lie within a head (ckpt/model/head_rows.h).
enum class HeadRows {
  kInterleaved,  ///< as ours: Meta's, torchtitan's and Mistral's own
  kHalves,       ///< "hf": Hugging Face's
};

/// Rules of a file, in TOML:
///
///     skip = ["teacher.*"]       weights that are left out (* crosses dots)
///     create = ["output.weight"] parameters that are drawn anew (* crosses dots)
///     rows = "hf"                how rows of queries and keys lie in the file: "hf" or "interleaved"
///     [rename]
///     "decoder.*.wq" = "layers.*.attention.wq.weight"   # each * stands for a part without dots, in order
///
/// A weight is skipped if a skip rule matches, else renamed by the first rename rule that matches, else keeps its name.
struct NameRules {
  std::vector<std::pair<std::string, std::string>> rename;
  std::vector<std::string> skip, create;
  std::optional<HeadRows> rows;
  bool empty() const { return rename.empty() && skip.empty() && create.empty() && !rows; }
};

/// \error kInvalid: not readable, not TOML, another key, rules with different numbers of *
ckpt::Result<NameRules> read_name_rules(ckpt::Fs& fs, const std::string& path);
ckpt::Result<NameRules> parse_name_rules(std::string_view text, const std::string& path);
/// "hf" or "interleaved". \error kInvalid; `what` names the value
ckpt::Result<HeadRows> parse_head_rows(const std::string& what, const std::string& text);
/// Adds the rename "FROM=TO". \error kInvalid; `what` names the flag
ckpt::Status parse_rename(const std::string& what, const std::string& text, NameRules& rules);

/// Whether `config` has rules for the weights that a run begins from: checkpoint.initial_load_map, _skip, _rename,
/// _rows.
bool gives_rules(const Config& config);
/// These rules; those of the keys stand before those of the file. \error as read_name_rules
ckpt::Result<NameRules> given_rules(ckpt::Fs& fs, const Config& config);

/// Whether one of `patterns` takes `name`; * crosses dots.
bool any_match(const std::vector<std::string>& patterns, std::string_view name);
/// Whether `pattern` takes `name`. `dots`: * may cross dots.
bool matches(std::string_view pattern, std::string_view name, bool dots);
/// Index of the first rename rule that takes `name`; their number when none does.
std::size_t rename_rule(std::string_view name, const NameRules& rules);
/// What `name` is called by the rename rules.
std::string renamed(std::string_view name, const NameRules& rules);

/// Whether rows of `name` are those of heads of queries or keys, in either layout.
bool has_head_rows(std::string_view name);
/// Why `from` may not become `to`: the rows of queries and keys lie otherwise under names of another layout, and the
/// rules do not say how. "" where it may.
std::string rows_unsaid(std::string_view from, std::string_view to, const NameRules& rules);
/// What to do about that.
extern const char* const kSayRows;

/// Rules skip and rename that match nothing of `names`, or only what rules before them take: typing errors as a rule.
/// One line each.
std::vector<std::string> unused_rules(const std::vector<std::string>& names, const NameRules& rules);

}  // namespace titan::recipe
