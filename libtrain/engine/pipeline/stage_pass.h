#pragma once
// Forward and backward of one micro-batch through a stage, and the tensors kept in between.
#include <functional>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

#include "libtrain/engine/model/stage.h"
#include "libtrain/engine/pipeline/stage_gradients.h"

namespace titan::train {

class StagePass {
 public:
  /// `stage` and `gradients` must outlive the pass.
  StagePass(const Stage& stage, StageGradients& gradients, Documents documents = {})
      : stage_(stage), gradients_(gradients), documents_(std::move(documents)) {}

  using OnSegment = std::function<void(std::size_t segment)>;
  /// Runs the segments one by one. Calls before(segment), if given, before each. Returns the output of the last
  /// segment, detached from the autograd graph.
  at::Tensor forward(const at::Tensor& input, const OnSegment& before = {});
  /// Runs the segments backward, last first. `grad` is the gradient of the output. Each segment has an autograd graph
  /// of its own, which is freed after the segment. The gradients of a segment's parameters go to the StageGradients;
  /// then after(segment) is called, if given. Returns the gradient of the input; undefined if the input is tokens.
  at::Tensor backward(at::Tensor grad, const OnSegment& after = {});

 private:
  /// What the forward of a segment keeps for the backward.
  struct Kept {
    at::Tensor input;   ///< an autograd leaf that requires grad; tokens for the embedding
    at::Tensor output;  ///< with its graph; undefined if the backward recomputes the segment
  };
  const Stage& stage_;
  StageGradients& gradients_;
  Documents documents_;
  std::vector<Kept> kept_;
};

}  // namespace titan::train
