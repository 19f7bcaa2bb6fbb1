#pragma once
// Copies weights from their owners to the compute copies of all ranks of a stage, part by part.
#include <cstddef>
#include <cstdint>
#include <vector>

#include "libtrain/engine/exchange/exchange_setup.h"

namespace titan::train {

class WeightCopies {
 public:
  /// `setup` must outlive the object.
  explicit WeightCopies(const ExchangeSetup& setup);

  /// The compute copy of a parameter as a 1-D tensor. Before send(), the caller must write the elements that this rank
  /// owns to it.
  const at::Tensor& copy_of(std::uint32_t parameter) const { return weights_[setup_.summand_of.at(parameter)]; }
  /// Copies a part's weights from their owners to all ranks of the stage. Call it for all parts, in order. If a tied
  /// head is on another rank than its embedding, the call for the last part also sends the weight to the head.
  /// Collective.
  void send(std::size_t part);
  /// See StepExchange::await_weights() and StepExchange::await_copies().
  void await(std::uint32_t stage, std::size_t place) const;
  void await_all() const;

 private:
  void copy_rows(std::size_t part) const;

  const ExchangeSetup& setup_;
  Summands weights_;               ///< the compute copies, 1-D
  std::vector<std::size_t> sent_;  ///< per part: number of lane items after which the part has arrived
};

}  // namespace titan::train
