#pragma once
// Adds the gradients of one stage and micro-batch to the canonical sums, each as soon as it is computed.
#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "libtrain/engine/exchange/tree_sum.h"
#include "libtrain/engine/model/functions/gradient_sink.h"

namespace titan::train {

class StageGradients final : public GradientSink {
 public:
  /// From now on gradients belong to `micro_batch` and go into `sums`, which has one entry per parameter of the stage.
  /// Weight products go to `later`, if given, until multiply() computes them.
  void begin(std::span<TreeSum> sums, std::uint32_t micro_batch, std::vector<WeightProduct>* later = nullptr) {
    sums_ = sums;
    micro_batch_ = micro_batch;
    later_ = later;
  }
  void insert(std::size_t parameter, at::Tensor gradient) {
    sums_[parameter].insert(micro_batch_, std::move(gradient));
  }
  void take(WeightProduct product) override {
    if (later_ == nullptr) return insert(product.parameter, product.multiply());
    later_->push_back(std::move(product));
  }
  void note_balance(at::Tensor loss) override { balance_.push_back(std::move(loss)); }
  /// Returns and removes the load-balancing losses given to note_balance().
  std::vector<at::Tensor> take_balance() { return std::exchange(balance_, {}); }
  /// Computes and inserts the gradients of `products`, in the order in which the backward gave them: last layer first.
  /// Call begin() for their micro-batch before. Frees the operands of each product once it is computed, then calls
  /// after().
  template <typename After>
  void multiply(std::vector<WeightProduct> products, const After& after) {
    std::ranges::reverse(products);
    while (!products.empty()) {
      const WeightProduct product = std::move(products.back());
      products.pop_back();
      insert(product.parameter, product.multiply());
      after();
    }
  }

 private:
  std::span<TreeSum> sums_;
  std::uint32_t micro_batch_ = 0;
  std::vector<WeightProduct>* later_ = nullptr;
  std::vector<at::Tensor> balance_;
};

}  // namespace titan::train
