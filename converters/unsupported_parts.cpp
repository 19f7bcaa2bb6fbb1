#include "converters/unsupported_parts.h"

#include "ckpt/plan/lr_settings.h"

namespace titan::convert {
namespace {

bool says(const ckpt::Settings& rows, const char* key) {
  const std::string value = ckpt::setting(rows, key);
  return value != ckpt::kNotSet && value != "false" && value != "0";
}

}  // namespace

const char* newer_tensors(const ckpt::Settings& rows) {
  if (says(rows, "model.n_experts")) return "experts";
  if (says(rows, "model.post_norm")) return "norms of what comes out of attention and feed-forward";
  return says(rows, "model.whole_qk_norm") ? "norms over all queries and keys of a token" : nullptr;
}

const char* newer_part(const ckpt::Settings& rows) {
  return says(rows, "model.sliding_window") ? "a sliding window" : newer_tensors(rows);
}

}  // namespace titan::convert
