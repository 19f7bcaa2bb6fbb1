#include "cli/kit/json_out.h"
#include "cli/titan_engine/sample.h"

namespace titan::cli {
namespace {

void ids(JsonOut& json, const char* key, const std::vector<std::int64_t>& tokens) {
  json.begin_array(key);
  for (const std::int64_t token : tokens) json.count(static_cast<std::uint64_t>(token));
  json.end_array();
}

}  // namespace

std::string sample_json(const SampleReport& report) {
  const train::SamplingSettings& sampling = report.options.sampling;
  const train::GenerationReport& g = report.generation;
  JsonOut json("titan.sample/1");
  json.path("checkpoint", report.checkpoint);
  json.members("id", report.id, "step", report.step);
  ids(json, "prompt_ids", report.options.prompt);
  ids(json, "ids", g.tokens);
  if (report.prompt) json.text("prompt", *report.prompt);
  if (report.text) json.text("text", *report.text);
  json.members("end", sample_end(report), "temperature", sampling.temperature);
  if (sampling.temperature > 0) {
    json.members("top_k", sampling.top_k, "top_p", sampling.top_p, "seed", sampling.seed);
  }
  json.members("dtype", report.dtype, "kv_cache", report.options.kv_cache);
  json.members("threads", static_cast<std::uint64_t>(report.options.threads), "load_s", g.load_s);
  json.members("first_token_s", g.first_s, "other_tokens_s", g.rest_s);
  return json.document();
}

}  // namespace titan::cli
