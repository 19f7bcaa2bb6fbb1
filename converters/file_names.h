#pragma once
// The names of a foreign file's tensors after the user's rules, without the prefixes of module wrappers.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "converters/format.h"

namespace titan::convert {

/// A key of optimizer state: "<...>state.<parameter>.<field>".
struct StateKey {
  std::string_view before;  ///< up to and including "state."
  std::string_view parameter, field;
};
/// Splits such a key; nullopt for other names.
std::optional<StateKey> split_state_key(std::string_view name);

/// `name` without the segments that torch.compile, FSDP, DDP and activation checkpointing insert.
std::string without_wrappers(std::string_view name);

struct FileNames {
  std::vector<std::string>
      names;  ///< one for each given name, after the rules; optimizer state follows the rule of its weight
  std::vector<bool> skipped;
  std::vector<std::string> notes;
};

/// Applies `options` to the names of the tensors of `path`. \error kInvalid: a rule that matches nothing;
/// kIncompatible: a rename from one layout to another does not say in which order rows are; kUnsupported: an adapter
/// that is not merged, unless the file is only looked at
Result<FileNames> file_names(const std::string& path, const std::vector<std::string>& names,
                             const ImportOptions& options);

/// The error that the tensors `a` and `b` of the file `path` both map to `parameter`. \error kIncompatible always
Status two_stand_for(const std::string& path, const std::string& parameter, const std::string& a, const std::string& b);

}  // namespace titan::convert
