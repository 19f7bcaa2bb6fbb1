#pragma once
// Texts about changed settings and LR policies: for the error of a refused start, for logs and for `plan`.
#include <string>
#include <vector>

#include "recipe/change/continuation.h"

namespace titan::recipe {

/// The flags that allow `change`: "--allow KEY --lr_scheduler.on_change=POLICY"; empty if no flag can allow it.
std::string allow_flags(const Change& change);

/// One line about a change: "training.steps: 20 -> 30: the LR schedule changes ...".
std::string change_line(const Change& change);
/// For every change its key, both values and what will happen: a table with a title or, if a value is long, several
/// lines for each change. Lines have at most 76 columns if possible.
std::vector<std::string> change_table(const std::vector<Change>& changes);

/// The effect of a policy: the next learning rate and its jump, and the rate in the middle and at the end; or why the
/// policy rejects the settings.
std::string preview_line(const ckpt::LrPreview& preview);
/// A table: a title with the steps, then for each policy the content of preview_line(), and its warnings. Lines have at
/// most 76 columns if possible.
std::vector<std::string> preview_table(const std::vector<ckpt::LrPreview>& previews);

}  // namespace titan::recipe
