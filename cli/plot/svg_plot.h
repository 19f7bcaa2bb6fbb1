#pragma once
// A plot as one self-contained SVG picture. Pure.
#include <string>

#include "recipe/history/plot_plan.h"

namespace titan::cli {

/// The picture: 880 units wide, black text on white, for papers and web pages. People with colour blindness can tell
/// its colours apart.
std::string svg_plot(const recipe::Plot& plot);

/// The colour of a run in pictures, "#2f81c7": visible on white and on black.
const char* picture_color(std::size_t run);
/// `text` escaped for XML: control characters removed, bad UTF-8 replaced, &, <, > and quotes as entities.
std::string xml_text(std::string_view text);

}  // namespace titan::cli
