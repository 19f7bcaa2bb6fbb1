#include "libtrain/engine/train/spoiled_gradient.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <limits>
#include <stdexcept>

#include "ckpt/base/text.h"
#include "recipe/plan/plan_values.h"

namespace titan::train {

SpoiledGradient::SpoiledGradient(const char* text, int rank, const recipe::RunPlan& plan) {
  if (text == nullptr) return;
  const std::vector<std::string> parts = ckpt::split(text, ':');
  const auto samples = parts.size() == 3 ? ckpt::parse_range(parts[1]) : std::nullopt;
  const auto found = parts.size() == 3 ? std::ranges::find(plan.parameters, parts[2], &ckpt::ParameterMeta::name)
                                       : plan.parameters.end();
  if (!samples || found == plan.parameters.end())
    throw std::invalid_argument("TITAN_SPOIL_GRADIENT: expected RANK:FIRST-LAST:PARAMETER, found " + std::string(text));
  samples_ = *samples;
  if (ckpt::number_of<int>(parts[0]) == rank) parameter_ = static_cast<std::uint32_t>(found - plan.parameters.begin());
}

void SpoiledGradient::spoil(ckpt::SampleRange samples, std::vector<OwnedGradient>& grads) const {
  if (!parameter_ || samples.first >= samples_.end() || samples_.first >= samples.end()) return;
  for (OwnedGradient& grad : grads)
    if (grad.piece.parameter == *parameter_) grad.grad[0] = std::numeric_limits<float>::quiet_NaN();
}

}  // namespace titan::train
