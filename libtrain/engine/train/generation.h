#pragma once
// Generates text with a stored model: new tokens after a prompt, in one process, whatever layout the model was saved
// on.
#include <cstdint>
#include <functional>
#include <vector>

#include "ckpt/base/cancel.h"
#include "ckpt/read/weight_source.h"
#include "libtrain/job/sample/sampler.h"

namespace titan::recipe {
struct ModelDims;
}

namespace titan::recipe {
struct NameRules;
}

namespace titan::train {

/// What to generate, and how.
struct GenerationOptions {
  std::vector<std::int64_t> prompt;  ///< not empty; ids in the vocabulary
  std::uint64_t most = 0;            ///< maximum number of new tokens
  SamplingSettings sampling;
  std::vector<std::int64_t> ends;  ///< stop tokens: generation ends before the first of them
  bool kv_cache = true;            ///< false: all earlier tokens are recomputed for every new token
  bool bf16 = false;               ///< compute in bf16 instead of fp32
  int threads = 1;
};

/// Why generation ended: after GenerationOptions::most tokens, at a stop token, or because the listener returned false.
enum class GenerationEnd { kMost, kEndToken, kListener };

/// The result of generate().
struct GenerationReport {
  std::vector<std::int64_t> tokens;  ///< new tokens
  GenerationEnd end = GenerationEnd::kMost;
  double load_s = 0, first_s = 0,
         rest_s = 0;  ///< seconds to read weights, then to the first new token, then to the last one
};

/// Called with each new token as soon as it is known. Returns false to end the generation.
using TokenListener = std::function<bool(std::int64_t token)>;
/// Called once, after the weights are loaded and before the first token. The CancelToken that it returns is checked
/// before each token.
using TokenGate = std::function<ckpt::CancelToken()>;

/// Generates tokens with `source`, a model of dimensions `dims`. `rules` map the names of the weights to Titan's.
/// `gate` may be empty. \error kIncompatible (weights that do not fit `dims`), kInvalid (`rules` that a Titan
/// checkpoint cannot have), kCorrupt, kFailed (non-finite logits), kInterrupted, kTerminated. Tokens that the listener
/// got before an error are valid
ckpt::Result<GenerationReport> generate(const ckpt::WeightSource& source, const recipe::ModelDims& dims,
                                        const GenerationOptions& options, const TokenListener& listener,
                                        const TokenGate& gate, const recipe::NameRules& rules);

}  // namespace titan::train
