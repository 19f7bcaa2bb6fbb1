#pragma once
// What ranks did, or would do, and when, as a trace that chrome://tracing and ui.perfetto.dev show.
// \source "Trace Event Format", the JSON object form with complete events ("ph": "X")
#include <string>
#include <vector>

namespace titan::train {

struct TraceSpan {
  int rank = 0;
  std::string name;      ///< "0F3"
  std::string category;  ///< "forward"
  double start_us = 0, duration_us = 0;
};

/// One JSON document with a line per span; each rank is a process of its own. `title` is shown with the ranks.
std::string chrome_trace(const std::vector<TraceSpan>& spans, const std::string& title);

/// The same in parts, for ranks that know their own spans alone: a line per span, each with a comma behind it.
std::string chrome_rows(const std::vector<TraceSpan>& spans, const std::string& title);
/// The document of all such lines behind each other.
std::string chrome_document(std::string rows);

}  // namespace titan::train
