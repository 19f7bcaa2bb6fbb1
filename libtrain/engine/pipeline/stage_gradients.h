#pragma once
// Adds the gradients of one stage, micro-batch by micro-batch, to the canonical sums (TreeSum), each as soon as it is
// computed.
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
  /// From now on gradients belong to `micro_batch` and are inserted into `sums`, which has one entry per parameter of
  /// the stage. If `later` is given, weight products are not computed but appended to `later`, for multiply().
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
  /// Computes `products` in order and inserts the results; begin() must have set their micro-batch. After each product
  /// it frees the operands and calls after().
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
