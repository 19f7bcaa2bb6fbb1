#pragma once
// Fault injection for tests: writes a NaN into one rank's part of one gradient.
#include <optional>
#include <vector>

#include "ckpt/model/sample_range.h"
#include "libtrain/engine/exchange/owned_gradient.h"

namespace titan::recipe {
struct RunPlan;
}

namespace titan::train {

/// Configured by the environment variable TITAN_SPOIL_GRADIENT = "RANK:FIRST-LAST:PARAMETER". In every step that reads
/// one of the samples FIRST to LAST, rank RANK's part of the gradient of PARAMETER gets a NaN.
class SpoiledGradient {
 public:
  /// `text` is the variable's value; null: spoil() does nothing. `rank` is this rank. \error std::invalid_argument if
  /// `text` is malformed
  SpoiledGradient(const char* text, int rank, const recipe::RunPlan& plan);
  /// Writes the NaN to `grads`, the gradients of a step that has read `samples`, if configured for this rank and step.
  void spoil(ckpt::SampleRange samples, std::vector<OwnedGradient>& grads) const;

 private:
  std::optional<std::uint32_t> parameter_;  // the parameter to spoil; nullopt: none on this rank
  ckpt::SampleRange samples_;
};

}  // namespace titan::train
