#pragma once
// The report of `strip`. Pure.
#include <string>

#include "ckpt/ops/strip.h"
#include "cli/ui/reports.h"

namespace titan::ui {

std::string strip_text(const ckpt::StripReport& report, const TextStyle& style);
std::string strip_json(const ckpt::StripReport& report);

}  // namespace titan::ui
