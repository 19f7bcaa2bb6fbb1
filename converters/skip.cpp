#include "converters/skip.h"

#include <fnmatch.h>

namespace titan::convert {

bool SkipRules::takes(std::initializer_list<std::string> names) {
  bool taken = false;
  for (std::size_t i = 0; i < globs_.size(); ++i) {
    for (const std::string& name : names) {
      if (name != globs_[i] && fnmatch(globs_[i].c_str(), name.c_str(), 0) != 0) continue;
      taken = used_[i] = true;
    }
  }
  return taken;
}

ckpt::Status SkipRules::check_used(const std::string& what) const {
  for (std::size_t i = 0; i < globs_.size(); ++i)
    if (!used_[i]) return ckpt::invalid("--skip '" + globs_[i] + "' matches no tensor of " + what).with_hint("--dry-run lists the names");
  return {};
}

}  // namespace titan::convert
