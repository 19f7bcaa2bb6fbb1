#pragma once
// The pipeline's schedule drawn for a terminal: a row per rank, time to the right.
#include <string>

#include "cli/kit/terminal.h"
#include "libtrain/job/forecast/forecast.h"

namespace titan::cli {

/// Lines of at most `width` columns. A forward takes one unit of time, a backward two, each half of a split one one. A
/// unit is two columns, letter and last digit of the micro-batch, where all of them fit, else one; what still does not
/// fit is left out in the middle. Stages beyond a rank's first have small letters.
std::string draw_schedule(const train::DrawnSchedule& schedule, const Palette& palette, std::size_t width);

}  // namespace titan::cli
