#pragma once
// A plot as one self-contained HTML page (data, style and script inline). Pure. page.html is the page without its data.
#include <string>

#include "recipe/plot/plot_plan.h"

namespace titan::cli {

std::string html_plot(const recipe::Plot& plot);

/// The page in the sources, with a placeholder for the data.
extern const char* const kPlotPage;

}  // namespace titan::cli
