#pragma once
// Generates tokens after a prompt with a stored model, in one process, for a model saved on any layout.
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
  std::vector<std::int64_t> prompt;  ///< not empty; ids in the vocabulary
  std::uint64_t most = 0;            ///< maximum number of new tokens
  SamplingSettings sampling;
  std::vector<std::int64_t> ends;  ///< stop tokens; they are not part of the text
  bool kv_cache = true;            ///< false: every new token recomputes all earlier tokens
  bool bf16 = false;               ///< true: computes in bfloat16, else in float32
  int threads = 1;
};

enum class GenerationEnd { kMost, kEndToken, kListener };

struct GenerationReport {
  std::vector<std::int64_t> tokens;  ///< new tokens
  GenerationEnd end = GenerationEnd::kMost;
  double load_s = 0, first_s = 0,
         rest_s = 0;  ///< seconds to read weights, then to the first new token, then to the last one
};

/// Called with each new token at once. Returns false to stop.
using TokenListener = std::function<bool(std::int64_t token)>;
/// Called when the weights are loaded, before the first token. The returned CancelToken is polled between tokens and
/// can stop the text.
using TokenGate = std::function<ckpt::CancelToken()>;

/// Generates. `rules` map the names of the weights. \error kIncompatible (weights that do not fit `dims`), kCorrupt,
/// kFailed (non-finite logits), kInterrupted, kTerminated; tokens already passed to the listener remain valid
ckpt::Result<GenerationReport> generate(const ckpt::WeightSource& source, const recipe::ModelDims& dims,
                                        const GenerationOptions& options, const TokenListener& listener,
                                        const TokenGate& gate, const recipe::NameRules& rules);

}  // namespace titan::train
