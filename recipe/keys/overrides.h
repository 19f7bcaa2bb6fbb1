#pragma once
// Command-line arguments about keys, taken apart.
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ckpt/base/result.h"
#include "recipe/keys/value.h"

namespace titan::recipe {

struct Override {
  std::string flag;  ///< as typed, without the value: "--training.steps", "--set training.steps"
  std::string name;  ///< "training.steps": '-' read as '_', aliases not yet followed
  Value value;
  bool set = false;  ///< came by --set (weaker than a flag)
};

/// Takes arguments apart. The key table decides whether a flag needs a value. Appends every problem to `problems` and
/// returns what can be read, --set first.
std::vector<Override> parse_overrides(const std::vector<std::string>& arguments, std::vector<ckpt::Status>& problems);

/// "section.key=VALUE" as (name with '-' read as '_', text of the value); nothing without a name or '='.
std::optional<std::pair<std::string, std::string>> split_set(const std::string& text);

}  // namespace titan::recipe
