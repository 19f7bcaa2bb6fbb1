#pragma once
// Copies weights from their owners to the compute copies of all ranks of a stage, part by part.
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "libtrain/engine/exchange/exchange_setup.h"

namespace titan::train {

class WeightSharing {
 public:
  /// `setup` must outlive the object.
  explicit WeightSharing(const ExchangeSetup& setup);

  /// The compute copy of a parameter as a 1-D tensor. The caller writes the elements that this rank owns into it before
  /// share().
  const at::Tensor& copy_of(std::uint32_t parameter) const { return weights_[setup_.slot_of.at(parameter)]; }
  /// Copies a part's weights from their owners to all ranks. Call it for all parts, in order; the last call also sends
  /// a tied embedding to its head.
  void share(std::size_t part);
  /// Returns when the weights of a stage's parameters 0 to `place` (inclusive) may be used.
  void await(std::uint32_t stage, std::size_t place) const;
  /// Returns when all weights may be used. Gradients that are exchanged in turns may still be in transit.
  void await_all() const;

 private:
  void share_rows(std::size_t part) const;

  const ExchangeSetup& setup_;
  Slots weights_;                    ///< compute copies, flat
  std::vector<std::size_t> shared_;  ///< per part: number of lane items after which the part has arrived
};

}  // namespace titan::train
