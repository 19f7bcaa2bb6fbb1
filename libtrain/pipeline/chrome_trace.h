#pragma once
// Spans of time as a trace for chrome://tracing and Perfetto: one row per rank. Pure.
#include <cstdint>
#include <string>
#include <vector>

namespace titan::train {

struct TraceSpan {
  std::uint32_t rank = 0;
  std::string name;      ///< shown on the span: "0F12"
  std::string category;  ///< what the viewer filters by: "forward"
  double start_us = 0;   ///< microseconds from any point that all spans share
  double duration_us = 0;
};

/// One JSON document, one span a line, in the order given; ranks are named. Times to the nanosecond.
std::string chrome_trace(const std::vector<TraceSpan>& spans);

/// The same in parts, for ranks that each know their own spans: the rows of some, each with a comma behind it,
std::string chrome_rows(const std::vector<TraceSpan>& spans);
/// and the document of all rows behind each other.
std::string chrome_document(std::string rows);

}  // namespace titan::train
