#include "libtrain/pipeline/chrome_trace.h"

#include <cstdio>
#include <set>

#include "ckpt/format/json_writer.h"

// \source the "Trace Event Format" of Chrome: complete events (ph X) and metadata (ph M)
namespace titan::train {
namespace {

std::string microseconds(double value) {
  char text[400];
  std::snprintf(text, sizeof text, "%.3f", value);
  return text;
}

}  // namespace

std::string chrome_rows(const std::vector<TraceSpan>& spans) {
  std::set<std::uint32_t> ranks;
  for (const TraceSpan& span : spans) ranks.insert(span.rank);
  std::string rows;
  const auto add = [&rows](const std::string& event) { rows += event + ",\n"; };
  for (const std::uint32_t rank : ranks) {
    const std::string number = std::to_string(rank);
    add(R"({"ph":"M","pid":)" + number + R"(,"tid":0,"name":"process_name","args":{"name":"rank )" + number + "\"}}");
    add(R"({"ph":"M","pid":)" + number + R"(,"tid":0,"name":"process_sort_index","args":{"sort_index":)" + number +
        "}}");
  }
  for (const TraceSpan& span : spans)
    add(R"({"ph":"X","pid":)" + std::to_string(span.rank) + R"(,"tid":0,"ts":)" + microseconds(span.start_us) +
        ",\"dur\":" + microseconds(span.duration_us) + ",\"name\":" + ckpt::json_string(span.name) +
        ",\"cat\":" + ckpt::json_string(span.category) + "}");
  return rows;
}

std::string chrome_document(std::string rows) {
  if (rows.ends_with(",\n")) rows.erase(rows.size() - 2, 1);
  return "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n" + rows + "]}\n";
}

std::string chrome_trace(const std::vector<TraceSpan>& spans) { return chrome_document(chrome_rows(spans)); }

}  // namespace titan::train
