// One pass validates the table, another times every action.
#include "libtrain/job/schedule/schedule_simulator.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

namespace titan::train {
namespace {

using ckpt::Result;
using ckpt::Status;

constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

double cost_of(const ScheduleCosts& costs, const Action& action) {
  switch (action.kind) {
    case ActionKind::kForward: return costs.forward[action.stage];
    case ActionKind::kBackwardInput: return costs.input[action.stage];
    case ActionKind::kBackwardWeight: return costs.weight[action.stage];
    default: return costs.input[action.stage] + costs.weight[action.stage];
  }
}

/// B and I share one place, since a micro-batch of a stage has one of the two.
constexpr std::size_t kPlaces = 3;
std::size_t place_of(ActionKind kind) { return kind == ActionKind::kForward ? 0 : gives_input_gradient(kind) ? 1 : 2; }

/// A table with the place of every action: stages 0..S-1 and micro-batches 0..M-1, each with one F and with either one
/// B or one I and one W.
class Timeline {
 public:
  explicit Timeline(const ScheduleTable& table, NameAction name = {})
      : table_(table), name_(std::move(name)), spans_(table.size()) {
    for (std::size_t r = 0; r < table.size(); ++r) spans_[r].resize(table[r].size());
  }

  /// Fills the places. \error kInvalid: see lower_schedule.
  Status index() {
    std::size_t total = 0;
    for (std::size_t r = 0; r < table_.size(); ++r) {
      total += table_[r].size();
      for (std::size_t i = 0; i < table_[r].size(); ++i) {
        const Action& action = table_[r][i];
        if (!is_compute(action.kind))
          return ckpt::invalid(name(r, i) + " is a transfer; expected are only F, B, I and W");
        stages_ = std::max(stages_, std::uint64_t{action.stage} + 1);
        micro_batches_ = std::max(micro_batches_, std::uint64_t{action.micro_batch} + 1);
      }
    }
    if (total == 0) return ckpt::invalid("schedule has no actions");
    // Checked before anything is allocated: one huge number in a table must not cost its square in memory.
    const std::uint64_t wanted = 2 * stages_ * micro_batches_;
    if (stages_ > total || micro_batches_ > total || wanted > 2 * std::uint64_t{total})
      return ckpt::invalid("schedule of " + std::to_string(total) + " actions has too few for its " +
                           std::to_string(stages_) + " stages and " + std::to_string(micro_batches_) +
                           " micro-batches");
    rank_of_.assign(stages_, kNone);
    position_.assign(kPlaces * stages_ * micro_batches_, kNone);
    for (std::uint32_t r = 0; r < table_.size(); ++r) {
      for (std::uint32_t i = 0; i < table_[r].size(); ++i) {
        const Action& action = table_[r][i];
        std::uint32_t& rank = rank_of_[action.stage];
        if (rank == kNone) rank = r;
        if (rank != r)
          return ckpt::invalid(name(r, i) + " has stage " + std::to_string(action.stage) + ", which rank " +
                               std::to_string(rank) + " has, too");
        std::uint32_t& position = position_[key(action)];
        if (position != kNone) return ckpt::invalid(name(r, i) + " repeats " + name(r, position));
        position = i;
      }
    }
    for (std::uint32_t stage = 0; stage < stages_; ++stage) {
      for (std::uint32_t m = 0; m < micro_batches_; ++m) {
        if (const Action forward{ActionKind::kForward, stage, m}; position_[key(forward)] == kNone)
          return ckpt::invalid("schedule misses " + to_csv(forward));
        TITAN_RETURN_IF_ERROR(check_backward(stage, m));
      }
    }
    return {};
  }

