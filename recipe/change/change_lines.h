#pragma once
// Changes of a run and LR policies in words: for the Status of a start that is refused, for logs and for `plan`.
#include <string>
#include <vector>

#include "recipe/change/continuation.h"

namespace titan::recipe {

/// What to type to allow `change`: "--allow KEY --lr_scheduler.on_change=POLICY"; empty where nothing helps.
std::string allow_flags(const Change& change);

/// "training.steps: 20 -> 30: the LR schedule changes ..."
std::string change_line(const Change& change);
/// Of every change: key, both values, what will happen; a title above. No line is longer than 76 where that can be.
std::vector<std::string> change_table(const std::vector<Change>& changes);

/// What a policy does: the next learning rate and its jump, the middle, the end; or why it cannot be used.
std::string preview_line(const ckpt::LrPreview& preview);
/// The same of each policy and its warnings; a title with the steps above. No line is longer than 76.
std::vector<std::string> preview_table(const std::vector<ckpt::LrPreview>& previews);

}  // namespace titan::recipe
