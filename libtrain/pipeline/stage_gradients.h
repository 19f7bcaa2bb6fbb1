#pragma once
// Takes the gradients of one stage and micro-batch into the canonical sums, each as soon as it exists.
#include <cstdint>
#include <span>

#include "libtrain/model/functions/gradient_sink.h"
#include "libtrain/reduce/tree_sum.h"

namespace titan::train {

class StageGradients final : public GradientSink {
 public:
  /// From here on gradients are those of `micro_batch`, and go into `sums`: one per parameter of the stage.
  void begin(std::span<TreeSum> sums, std::uint32_t micro_batch) {
    sums_ = sums;
    micro_batch_ = micro_batch;
  }
  void insert(std::size_t parameter, at::Tensor gradient) {
    sums_[parameter].insert(micro_batch_, std::move(gradient));
  }
  void take(WeightProduct product) override { insert(product.parameter, product.multiply()); }

 private:
  std::span<TreeSum> sums_;
  std::uint32_t micro_batch_ = 0;
};

}  // namespace titan::train
