#pragma once
// A fault on purpose, for tests: one rank gets a NaN into its part of one gradient.
#include <optional>
#include <string>
#include <vector>

#include "ckpt/model/sample_range.h"
#include "libtrain/engine/exchange/owned_gradient.h"

namespace titan::recipe {
struct RunPlan;
}

namespace titan::train {

/// Asked for by the environment variable TITAN_SPOIL_GRADIENT = "RANK:FIRST-LAST:PARAMETER": in every step that reads
/// one of these samples.
class SpoiledGradient {
 public:
  /// `text`: the variable; null: nothing is spoiled. Throws std::invalid_argument where it is malformed.
  SpoiledGradient(const char* text, int rank, const recipe::RunPlan& plan);
  void spoil(ckpt::SampleRange samples, std::vector<OwnedGradient>& grads) const;

 private:
  std::optional<std::uint32_t> parameter_;  // of this rank's gradients; none: another rank's
  ckpt::SampleRange samples_;
};

}  // namespace titan::train
