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
  /// Runs the segments one by one, and calls before(segment), if given, before each. Returns the output of the last
  /// segment, detached from the graph.
  at::Tensor forward(const at::Tensor& input, const OnSegment& before = {});
  /// Runs the segments backward, each in a graph of its own that is freed with the segment. `grad` is the gradient of
  /// the output. After each segment, its parameters' gradients are given to the StageGradients, and after(segment) is
  /// called. Returns the gradient of the input, undefined if the input is tokens.
  at::Tensor backward(at::Tensor grad, const OnSegment& after = {});

 private:
  struct Kept {
    at::Tensor input;   ///< a leaf that requires grad; tokens for the embedding
    at::Tensor output;  ///< undefined if the forward is recomputed
  };
  const Stage& stage_;
  StageGradients& gradients_;
  Documents documents_;
  std::vector<Kept> kept_;
};

}  // namespace titan::train
