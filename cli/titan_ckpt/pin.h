#pragma once
#include <string>
#include <vector>

#include "ckpt/ops/pin.h"
#include "cli/kit/verb.h"

namespace titan::cli {

/// `pin`, and `unpin` by the verb's name.
Answer run_pin(const Request& request);

/// `pinned`: what the steps are now.
std::string pin_text(const std::vector<ckpt::PinnedStep>& steps, bool pinned);
std::string pin_json(const std::vector<ckpt::PinnedStep>& steps, bool pinned);

}  // namespace titan::cli
