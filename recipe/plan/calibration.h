#pragma once
// Replaces the assumed efficiencies of a forecast by those that scripts/gpu-check measured on a GPU. Pure.
#include <string>
#include <string_view>

#include "recipe/plan/device_figures.h"

namespace titan::recipe {

/// Copies the measured shares from the report `text` into `figures`; `path` names the report in messages.
/// \error kInvalid: not a report of gpu-check, one of a rehearsal or of another device, one without shares, an
/// impossible share
ckpt::Status calibrate(DeviceFigures& figures, std::string_view text, const std::string& path);

}  // namespace titan::recipe
