#pragma once
// What scripts/gpu-check measured on a GPU, in place of what a forecast takes for granted. Pure.
#include <string>
#include <string_view>

#include "recipe/plan/device_figures.h"

namespace titan::recipe {

/// Puts the shares into `figures` that the report `text` has; `path` names it in messages. \error kInvalid: no report
/// of gpu-check, one of a rehearsal or of another device, one without these figures, a share that cannot be
ckpt::Status calibrate(DeviceFigures& figures, std::string_view text, const std::string& path);

}  // namespace titan::recipe
