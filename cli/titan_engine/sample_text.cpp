#include "cli/kit/text.h"
#include "cli/kit/units.h"
#include "cli/titan_engine/sample.h"

namespace titan::cli {

const char* sample_end(const SampleReport& report) {
  if (report.stopped) return "stop";
  return report.generation.end == train::GenerationEnd::kEndToken ? "end_token" : "max_new_tokens";
}

std::string sample_line(const SampleReport& report) {
  const train::GenerationReport& g = report.generation;
  const std::size_t tokens = g.tokens.size();
  const double seconds = g.first_s + g.rest_s;
  std::string line = escape(report.checkpoint) + (report.step > 0 ? " step " + std::to_string(report.step) : "") +
                     ": " + format_count(tokens) + (tokens == 1 ? " token" : " tokens");
  if (tokens > 0 && seconds > 0)
    line += ", " + format_count(static_cast<std::uint64_t>(static_cast<double>(tokens) / seconds + 0.5)) + "/s";
  if (report.options.sampling.temperature > 0) line += ", seed " + std::to_string(report.options.sampling.seed);
  if (report.stopped) return line + "; ended by --stop";
  if (g.end == train::GenerationEnd::kEndToken) return line + "; the model ended the text";
  return line + (report.most_given ? "; ended by --max-new-tokens"
                                   : "; ended at the usual length (--max-new-tokens writes more)");
}

}  // namespace titan::cli
