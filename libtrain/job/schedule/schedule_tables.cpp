// The orders of compute actions of each schedule, for shapes that recipe::check_shape accepts. Pure.
// \source the papers named at each; for p 2..8, v 1..4, m 1..32 the orders are those of torch 2.11
// (tests/interop/pipeline_oracle.py)

#include <algorithm>
#include <deque>

#include "libtrain/job/schedule/schedule.h"

namespace titan::train {
namespace {

using recipe::PipelineShape;
using recipe::Placement;

/// Writes one rank's row of a schedule, counting the micro-batches of each of its stages.
class RowWriter {
 public:
  RowWriter(const PipelineShape& shape, Placement placement, std::uint32_t rank)
      : forwards_(shape.chunks), backwards_(shape.chunks) {
    for (std::uint32_t chunk = 0; chunk < shape.chunks; ++chunk)
      stages_.push_back(recipe::stage_of_chunk(placement, shape.ranks, rank, chunk));
  }

  /// The next micro-batch of the rank's `chunk`-th stage.
  void forward(std::uint32_t chunk) { add(ActionKind::kForward, chunk, forwards_[chunk]++); }
  /// A whole backward (B).
  void backward(std::uint32_t chunk) { add(ActionKind::kBackward, chunk, backwards_[chunk]++); }
  /// An input backward (I); the weights' part waits for weight().
  void backward_input(std::uint32_t chunk) {
    waiting_.push_back({chunk, backwards_[chunk]});
    add(ActionKind::kBackwardInput, chunk, backwards_[chunk]++);
  }
  /// The weight backward (W) that has waited longest, of any stage or of one; nothing if none waits.
  void weight() { weight(waiting_.begin()); }
  void weight(std::uint32_t chunk) {
    weight(std::ranges::find_if(waiting_, [&](const Waiting& w) { return w.chunk == chunk; }));
  }

  std::uint32_t forwards(std::uint32_t chunk) const { return forwards_[chunk]; }
  bool waits() const { return !waiting_.empty(); }

  std::vector<Action> take() { return std::move(row_); }

 private:
  struct Waiting {
    std::uint32_t chunk, micro_batch;
  };
  void add(ActionKind kind, std::uint32_t chunk, std::uint32_t micro_batch) {
    row_.push_back({kind, stages_[chunk], micro_batch});
  }
  void weight(std::deque<Waiting>::iterator waiting) {
    if (waiting == waiting_.end()) return;
    add(ActionKind::kBackwardWeight, waiting->chunk, waiting->micro_batch);
    waiting_.erase(waiting);
  }

