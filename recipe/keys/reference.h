#pragma once
// What a changed value of each key means for a resume.
#include <string>
#include <vector>

namespace titan::recipe {

/// A key or flag, and what a changed value of it means for a resume.
struct ChangeRule {
  std::string name;
  std::string cls;     ///< its class: "curve", "layout", ...
  std::string change;  ///< "free", "--allow: from the next step on", ...
};
/// The rules of every key, then of the flags with which a start chooses its state.
std::vector<ChangeRule> change_rules();

}  // namespace titan::recipe
