#include "libtrain/pipeline/schedule.h"

#include <algorithm>
#include <cctype>

namespace titan::train {
namespace {

using ckpt::Result;
using ckpt::Status;

constexpr const char* kKnown[] = {"GPipe", "1F1B"};
constexpr const char* kLater[] = {"Interleaved1F1B", "LoopedBFS", "InterleavedZeroBubble", "ZBVZeroBubble", "DualPipeV"};

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

bool equal_ignoring_case(const std::string& a, const std::string& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](unsigned char x, unsigned char y) {
    return std::tolower(x) == std::tolower(y);
  });
}

std::size_t edit_distance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row.back();
}

Status unknown_schedule(const std::string& name) {
  Status status = ckpt::invalid("pipeline schedule '" + name + "' is unknown; known are GPipe, 1F1B");
  for (const char* known : kKnown)
    if (equal_ignoring_case(name, known) || edit_distance(name, known) <= 2)
      return status.with_hint("did you mean '" + std::string(known) + "'?");
  return status;
}

}  // namespace

Result<ScheduleTable> make_schedule(const std::string& name, std::uint32_t stages, std::uint32_t micro_batches) {
  if (stages == 0 || micro_batches == 0)
    return ckpt::invalid("a pipeline schedule needs at least one stage and one micro-batch, not " + std::to_string(stages) +
                         " and " + std::to_string(micro_batches));
  if (name == "GPipe") return gpipe(stages, micro_batches);
  if (name == "1F1B") return one_f_one_b(stages, micro_batches);
  for (const char* later : kLater) {
    if (name == later)
      return ckpt::unsupported("pipeline schedule '" + name + "' is not supported yet").with_hint("use GPipe or 1F1B");
  }
  return unknown_schedule(name);
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
