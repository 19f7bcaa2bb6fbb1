#pragma once
// Replaces the assumed efficiencies (shares of a GPU's peak rates) of a forecast by those that scripts/gpu-check
// measured. Pure.
#include <string>
#include <string_view>

#include "recipe/plan/device_figures.h"

namespace titan::recipe {

/// Copies the measured shares from the report `text` into `figures`; `path` names the report in messages.
/// \error kInvalid: not a report of gpu-check, a report of a run without a GPU or of another device, no shares in it,
/// an impossible share
ckpt::Status calibrate(DeviceFigures& figures, std::string_view text, const std::string& path);

}  // namespace titan::recipe
