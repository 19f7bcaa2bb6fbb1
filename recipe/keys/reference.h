#pragma once
// The key table for people: what a change of each key means, and the two files that are generated from it.
#include <string>
#include <vector>

namespace titan::recipe {

/// A key or flag, and what a changed value of it means for a run that resumes.
struct ChangeRule {
  std::string name;
  std::string cls;     ///< its class: "curve", "layout", ...
  std::string change;  ///< "free", "--allow: from the next step on", ...
};
/// Of every key, then of the flags that say how a start finds its state.
std::vector<ChangeRule> change_rules();

/// Every key with its default, doc, limits and class, as TOML (configs/full.toml).
std::string full_toml();

/// The same as a page of tables (docs/configuration.md).
std::string keys_page();

}  // namespace titan::recipe
