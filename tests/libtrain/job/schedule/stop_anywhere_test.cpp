// Why a device that waits for itself where nobody asked (a kernel that is loaded, memory that is freed or pinned, a
// full queue) cannot deadlock a schedule: every rank may stand still behind each of its actions until its device is
// idle. What a device waits for comes earlier in one order that all ranks share: transfers of the pipeline, and what
// the data-parallel ranks of a stage exchange behind each backward.
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "libtrain/job/schedule/schedule.h"
#include "libtrain/job/schedule/schedule_simulator.h"

namespace titan::train::stop_anywhere_test {
namespace {

using enum ActionKind;
using Rows = std::vector<std::vector<Action>>;

bool sends(const Action& a) { return a.kind == kSendForward || a.kind == kSendBackward; }
bool receives(const Action& a) { return a.kind == kRecvForward || a.kind == kRecvBackward; }
bool ends_backward(const Action& a) { return a.kind == kBackward || a.kind == kBackwardWeight; }

/// What the other side of a transfer does.
Action partner(const Action& a) {
  switch (a.kind) {
    case kSendForward: return {kRecvForward, a.stage + 1, a.micro_batch};
    case kRecvForward: return {kSendForward, a.stage - 1, a.micro_batch};
    case kSendBackward: return {kRecvBackward, a.stage - 1, a.micro_batch};
    default: return {kSendBackward, a.stage + 1, a.micro_batch};
  }
}

/// Runs `copies` of a lowered table side by side. Each rank begins an action when the one before is over: a transfer
/// when both sides have come to it, and the exchange behind a backward when all copies of the rank have. Returns where
/// all of them stand for ever; empty: they have come to their end.
std::string stands(const Rows& rows, std::size_t copies) {
  std::map<Action, std::size_t> row_of;
  for (std::size_t r = 0; r < rows.size(); ++r)
    for (const Action& a : rows[r]) row_of[a] = r;
  std::vector<std::vector<std::size_t>> next(copies, std::vector<std::size_t>(rows.size(), 0));
  const auto at = [&](std::size_t copy, std::size_t r) {
    return next[copy][r] < rows[r].size() ? &rows[r][next[copy][r]] : nullptr;
  };
  std::vector<std::set<std::size_t>> exchanging(rows.size());  // copies whose backward is done, and its exchange not
  for (bool progress = true; progress;) {
    progress = false;
    for (std::size_t copy = 0; copy < copies; ++copy)
      for (std::size_t r = 0; r < rows.size(); ++r) {
        const Action* const a = at(copy, r);
        if (a == nullptr || exchanging[r].contains(copy)) continue;
        if (sends(*a) || receives(*a)) {
          const Action other = partner(*a);
          const std::size_t to = row_of.at(other);
          const Action* const met = at(copy, to);
          if (met == nullptr || *met != other || exchanging[to].contains(copy)) continue;
          ++next[copy][to];
          ++next[copy][r];
        } else if (ends_backward(*a)) {
          exchanging[r].insert(copy);
          if (exchanging[r].size() == copies) {
            for (auto& of_copy : next) ++of_copy[r];
            exchanging[r].clear();
          }
        } else {
          ++next[copy][r];
        }
        progress = true;
      }
  }
  std::string text;
  for (std::size_t r = 0; r < rows.size(); ++r)
    if (const Action* const a = at(0, r); a != nullptr)
      text += "rank " + std::to_string(r) + " at " + to_csv(*a) + "; ";
  return text;
}

TEST(StopAnywhere, NoTableDeadlocksWhereEachActionWaitsForItsDevice) {
  std::size_t tables = 0;
  for (const recipe::ScheduleFacts& facts : recipe::schedules())
    for (const std::uint32_t p : {2U, 3U, 4U, 8U})
      for (std::uint32_t v = facts.least_chunks; v <= std::max(facts.most_chunks, facts.least_chunks + 1); ++v)
        for (const std::uint32_t m : {1U, 2U, 3U, 4U, 8U, 16U}) {
          if (!recipe::check_shape(facts.kind, {p, v, m}).ok()) continue;
          const auto lowered = lower_schedule(make_schedule(facts.kind, {p, v, m}).value());
          ASSERT_TRUE(lowered.ok()) << lowered.status().to_string();
          EXPECT_EQ(stands(*lowered, 3), "") << facts.name << " p " << p << " v " << v << " m " << m;
          ++tables;
        }
  EXPECT_GT(tables, 100u);
}

/// Each rank receives right before it computes, and sends right behind: an order of its own.
Rows each_for_itself(const ScheduleTable& table, std::uint32_t stages) {
  Rows rows(table.size());
  for (std::size_t r = 0; r < table.size(); ++r)
    for (const Action& a : table[r]) {
      const bool forward = a.kind == kForward;
      if (a.stage != (forward ? 0 : stages - 1))
        rows[r].push_back({forward ? kRecvForward : kRecvBackward, a.stage, a.micro_batch});
      rows[r].push_back(a);
      if (a.stage != (forward ? stages - 1 : 0))
        rows[r].push_back({forward ? kSendForward : kSendBackward, a.stage, a.micro_batch});
    }
  return rows;
}

TEST(StopAnywhere, WithoutOneOrderForAllTheyWould) {
  const ScheduleTable table = make_schedule(recipe::ScheduleKind::k1F1B, {2, 1, 4}).value();
  EXPECT_EQ(stands(*lower_schedule(table), 2), "");
  EXPECT_NE(stands(each_for_itself(table, 2), 2), "") << "a forward and a gradient on their way to each other";
}

}  // namespace
}  // namespace titan::train::stop_anywhere_test
