#include "libtrain/pipeline/schedule.h"

#include <algorithm>

#include "ckpt/base/nearest.h"

namespace titan::train {
namespace {

using ckpt::Result;

constexpr const char* kLater[] = {"Interleaved1F1B", "LoopedBFS", "InterleavedZeroBubble", "ZBVZeroBubble",
                                  "DualPipeV"};

ScheduleTable gpipe(std::uint32_t stages, std::uint32_t micro_batches) {
  ScheduleTable table(stages);
  for (std::uint32_t r = 0; r < stages; ++r) {
    for (std::uint32_t m = 0; m < micro_batches; ++m) table[r].push_back({ActionKind::kForward, r, m});
    for (std::uint32_t m = 0; m < micro_batches; ++m) table[r].push_back({ActionKind::kBackward, r, m});
  }
  return table;
}

ScheduleTable one_f_one_b(std::uint32_t stages, std::uint32_t micro_batches) {
  ScheduleTable table(stages);
  for (std::uint32_t r = 0; r < stages; ++r) {
    const std::uint32_t warm_up = std::min(micro_batches, stages - 1 - r);
    std::uint32_t forward = 0, backward = 0;
    while (forward < warm_up) table[r].push_back({ActionKind::kForward, r, forward++});
    while (backward < micro_batches) {
      if (forward < micro_batches) table[r].push_back({ActionKind::kForward, r, forward++});
      table[r].push_back({ActionKind::kBackward, r, backward++});
    }
  }
  return table;
}

}  // namespace

Result<ScheduleTable> make_schedule(const std::string& name, std::uint32_t stages, std::uint32_t micro_batches) {
  if (stages == 0 || micro_batches == 0)
    return ckpt::invalid("a pipeline schedule needs at least one stage and one micro-batch, not " +
                         std::to_string(stages) + " and " + std::to_string(micro_batches));
  if (name == "GPipe") return gpipe(stages, micro_batches);
  if (name == "1F1B") return one_f_one_b(stages, micro_batches);
  for (const char* later : kLater) {
    if (name == later)
      return ckpt::unsupported("pipeline schedule '" + name + "' is not supported yet").with_hint("use GPipe or 1F1B");
  }
  return ckpt::invalid("pipeline schedule '" + name + "' is unknown; known are GPipe, 1F1B")
      .with_hint(ckpt::did_you_mean(name, {"GPipe", "1F1B"}));
}

std::string to_csv(const Action& action) {
  constexpr const char* kNames[] = {"F", "B", "SEND_F", "RECV_F", "SEND_B", "RECV_B"};
  return std::to_string(action.stage) + kNames[static_cast<int>(action.kind)] + std::to_string(action.micro_batch);
}

std::string to_csv(const ScheduleTable& table) {
  std::string text;
  for (const std::vector<Action>& row : table) {
    for (std::size_t i = 0; i < row.size(); ++i) text += (i == 0 ? "" : ",") + to_csv(row[i]);
    text += '\n';
  }
  return text;
}

}  // namespace titan::train
