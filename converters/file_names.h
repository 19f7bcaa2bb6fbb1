#pragma once
// Applies the user's rename and skip rules to the names of a foreign file's tensors, and removes the name segments of
// module wrappers ("_orig_mod", "module").
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
/// Splits a key of optimizer state; nullopt for other names.
std::optional<StateKey> split_state_key(std::string_view name);

/// `name` without the segments that torch.compile, FSDP, DDP and activation checkpointing insert.
std::string without_wrappers(std::string_view name);

struct FileNames {
  /// One for each given name, after the rules and without wrappers; optimizer state follows the rule of its weight.
  std::vector<std::string> names;
  std::vector<bool> skipped;
  std::vector<std::string> notes;
};

/// Applies `options` to `names`, the tensor names of the file `path`. \error kInvalid: a pattern of `skip` that matches
/// nothing; kIncompatible: a rule that matches nothing, or that renames to another program's names without stating the
/// row order; kUnsupported: a PEFT adapter that is not merged (allowed with `look` without `config`)
Result<FileNames> file_names(const std::string& path, const std::vector<std::string>& names,
                             const ImportOptions& options);

/// The error that the tensors `a` and `b` of the file `path` both map to `parameter`. \error kIncompatible always
Status duplicate_mapping(const std::string& path, const std::string& parameter, const std::string& a,
                         const std::string& b);

}  // namespace titan::convert
