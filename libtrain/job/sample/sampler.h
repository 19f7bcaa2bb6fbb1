#pragma once
// Samples the next token from the logits: greedy, or drawn. Pure.
#include <cstdint>
#include <span>
#include <vector>

namespace titan::train {

struct SamplingSettings {
  double temperature = 0;   ///< 0: greedy
  std::uint64_t top_k = 0;  ///< only the k most likely tokens; 0: all
  double top_p = 1;         ///< only the most likely tokens, up to this total probability
  std::uint64_t seed = 0;
  bool operator==(const SamplingSettings&) const = default;
};

struct Candidate {
  std::int64_t token = 0;
  double weight = 0;  ///< relative to the most likely token, which has weight 1
  bool operator==(const Candidate&) const = default;
};

/// The token with the greatest logit; among equal ones the lowest id.
std::int64_t greatest(std::span<const float> logits);

/// The tokens that may be drawn at temperature > 0: temperature first, then top-k, then top-p, as in transformers. If
/// top-k or top-p cuts, the most likely token comes first (lower id first among equals); otherwise all are in id order.
/// The token that reaches top_p is the last one.
std::vector<Candidate> candidates(std::span<const float> logits, const SamplingSettings& settings);

/// New token number `index`: a pure function of the arguments. Logits must be finite or -inf.
std::int64_t next_token(std::span<const float> logits, const SamplingSettings& settings, std::uint64_t index);

}  // namespace titan::train
