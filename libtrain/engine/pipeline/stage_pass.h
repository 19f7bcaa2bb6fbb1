#pragma once
// One micro-batch on its way through a stage: what its segments keep between forward and backward.
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
  /// Runs the segments one by one, each after before(segment), if given. Returns the output of the last, cut off from
  /// the graph.
  at::Tensor forward(const at::Tensor& input, const OnSegment& before = {});
  /// Runs the segments backward, each in a graph of its own that goes with it. `grad` is that of the output. Gradients
  /// of parameters go where they belong at once, then after(segment) is called; that of the input is returned,
  /// undefined for tokens.
  at::Tensor backward(at::Tensor grad, const OnSegment& after = {});

 private:
  struct Kept {
    at::Tensor input;   ///< a leaf that requires grad; tokens for the embedding
    at::Tensor output;  ///< undefined where the forward runs again
  };
  const Stage& stage_;
  StageGradients& gradients_;
  Documents documents_;
  std::vector<Kept> kept_;
};

}  // namespace titan::train
