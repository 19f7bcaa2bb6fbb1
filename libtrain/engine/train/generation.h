#pragma once
// Tokens that a stored model writes behind a prompt, in one process, whatever the layout it was saved on.
#include <cstdint>
#include <functional>
#include <vector>

#include "ckpt/base/cancel.h"
#include "ckpt/read/weight_source.h"
#include "libtrain/job/sample/sampler.h"

namespace titan::recipe {
struct ModelDims;
}

namespace titan::train {

struct GenerationOptions {
  std::vector<std::int64_t> prompt;  ///< not empty, ids of the vocabulary
  std::uint64_t most = 0;            ///< new tokens
  SamplingSettings sampling;
  std::vector<std::int64_t> ends;  ///< tokens that end the text; they are not part of it
  bool kv_cache = true;            ///< else every token computes all before it again
  bool bf16 = false;               ///< computes in bfloat16, else in float32
  int threads = 1;
};

enum class GenerationEnd { kMost, kEndToken, kListener };

struct GenerationReport {
  std::vector<std::int64_t> tokens;  ///< the new ones
  GenerationEnd end = GenerationEnd::kMost;
  double load_s = 0, first_s = 0, rest_s = 0;  ///< reading weights; until the first new token; until the last
};

/// Hears of each new token at once; false: no more are wanted.
using TokenListener = std::function<bool(std::int64_t token)>;
/// Called when the weights are there, before the first token; gives what ends the writing between two tokens.
using TokenGate = std::function<ckpt::CancelToken()>;

/// `rules`: for the names of the weights.
/// \error kIncompatible (weights that are not those of `dims`), kCorrupt, kFailed (logits that are not finite),
/// kInterrupted, kTerminated: what the listener has heard stands
ckpt::Result<GenerationReport> generate(const ckpt::WeightSource& source, const recipe::ModelDims& dims,
                                        const GenerationOptions& options, const TokenListener& listener,
                                        const TokenGate& gate, const recipe::NameRules& rules);

}  // namespace titan::train
