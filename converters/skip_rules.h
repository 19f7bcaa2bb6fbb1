#pragma once
// The tensors that the user chose to skip: shell patterns for tensor names ("*" also matches dots).
#include <initializer_list>
#include <string>
#include <vector>

#include "ckpt/base/status.h"

namespace titan::convert {

class SkipRules {
 public:
  explicit SkipRules(std::vector<std::string> globs) : globs_(std::move(globs)), used_(globs_.size(), false) {}
  /// True if a glob equals or matches one of `names`, the names that one tensor can be called by. Such globs count as
  /// used.
  bool takes(std::initializer_list<std::string> names);
  bool takes(const std::string& name) { return takes({name}); }
  /// Refuses patterns that matched nothing, which are usually typing errors. `what` names the source. \error kInvalid
  ckpt::Status check_used(const std::string& what) const;

 private:
  std::vector<std::string> globs_;
  std::vector<bool> used_;
};

/// The flags that skip all of `names` and nothing else in `all`, for hints: "--skip 'ema.*'". At most five; "and so on"
/// stands for more.
std::string skip_flags(const std::vector<std::string>& names, const std::vector<std::string>& all);

}  // namespace titan::convert
