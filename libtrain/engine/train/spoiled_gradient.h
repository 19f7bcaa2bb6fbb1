#pragma once
// Fault injection for tests: writes a NaN into one rank's part of one gradient.
#include <optional>
#include <string>
#include <vector>

#include "ckpt/model/sample_range.h"
#include "libtrain/engine/exchange/owned_gradient.h"

namespace titan::recipe {
struct RunPlan;
}

namespace titan::train {

/// Set by the environment variable TITAN_SPOIL_GRADIENT = "RANK:FIRST-LAST:PARAMETER". It acts in every step that reads
/// one of the samples FIRST to LAST.
class SpoiledGradient {
 public:
  /// `text` is the variable's value; null: does nothing. Throws std::invalid_argument if it is malformed.
  SpoiledGradient(const char* text, int rank, const recipe::RunPlan& plan);
  void spoil(ckpt::SampleRange samples, std::vector<OwnedGradient>& grads) const;

 private:
  std::optional<std::uint32_t> parameter_;  // to be spoiled on this rank; none: on another rank
  ckpt::SampleRange samples_;
};

}  // namespace titan::train
