#include "libtrain/engine/pipeline/stage_pass.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/autograd.h>

#include <utility>

#include "libtrain/engine/device/device.h"

namespace titan::train {

at::Tensor StagePass::forward(const at::Tensor& input, const OnSegment& before) {
  at::Tensor x = input;
  for (std::size_t segment = 0; segment < stage_.segments(); ++segment) {
    device().keep_pace(kLaunchesOfLayer);
    if (before) before(segment);
    Kept kept{at::isFloatingType(x.scalar_type()) ? x.detach().requires_grad_(true) : x, {}};
    if (stage_.recomputes(segment)) {
      const at::NoGradGuard no_grad;
      x = stage_.run(segment, kept.input, nullptr, documents_);
    } else {
      kept.output = stage_.run(segment, kept.input, &gradients_, documents_);
      x = kept.output.detach();
    }
    kept_.push_back(std::move(kept));
  }
  return x;
}

at::Tensor StagePass::backward(at::Tensor grad, const OnSegment& after) {
  for (std::size_t segment = stage_.segments(); segment-- > 0;) {
    device().keep_pace(kLaunchesOfLayer);
    Kept kept = std::move(kept_.back());
    kept_.pop_back();
    if (!kept.output.defined()) kept.output = stage_.run_again(segment, kept.input, &gradients_, documents_);
    const std::vector<std::size_t>& parameters = stage_.own_parameters(segment);
    std::vector<at::Tensor> leaves;
    for (const std::size_t parameter : parameters) leaves.push_back(stage_.parameters()[parameter].compute);
    if (kept.input.requires_grad()) leaves.push_back(kept.input);
    std::vector<at::Tensor> grads = torch::autograd::grad({kept.output}, leaves, {grad});
    grad = kept.input.requires_grad() ? std::move(grads.back()) : at::Tensor();
    for (std::size_t i = 0; i < parameters.size(); ++i) gradients_.insert(parameters[i], std::move(grads[i]));
    if (after) after(segment);
  }
  return grad;
}

}  // namespace titan::train
