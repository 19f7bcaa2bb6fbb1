#pragma once
// Which token follows, given the logits of all: the greatest, or one that is drawn. Pure.
#include <cstdint>
#include <span>
#include <vector>

namespace titan::train {

struct SamplingSettings {
  double temperature = 0;   ///< 0: the greatest logit
  std::uint64_t top_k = 0;  ///< only the k most likely tokens; 0: all
  double top_p = 1;         ///< only the most likely tokens that have this probability together
  std::uint64_t seed = 0;
  bool operator==(const SamplingSettings&) const = default;
};

struct Candidate {
  std::int64_t token = 0;
  double weight = 0;  ///< relative to the most likely token's, which has 1
  bool operator==(const Candidate&) const = default;
};

/// The token with the greatest logit; of several the lowest id.
std::int64_t greatest(std::span<const float> logits);

/// The tokens that may be drawn at temperature > 0: temperature first, then top-k, then top-p, as transformers has it.
/// The most likely come first where one of the two cuts, of equal ones the lower id; else all in id order. The token
/// that reaches top_p is the last.
std::vector<Candidate> candidates(std::span<const float> logits, const SamplingSettings& settings);

/// Number `index` of the new tokens: a pure function of the logits, the settings and the index. Logits are finite, or
/// -inf.
std::int64_t next_token(std::span<const float> logits, const SamplingSettings& settings, std::uint64_t index);

}  // namespace titan::train
