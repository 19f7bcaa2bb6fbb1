#pragma once
// A plot as one self-contained HTML page: data, style and script are inline. Pure.
#include <string>

#include "recipe/history/plot_plan.h"

namespace titan::cli {

/// The page that shows `plot`.
std::string html_plot(const recipe::Plot& plot);

/// The text of cli/plot/page.html: the page with two placeholders, for its title and for the data.
extern const char* const kPlotPage;

}  // namespace titan::cli
