#pragma once
// A plot as one SVG picture that needs nothing else. Pure.
#include <string>

#include "recipe/plot/plot_plan.h"

namespace titan::cli {

/// 880 units wide, black on white: for papers and pages. Colours can be told apart by people who see few of them.
std::string svg_plot(const recipe::Plot& plot);

/// The colour of a run in pictures, "#2f81c7": seen on white and on black.
const char* picture_color(std::size_t run);
/// `text` for XML: control characters gone, bad UTF-8 replaced, &, <, > and quotes as entities.
std::string xml_text(std::string_view text);

}  // namespace titan::cli
