#pragma once
// Writes the timeline of ranks (real or simulated) as a trace for chrome://tracing and ui.perfetto.dev. \source "Trace
// Event Format", the JSON object form with complete events ("ph": "X")
#include <string>
#include <vector>

namespace titan::train {

struct TraceSpan {
  int rank = 0;
  std::string name;      ///< "0F3"
  std::string category;  ///< "forward"
  double start_us = 0, duration_us = 0;
};

/// One JSON document with a line per span; each rank is shown as a process. `title` is shown with the ranks.
std::string chrome_trace(const std::vector<TraceSpan>& spans, const std::string& title);

/// The lines of chrome_trace() for `spans`: one per rank with its name, one per span, each with a comma at its end.
/// In a run, each rank makes its own lines.
std::string chrome_rows(const std::vector<TraceSpan>& spans, const std::string& title);
/// The document made of the concatenated chrome_rows() of all ranks.
std::string chrome_document(std::string rows);

}  // namespace titan::train
