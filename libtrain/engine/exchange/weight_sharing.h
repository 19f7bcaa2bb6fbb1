#pragma once
// Weights from their owners to the compute copies of all ranks of a stage, part by part.
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "libtrain/engine/exchange/exchange_setup.h"

namespace titan::train {

class WeightSharing {
 public:
  /// `setup` must outlive it.
  explicit WeightSharing(const ExchangeSetup& setup);

  /// The compute copy of a parameter, flat: what this rank owns of it is put in before share().
  const at::Tensor& copy_of(std::uint32_t parameter) const { return weights_[setup_.slot_of.at(parameter)]; }
  /// Brings a part of what each rank owns to all. All parts, in order; after the last one the tied table travels.
  void share(std::size_t part);
  /// Before somebody computes with the weights of a stage up to and with those at `place` of its parameters.
  void await(std::uint32_t stage, std::size_t place) const;
  /// Before somebody uses any weights; gradients in turns may travel on.
  void await_all() const;

 private:
  void share_rows(std::size_t part) const;

  const ExchangeSetup& setup_;
  Slots weights_;                    ///< compute copies, flat
  std::vector<std::size_t> shared_;  ///< works of the lane after which a part is here
};

}  // namespace titan::train