  std::vector<std::uint32_t> stages_;  ///< of the rank, by chunk
  std::vector<std::uint32_t> forwards_, backwards_;
  std::deque<Waiting> waiting_;
  std::vector<Action> row_;
};

/// One row for each rank: `write(writer, rank)`.
template <typename Write>
ScheduleTable write_rows(const PipelineShape& shape, Placement placement, const Write& write) {
  ScheduleTable table;
  for (std::uint32_t rank = 0; rank < shape.ranks; ++rank) {
    RowWriter writer(shape, placement, rank);
    write(writer, rank);
    table.push_back(writer.take());
  }
  return table;
}

/// The stage that a rank of an interleaved schedule works on: it cycles through its stages, `per_round` micro-batches
/// each; backwards in reverse order.
struct Rounds {
  std::uint32_t chunks, per_round;
  explicit Rounds(const PipelineShape& shape)
      : chunks(shape.chunks), per_round(shape.micro_batches / std::max(1U, shape.micro_batches / shape.ranks)) {}
  std::uint32_t forward(std::uint32_t number) const { return number / per_round % chunks; }
  std::uint32_t backward(std::uint32_t number) const { return chunks - 1 - forward(number); }
};

/// Number of forwards of a rank before its first backward: those of all its stages except the last, and `each_hop` for
/// each later rank.
std::uint32_t warm_up(const PipelineShape& shape, std::uint32_t rank, std::uint32_t each_hop) {
  const std::uint32_t forwards = (shape.chunks - 1) * Rounds(shape).per_round + each_hop * (shape.ranks - 1 - rank);
  return std::min(forwards, shape.chunks * shape.micro_batches);
}

/// All forwards, stage after stage, then all backwards. `newest_first`: backwards begin with the last micro-batch.
/// \source GPipe: Huang et al. 2019; LoopedBFS: Lamy-Poirier 2022
ScheduleTable breadth_first(const PipelineShape& shape, bool newest_first) {
  ScheduleTable table = write_rows(shape, Placement::kLoop, [&](RowWriter& row, std::uint32_t) {
    for (std::uint32_t chunk = 0; chunk < shape.chunks; ++chunk)
      for (std::uint32_t m = 0; m < shape.micro_batches; ++m) row.forward(chunk);
    for (std::uint32_t chunk = shape.chunks; chunk-- > 0;)
      for (std::uint32_t m = 0; m < shape.micro_batches; ++m) row.backward(chunk);
  });
  if (newest_first)
    for (std::vector<Action>& row : table)
      for (Action& action : row)
        if (action.kind == ActionKind::kBackward) action.micro_batch = shape.micro_batches - 1 - action.micro_batch;
  return table;
}

/// 1F1B: one forward, one backward. \source Narayanan et al. 2021 (PipeDream-Flush, Megatron-LM), section 2.2
ScheduleTable one_forward_one_backward(const PipelineShape& shape) {
  return write_rows(shape, Placement::kLoop, [&](RowWriter& row, std::uint32_t rank) {
    const std::uint32_t first = std::min(shape.micro_batches, shape.ranks - 1 - rank);
    for (std::uint32_t i = 0; i < first; ++i) row.forward(0);
    for (std::uint32_t i = 0; i < shape.micro_batches; ++i) {
      if (row.forwards(0) < shape.micro_batches) row.forward(0);
      row.backward(0);
    }
  });
}

/// Interleaved1F1B: 1F1B with several stages on each rank. \source Narayanan et al. 2021, section 2.2.2
/// `split`: InterleavedZeroBubble, gradients of weights are delayed by as many backwards as the rank's number; with one
/// stage per rank it is ZB-H1. \source Qi et al. 2024, "Zero Bubble Pipeline Parallelism", sections 2 and 3
ScheduleTable in_rounds(const PipelineShape& shape, bool split) {
  const Rounds rounds(shape);
  return write_rows(shape, Placement::kLoop, [&](RowWriter& row, std::uint32_t rank) {
    const std::uint32_t all = shape.chunks * shape.micro_batches, first = warm_up(shape, rank, split ? 1 : 2);
    for (std::uint32_t i = 0; i < first; ++i) row.forward(rounds.forward(i));
    for (std::uint32_t i = 0; i < all; ++i) {
      if (first + i < all) row.forward(rounds.forward(first + i));
      if (split) row.backward_input(rounds.backward(i));
      if (!split) row.backward(rounds.backward(i));
      if (split && i >= rank) row.weight();
    }
    while (row.waits()) row.weight();
  });
}

/// ZBVZeroBubble: two stages per rank, placed in a V. \source Qi et al. 2024, section 6
ScheduleTable zero_bubble_v(const PipelineShape& shape) {
  const std::uint32_t ranks = shape.ranks;
  // The phases below need this many micro-batches; surplus ones are dropped at the end.
  const std::uint32_t count = std::max(2 * ranks - 1, shape.micro_batches);
  ScheduleTable table = write_rows(shape, Placement::kV, [&](RowWriter& row, std::uint32_t rank) {
    const auto whole_backward = [&](std::uint32_t chunk) {
      row.backward_input(chunk);
      row.weight(chunk);
    };
    for (std::uint32_t i = 0; i < 2 * (ranks - rank) - 1; ++i) row.forward(0);
    for (std::uint32_t i = 0; i < rank; ++i) {
      row.forward(1);
      row.forward(0);
    }
    for (std::uint32_t i = rank; i < ranks; ++i) {
      row.forward(1);
      whole_backward(1);
    }
    while (row.forwards(1) < row.forwards(0) || row.forwards(0) < count) {
      if (row.forwards(0) < count) row.forward(0);
      whole_backward(0);
      row.forward(1);
      whole_backward(1);
    }
    for (std::uint32_t i = 0; i < rank; ++i) {
      row.backward_input(0);
      row.backward_input(1);
    }
    for (std::uint32_t i = rank; i < ranks; ++i) {
      row.backward_input(0);
      row.weight(0);
    }
    for (const std::uint32_t chunk : {1U, 0U})
      for (std::uint32_t i = 0; i < ranks; ++i) row.weight(chunk);
  });
  for (std::vector<Action>& row : table)
    std::erase_if(row, [&](const Action& action) { return action.micro_batch >= shape.micro_batches; });
  return table;
}

/// DualPipeV: DeepSeek's DualPipe in a V, as a plain order of actions: a forward and a backward that DualPipe overlaps
/// come one after the other. \source DeepSeek-V3, 2024; github.com/deepseek-ai/DualPipe
ScheduleTable dual_pipe_v(const PipelineShape& shape) {
  const std::uint32_t ranks = shape.ranks;
  return write_rows(shape, Placement::kV, [&](RowWriter& row, std::uint32_t rank) {
    const std::uint32_t after = ranks - rank - 1;
    const auto one_of_each = [&](std::uint32_t forward, std::uint32_t backward) {
      row.forward(forward);
      row.backward(backward);
    };
    for (std::uint32_t i = 0; i < 2 * after; ++i) row.forward(0);
    for (std::uint32_t i = 0; i <= rank; ++i) {
      row.forward(0);
      row.forward(1);
    }
    for (std::uint32_t i = 0; i < after; ++i) {
      row.backward_input(1);
      row.weight();
      row.forward(1);
    }
    for (std::uint32_t i = 0; i < shape.micro_batches - 2 * ranks + rank + 1; ++i) {
      one_of_each(0, 1);
      one_of_each(1, 0);
    }
    for (std::uint32_t i = 0; i < after; ++i) {
      row.backward(1);
      one_of_each(1, 0);
    }
    // Half of the rest: from here on, weight backwards wait.
    const std::uint32_t whole = rank + 1;
    for (std::uint32_t i = 0; i < 2 * whole; ++i) {
      const std::uint32_t chunk = i % 2 == 0 ? 1 : 0;
      if (i < whole) row.backward(chunk);
      if (i >= whole) row.backward_input(chunk);
    }
    for (std::uint32_t i = 0; i < after; ++i) {
      row.weight();
      row.backward_input(0);
    }
    while (row.waits()) row.weight();
  });
}

}  // namespace

ckpt::Result<ScheduleTable> make_schedule(recipe::ScheduleKind kind, const recipe::PipelineShape& shape) {
  using enum recipe::ScheduleKind;
  TITAN_RETURN_IF_ERROR(recipe::check_shape(kind, shape));
  switch (kind) {
    case kGPipe: return breadth_first(shape, false);
    case kLoopedBfs: return breadth_first(shape, true);
    case k1F1B: return one_forward_one_backward(shape);
    case kInterleaved1F1B: return in_rounds(shape, false);
    case kZbH1:
    case kInterleavedZeroBubble: return in_rounds(shape, true);
    case kZbvZeroBubble: return zero_bubble_v(shape);
    case kDualPipeV: return dual_pipe_v(shape);
  }
  return ckpt::invalid("unknown schedule");
}

}  // namespace titan::train
