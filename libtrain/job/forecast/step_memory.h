#pragma once
// Peak bytes of a rank's gradient sums and activations in a step, found by walking the rank's row of the schedule
// action by action. Pure.
#include <cstdint>
#include <span>
#include <vector>

#include "libtrain/job/reduction/tree.h"
#include "libtrain/job/schedule/schedule.h"

namespace titan::train {

/// What one stage of the rank needs, in bytes.
struct StageBytes {
  std::uint32_t stage = 0;  ///< number of the stage in the model
  /// Activations of one micro-batch, held between its forward and its backward (`flight`), and between actions I and W
  /// (`operands`).
  std::uint64_t flight = 0, operands = 0;
  /// Additional activations while a forward computes, and while the backward of the highest layer computes.
  std::uint64_t forward = 0, backward = 0;
  /// Activations of a micro-batch whose backward computes the lowest layer (`lowest`) or its last gradient (`last`).
  std::uint64_t lowest = 0, last = 0;
  /// Gradients of a micro-batch: `head_sum` of the head, produced in the forward; `sum` of all other parameters of the
  /// stage; `lowest_sum`, a part of `sum`, of its lowest layer and the embedding; `last_sum` of the parameter that is
  /// last. With exchanges in turns (after each micro-batch), `sum` is what exists at once.
  std::uint64_t sum = 0, head_sum = 0, lowest_sum = 0, last_sum = 0;
  /// The part of a sum that the rank owns, if gradients are exchanged in turns (after each micro-batch).
  std::uint64_t owned = 0;
};

/// How gradients of micro-batches are summed.
struct SumOrder {
  std::uint32_t count = 0;  ///< micro-batches of the step
  Share share;              ///< the rank's micro-batches
  /// Number of ranks in a domain that exchanges after each micro-batch; 0: sums stay until the end of the step.
  std::uint32_t ranks = 0;
};

struct StepBytes {
  std::uint64_t sums = 0, activations = 0;
  std::uint64_t total() const { return sums + activations; }
};

/// Bytes at the moment at which sums and activations together are largest. `row` may contain micro-batches that the
/// rank does not have.
StepBytes peak_of_row(std::span<const Action> row, const std::vector<StageBytes>& stages, const SumOrder& order);

/// An upper bound of peak_of_row(), for a row that is too long to walk: with at most `in_flight` pairs of stage and
/// micro-batch at once, and at most `sums` sums of a tree.
StepBytes bound_of_row(std::uint32_t in_flight, std::uint32_t sums, const std::vector<StageBytes>& stages,
                       const SumOrder& order);

}  // namespace titan::train
