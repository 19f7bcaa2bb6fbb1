#include "libtrain/job/metrics/chrome_trace.h"

#include <set>

#include "ckpt/format/json_writer.h"
#include "libtrain/job/metrics/json_text.h"

namespace titan::train {

std::string chrome_rows(const std::vector<TraceSpan>& spans, const std::string& title) {
  std::string rows;
  std::set<int> ranks;
  for (const TraceSpan& span : spans) ranks.insert(span.rank);
  for (const int rank : ranks)
    rows += "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":" + std::to_string(rank) +
            ",\"args\":{\"name\":" + ckpt::json_string(title + ", rank " + std::to_string(rank)) + "}},\n";
  for (const TraceSpan& span : spans)
    rows += "{\"ph\":\"X\",\"name\":" + ckpt::json_string(span.name) + ",\"cat\":" + ckpt::json_string(span.category) +
            ",\"pid\":" + std::to_string(span.rank) + ",\"tid\":0,\"ts\":" + json_number(span.start_us) +
            ",\"dur\":" + json_number(span.duration_us) + "},\n";
  return rows;
}

std::string chrome_document(std::string rows) {
  if (!rows.empty()) rows.erase(rows.size() - 2, 1);  // the last comma
  return "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n" + rows + "]}\n";
}

std::string chrome_trace(const std::vector<TraceSpan>& spans, const std::string& title) {
  return chrome_document(chrome_rows(spans, title));
}

}  // namespace titan::train
