#pragma once
// Parses command-line arguments about keys.
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ckpt/base/result.h"
#include "recipe/keys/value.h"

namespace titan::recipe {

/// One argument about a key.
struct Override {
  std::string flag;  ///< as typed, without the value: "--training.steps", "--set training.steps"
  std::string name;  ///< "training.steps": '-' became '_', aliases are not resolved yet
  Value value;
  bool set = false;  ///< given by --set (weaker than a flag)
};

/// Parses arguments. Whether a flag needs a value depends on its key's type in the key table. Appends every problem to
/// `problems` and returns the overrides that can be read, --set first.
std::vector<Override> parse_overrides(const std::vector<std::string>& arguments, std::vector<ckpt::Status>& problems);

/// Splits "section.key=VALUE" into the name, with '-' replaced by '_', and the text of the value; nullopt without a
/// name or '='.
std::optional<std::pair<std::string, std::string>> split_set(const std::string& text);

}  // namespace titan::recipe
