#pragma once
#include <string>

#include "cli/kit/verb.h"
#include "recipe/advice/advise.h"

namespace titan::cli {

/// `run`: as typed, for lines to paste; `mtbf_given`: by the user.
std::string advise_text(const recipe::AdviseReport& report, const std::string& run, bool mtbf_given,
                        const TextStyle& style);
std::string advise_json(const recipe::AdviseReport& report);

}  // namespace titan::cli