  /// Times every action. \error kInvalid: no progress.
  Status run(const ScheduleCosts& costs) {
    std::vector<std::size_t> next(table_.size(), 0);
    for (bool progress = true; progress;) {
      progress = false;
      for (std::size_t r = 0; r < table_.size(); ++r) {
        for (; next[r] < table_[r].size(); ++next[r], progress = true) {
          const Action& action = table_[r][next[r]];
          double ready = next[r] == 0 ? 0 : spans_[r][next[r] - 1].finish;
          if (!inputs_ready(action, next, costs.hop, &ready)) break;
          spans_[r][next[r]] = {ready, ready + cost_of(costs, action)};
        }
      }
    }
    for (std::size_t r = 0; r < table_.size(); ++r)
      if (next[r] < table_[r].size())
        return ckpt::invalid("schedule deadlocks: " + name(r, next[r]) + " waits for ever");
    return {};
  }

  const Span& span(std::size_t rank, std::size_t position) const { return spans_[rank][position]; }
  std::vector<std::vector<Span>> take_spans() { return std::move(spans_); }
  std::uint64_t stages() const { return stages_; }
  std::uint32_t rank_of(std::uint32_t stage) const { return rank_of_[stage]; }

 private:
  std::string name(std::size_t rank, std::size_t action) const {
    return name_ ? name_(rank, action) : "rank " + std::to_string(rank) + ", " + to_csv(table_[rank][action]);
  }
  std::size_t key(const Action& action) const {
    return (action.stage * micro_batches_ + action.micro_batch) * kPlaces + place_of(action.kind);
  }

  Status check_backward(std::uint32_t stage, std::uint32_t micro_batch) const {
    const Action whole{ActionKind::kBackward, stage, micro_batch};
    const Action weight{ActionKind::kBackwardWeight, stage, micro_batch};
    const std::uint32_t position = position_[key(whole)];
    if (position == kNone) return ckpt::invalid("schedule misses " + to_csv(whole));
    const bool split = table_[rank_of_[stage]][position].kind == ActionKind::kBackwardInput;
    const bool has_weight = position_[key(weight)] != kNone;
    if (split && !has_weight) return ckpt::invalid("schedule misses " + to_csv(weight));
    if (!split && has_weight)
      return ckpt::invalid("schedule has " + to_csv(weight) + " and " + to_csv(whole) + ", which contains it");
    return {};
  }

  /// Whether the inputs of `action` are computed; raises `ready` to the time at which the last of them arrives.
  bool inputs_ready(const Action& action, const std::vector<std::size_t>& next, double hop, double* ready) const {
    const auto arrived = [&](const Action& input) {
      const std::uint32_t rank = rank_of_[input.stage], position = position_[key(input)];
      if (position >= next[rank]) return false;
      *ready = std::max(*ready, spans_[rank][position].finish + (rank == rank_of_[action.stage] ? 0 : hop));
      return true;
    };
    if (action.kind == ActionKind::kForward)
      return action.stage == 0 || arrived({ActionKind::kForward, action.stage - 1, action.micro_batch});
    if (action.kind == ActionKind::kBackwardWeight)
      return arrived({ActionKind::kBackwardInput, action.stage, action.micro_batch});
    if (!arrived({ActionKind::kForward, action.stage, action.micro_batch})) return false;
    return action.stage + 1 == stages_ || arrived({ActionKind::kBackward, action.stage + 1, action.micro_batch});
  }

