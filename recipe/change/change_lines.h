#pragma once
// Changes of a run and LR policies in words: for the Status of a start that is refused, for logs and for `plan`.
#include <string>
#include <vector>

#include "recipe/change/continuation.h"

namespace titan::recipe {

/// What to type to allow `change`: "--allow KEY --lr_scheduler.on_change=POLICY"; empty where nothing helps.
std::string allow_flags(const Change& change);

/// One line per change: key, both values, class, what will happen, what to type.
std::vector<std::string> change_lines(const std::vector<Change>& changes);

/// What a policy does: the next learning rate and its jump, the middle, the end; or why it cannot be used.
std::string preview_line(const ckpt::LrPreview& preview);
/// One line per policy, with its warnings.
std::vector<std::string> preview_lines(const std::vector<ckpt::LrPreview>& previews);

}  // namespace titan::recipe
