#pragma once
#include <optional>
#include <string>

#include "cli/kit/verb.h"
#include "recipe/plot/plot_plan.h"

namespace titan::cli {

/// `out`: the file that was written.
std::string plot_json(const recipe::Plot& plot, const std::optional<std::string>& out);

}  // namespace titan::cli
