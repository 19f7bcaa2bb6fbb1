#pragma once
// The picture of a pipeline schedule in the text of `titan-train plan`.
#include <cstddef>
#include <string>

#include "cli/kit/terminal.h"
#include "libtrain/job/forecast/forecast.h"

namespace titan::cli {

/// Draws the pipeline schedule: a line per rank (at most 16 lines), time to the right. F is a forward pass and takes
/// one unit of time; B is a backward pass and takes two. A split backward pass is I (gradients of the input) and W
/// (gradients of the weights), one unit each. A unit is two columns (letter, last digit of the micro-batch's number) if
/// the step then fits `width` columns, else one. If the step still does not fit, its middle is left out. Stages after a
/// rank's first have lower-case letters.
std::string draw_schedule(const train::DrawnSchedule& schedule, const Palette& palette, std::size_t width);

}  // namespace titan::cli
