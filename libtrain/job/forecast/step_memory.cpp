#include "libtrain/job/forecast/step_memory.h"

#include <algorithm>
#include <stdexcept>

#include "libtrain/job/reduction/tree_count.h"

namespace titan::train {
namespace {

/// Walks a rank's row of the schedule.
class Walk {
 public:
  Walk(const std::vector<StageBytes>& stages, const SumOrder& order) : order_(order) {
    const TreeCount empty(order.count, order.share.block);
    for (const StageBytes& bytes : stages) stages_.push_back({bytes, empty, empty});
  }

  void act(const Action& action) {
    Held& held = of(action.stage);
    const StageBytes& bytes = held.bytes;
    const bool mine = action.micro_batch < order_.share.count;
    if (action.kind == ActionKind::kForward && mine) {
      activations_ += bytes.flight;
      look(0, bytes.forward);
      add_head(held, action.micro_batch);
    } else if (action.kind == ActionKind::kBackwardInput && mine) {
      look(0, bytes.backward);
      activations_ -= bytes.flight;
      activations_ += bytes.operands;
    } else if (action.kind == ActionKind::kBackward || action.kind == ActionKind::kBackwardWeight) {
      if (mine) {
        const bool whole = action.kind == ActionKind::kBackward;
        look(0, whole ? bytes.backward : 0);
        activations_ -= whole ? bytes.flight : bytes.operands;
      }
      add_rest(held, action.micro_batch, mine);
    }
  }

  const StepBytes& peak() const { return peak_; }

 private:
  /// The head's sums are in a tree of their own, since they are complete before the others.
  struct Held {
    const StageBytes& bytes;
    TreeCount head, rest;
    std::uint64_t heads = 0;  ///< gradients of the head whose micro-batches have no other gradients yet
  };

  Held& of(std::uint32_t stage) {
    const auto found = std::ranges::find(stages_, stage, [](const Held& held) { return held.bytes.stage; });
    if (found == stages_.end()) throw std::invalid_argument("a row with a stage of another rank");
    return *found;
  }

  bool per_micro_batch() const { return order_.ranks > 0; }

  std::uint64_t sums() const {
    std::uint64_t bytes = 0;
    for (const Held& held : stages_)
      bytes += per_micro_batch() ? held.heads * held.bytes.head_sum + held.rest.held() * held.bytes.owned
                                 : held.head.held() * held.bytes.head_sum + held.rest.held() * held.bytes.sum;
    return bytes;
  }

  void look(std::uint64_t more_sums, std::uint64_t more_activations) {
    const StepBytes now{sums() + more_sums, activations_ + more_activations};
    if (now.total() > peak_.total()) peak_ = now;
  }

  // A new gradient is in memory together with the sums until it has been added.
  void add_head(Held& held, std::uint32_t local) {
    if (held.bytes.head_sum == 0) return;
    look(held.bytes.head_sum, 0);
    if (per_micro_batch()) {
      ++held.heads;
    } else {
      held.head.insert(order_.share.at(local));
    }
  }

  void add_rest(Held& held, std::uint32_t local, bool mine) {
    const StageBytes& bytes = held.bytes;
    if (per_micro_batch()) {
      if (mine) look(bytes.sum - bytes.lowest_sum, bytes.lowest);
      if (mine) look(bytes.sum, bytes.last);
      if (mine && bytes.head_sum > 0) --held.heads;
      for (std::uint32_t rank = 0; rank < order_.ranks; ++rank)
        if (const std::uint64_t index = order_.share.block.lo + std::uint64_t{local} * order_.ranks + rank;
            index < order_.share.block.hi)
          held.rest.insert(static_cast<std::uint32_t>(index));
      return look(0, 0);
    }
    if (!mine) return;
    const std::uint64_t before = held.rest.held();
    held.rest.insert(order_.share.at(local));
    // Gradients of higher layers are already in the sums; those of lower layers do not exist yet.
    const auto look_back = [&](std::uint64_t old_sums, std::uint64_t new_gradient, std::uint64_t more) {
      look((before - held.rest.held()) * old_sums + new_gradient, more);
    };
    look_back(bytes.lowest_sum, 0, bytes.lowest);
    look_back(bytes.last_sum, bytes.last_sum, bytes.last);
  }

  const SumOrder& order_;
  std::vector<Held> stages_;
  std::uint64_t activations_ = 0;
  StepBytes peak_;
};

}  // namespace

StepBytes peak_of_row(std::span<const Action> row, const std::vector<StageBytes>& stages, const SumOrder& order) {
  Walk walk(stages, order);
  for (const Action& action : row) walk.act(action);
  return walk.peak();
}

StepBytes bound_of_row(std::uint32_t in_flight, std::uint32_t sums, const std::vector<StageBytes>& stages,
                       const SumOrder& order) {
  StepBytes bound;
  std::uint64_t flights = 0, on_top = 0;
  for (const StageBytes& stage : stages) {
    flights += stage.flight;
    on_top = std::max({on_top, stage.forward, stage.backward});
    bound.sums +=
        order.ranks > 0 ? stage.owned * sums + stage.sum + stage.head_sum : (stage.sum + stage.head_sum) * sums;
  }
  bound.activations = flights * in_flight / stages.size() + on_top;
  return bound;
}

}  // namespace titan::train