  const ScheduleTable& table_;
  NameAction name_;
  std::uint64_t stages_ = 0, micro_batches_ = 0;
  std::vector<std::uint32_t> rank_of_;   ///< of a stage
  std::vector<std::uint32_t> position_;  ///< of an action in its rank's row, by key()
  std::vector<std::vector<Span>> spans_;
};

/// One entry of the global order. A transfer comes when its producer has finished, before the compute that starts then.
struct Event {
  double time = 0;
  bool compute = false;
  std::uint32_t rank = 0;  ///< of the compute action, or of the producer
  Action action;           ///< compute, or the sending side
};

}  // namespace

Result<ScheduleTable> lower_schedule(const ScheduleTable& compute) {
  Timeline timeline(compute);
  TITAN_RETURN_IF_ERROR(timeline.index());
  // Whole numbers, so that equal times compare equal.
  const auto stages = static_cast<std::uint32_t>(timeline.stages());
  TITAN_RETURN_IF_ERROR(timeline.run(ScheduleCosts::equal(stages, 1, 1, 1)));

  std::vector<Event> events;
  for (std::uint32_t r = 0; r < compute.size(); ++r) {
    for (std::size_t i = 0; i < compute[r].size(); ++i) {
      const Action& action = compute[r][i];
      const bool forward = action.kind == ActionKind::kForward;
      events.push_back({timeline.span(r, i).start, true, r, action});
      if (action.kind == ActionKind::kBackwardWeight) continue;
      if (action.stage == (forward ? timeline.stages() - 1 : 0)) continue;
      if (timeline.rank_of(forward ? action.stage + 1 : action.stage - 1) == r) continue;
      const ActionKind send = forward ? ActionKind::kSendForward : ActionKind::kSendBackward;
      events.push_back({timeline.span(r, i).finish, false, r, {send, action.stage, action.micro_batch}});
    }
  }
  std::stable_sort(events.begin(), events.end(), [](const Event& a, const Event& b) {
    return std::tie(a.time, a.compute, a.rank) < std::tie(b.time, b.compute, b.rank);
  });

  ScheduleTable lowered(compute.size());
  for (const Event& event : events) {
    lowered[event.rank].push_back(event.action);
    if (event.compute) continue;
    const bool forward = event.action.kind == ActionKind::kSendForward;
    const std::uint32_t to = forward ? event.action.stage + 1 : event.action.stage - 1;
    const ActionKind receive = forward ? ActionKind::kRecvForward : ActionKind::kRecvBackward;
    lowered[timeline.rank_of(to)].push_back({receive, to, event.action.micro_batch});
  }
  return lowered;
}

namespace {

Status check_costs(const ScheduleCosts& costs, std::uint64_t stages) {
  double sum = 0;
  bool valid = costs.hop >= 0;
  for (const std::vector<double>* some : {&costs.forward, &costs.input, &costs.weight}) {
    if (some->size() != stages)
      return ckpt::invalid("simulated costs of " + std::to_string(some->size()) + " stages for a schedule of " +
                           std::to_string(stages));
    for (const double cost : *some) {
      valid = valid && cost >= 0;
      sum += cost;
    }
  }
  // A stage with only the embedding lookup costs nothing; not all stages can.
  if (valid && sum > 0 && std::isfinite(sum + costs.hop)) return {};
  return ckpt::invalid("simulated costs must not be negative; their sum must be positive and finite");
}

/// Maximum number of (stage, micro-batch) pairs of one rank whose activations are in memory at once.
std::uint32_t most_in_flight(const std::vector<Action>& row) {
  std::uint32_t alive = 0, peak = 0;
  for (const Action& action : row) {
    if (action.kind == ActionKind::kForward) peak = std::max(peak, ++alive);
    if (action.kind == ActionKind::kBackward || action.kind == ActionKind::kBackwardWeight) --alive;
  }
  return peak;
}

}  // namespace

ScheduleCosts ScheduleCosts::equal(std::uint32_t stages, double forward, double input, double weight, double hop) {
  return {std::vector(stages, forward), std::vector(stages, input), std::vector(stages, weight), hop};
}

Result<Simulation> simulate(const ScheduleTable& compute, const ScheduleCosts& costs, const NameAction& name) {
  Timeline timeline(compute, name);
  TITAN_RETURN_IF_ERROR(timeline.index());
  TITAN_RETURN_IF_ERROR(check_costs(costs, timeline.stages()));
  TITAN_RETURN_IF_ERROR(timeline.run(costs));

  Simulation result;
  result.spans = timeline.take_spans();
  double busy = 0;
  for (std::size_t r = 0; r < compute.size(); ++r) {
    for (const Action& action : compute[r]) busy += cost_of(costs, action);
    if (!result.spans[r].empty()) result.makespan = std::max(result.makespan, result.spans[r].back().finish);
    result.peak_in_flight.push_back(most_in_flight(compute[r]));
  }
  result.idle_share = 1 - busy / (static_cast<double>(compute.size()) * result.makespan);
  return result;
}

}  // namespace titan::train
