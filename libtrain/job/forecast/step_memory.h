#pragma once
// What gradient sums and activations of a rank hold at the worst moment of a step: its row of the schedule is walked,
// action by action. Pure.
#include <cstdint>
#include <span>
#include <vector>

#include "libtrain/job/order/tree.h"
#include "libtrain/job/schedule/schedule.h"

namespace titan::train {

/// What one stage of the rank needs, in bytes.
struct StageBytes {
  std::uint32_t stage = 0;  ///< of the model
  /// Of one micro-batch between its forward and its backward, and between I and W.
  std::uint64_t flight = 0, operands = 0;
  /// On top while a forward computes, and while the backward of the highest layer does.
  std::uint64_t forward = 0, backward = 0;
  /// Of a micro-batch whose backward is at the lowest layer, and at the last gradient.
  std::uint64_t lowest = 0, last = 0;
  /// One gradient sum of the stage without its head's, which the forward gives; the part of it that is given after the
  /// other layers', and the part that is given last.
  std::uint64_t sum = 0, head_sum = 0, lowest_sum = 0, last_sum = 0;
  /// What the rank owns of a sum, where gradients go to their owners at once.
  std::uint64_t owned = 0;
};

/// How micro-batches become sums.
struct SumOrder {
  std::uint32_t count = 0;  ///< micro-batches of the step
  Share share;              ///< those of the rank
  /// Of a domain, which exchange each micro-batch at once; 0: sums stay until the end of the step.
  std::uint32_t ranks = 0;
};

struct StepBytes {
  std::uint64_t sums = 0, activations = 0;
  std::uint64_t total() const { return sums + activations; }
};

/// At the moment in which both together are most. `row` may have micro-batches that the rank has not.
StepBytes peak_of_row(std::span<const Action> row, const std::vector<StageBytes>& stages, const SumOrder& order);

/// No less than that, for a row that is too long to walk: with at most `in_flight` pairs of stage and micro-batch at
/// once, and at most `sums` of a tree.
StepBytes bound_of_row(std::uint32_t in_flight, std::uint32_t sums, const std::vector<StageBytes>& stages,
                       const SumOrder& order);

}  // namespace titan::train
