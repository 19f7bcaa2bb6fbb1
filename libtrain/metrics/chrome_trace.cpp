#include "libtrain/metrics/chrome_trace.h"

#include <set>

#include "ckpt/format/json_writer.h"
#include "libtrain/metrics/json_text.h"

namespace titan::train {

std::string chrome_trace(const std::vector<TraceSpan>& spans, const std::string& title) {
  std::string out = "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[";
  std::set<int> ranks;
  for (const TraceSpan& span : spans) ranks.insert(span.rank);
  const char* comma = "\n";
  for (const int rank : ranks) {
    out += comma + std::string("{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":") + std::to_string(rank) +
           ",\"args\":{\"name\":" + ckpt::json_string(title + ", rank " + std::to_string(rank)) + "}}";
    comma = ",\n";
  }
  for (const TraceSpan& span : spans) {
    out += comma + std::string("{\"ph\":\"X\",\"name\":") + ckpt::json_string(span.name) +
           ",\"cat\":" + ckpt::json_string(span.category) + ",\"pid\":" + std::to_string(span.rank) +
           ",\"tid\":0,\"ts\":" + json_number(span.start_us) + ",\"dur\":" + json_number(span.duration_us) + "}";
    comma = ",\n";
  }
  return out + "\n]}\n";
}

}  // namespace titan::train
