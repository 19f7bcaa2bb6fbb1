#pragma once
// A plot as one self-contained SVG picture. Pure.
#include <string>

#include "recipe/plot/plot_plan.h"

namespace titan::cli {

/// 880 units wide, black on white, for papers and pages. The colours can be distinguished by people with colour
/// blindness.
std::string svg_plot(const recipe::Plot& plot);

/// The colour of a run in pictures, "#2f81c7": visible on white and on black.
const char* picture_color(std::size_t run);
/// `text` escaped for XML: control characters removed, bad UTF-8 replaced, &, <, > and quotes as entities.
std::string xml_text(std::string_view text);

}  // namespace titan::cli
