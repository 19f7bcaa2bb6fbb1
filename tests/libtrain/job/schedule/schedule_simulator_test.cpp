#include "libtrain/job/schedule/schedule_simulator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <deque>
#include <limits>
#include <map>
#include <random>

namespace titan::train::schedule_simulator_test {
namespace {

using ckpt::Code;
constexpr ActionKind F = ActionKind::kForward, B = ActionKind::kBackward;

using enum recipe::ScheduleKind;
constexpr ActionKind I = ActionKind::kBackwardInput, W = ActionKind::kBackwardWeight;

ScheduleTable table_of(recipe::ScheduleKind kind, std::uint32_t ranks, std::uint32_t chunks, std::uint32_t m) {
  const auto table = make_schedule(kind, {ranks, chunks, m});
  EXPECT_TRUE(table.ok()) << table.status().to_string();
  return table.ok() ? table.value() : ScheduleTable{};
}

/// Costs are those of a whole stage: each of several stages on a rank takes its part.
Simulation simulated(recipe::ScheduleKind kind, std::uint32_t p, std::uint32_t v, std::uint32_t m, double forward,
                     double backward, double hop) {
  const double part = 1.0 / v;
  const auto result = simulate(table_of(kind, p, v, m), ScheduleCosts::equal(p * v, forward * part, backward * part / 2,
                                                                             backward * part / 2, hop));
  EXPECT_TRUE(result.ok()) << result.status().to_string();
  return result.ok() ? result.value() : Simulation{};
}

// The table of Narayanan et al. and Qi et al., worked out again: p = 8 unless said, F = I = W.
TEST(Simulator, ReproducesTheTableOfIdleShares) {
  const struct {
    recipe::ScheduleKind kind;
    std::uint32_t p, v, m;
    double hop, idle_percent;
  } cases[] = {
      {k1F1B, 8, 1, 8, 0, 46.7},
      {k1F1B, 8, 1, 32, 0, 17.9},
      {k1F1B, 8, 1, 64, 0, 9.9},
      {k1F1B, 8, 1, 32, 0.05, 20.3},
      {k1F1B, 8, 1, 32, 0.2, 26.5},
      {k1F1B, 64, 1, 256, 0, 19.7},
      {kGPipe, 8, 1, 8, 0, 46.7},
      {kGPipe, 8, 1, 32, 0, 17.9},
      {kGPipe, 8, 1, 64, 0, 9.9},
      {kGPipe, 64, 1, 256, 0, 19.7},
      {kInterleaved1F1B, 8, 2, 8, 0, 30.4},
      {kInterleaved1F1B, 8, 2, 32, 0, 9.9},
      {kInterleaved1F1B, 8, 2, 64, 0, 5.2},
      {kInterleaved1F1B, 8, 2, 32, 0.05, 11.1},
      {kInterleaved1F1B, 8, 2, 32, 0.2, 14.7},
      {kInterleaved1F1B, 64, 2, 256, 0, 11.0},
      {kInterleaved1F1B, 8, 4, 8, 0, 17.9},
      {kInterleaved1F1B, 8, 4, 32, 0, 5.2},
      {kInterleaved1F1B, 8, 4, 64, 0, 2.7},
      {kInterleaved1F1B, 8, 4, 32, 0.05, 8.0},
      {kInterleaved1F1B, 8, 4, 32, 0.2, 15.5},
      {kInterleaved1F1B, 64, 4, 256, 0, 5.8},
      {kZbH1, 8, 1, 8, 0, 22.6},
      {kZbH1, 8, 1, 32, 0, 6.8},
      {kZbH1, 8, 1, 64, 0, 3.5},
      {kZbH1, 8, 1, 32, 0.05, 8.0},
      {kZbH1, 8, 1, 32, 0.2, 11.6},
      {kZbH1, 64, 1, 256, 0, 7.6},
      {kZbvZeroBubble, 8, 2, 32, 0, 3.5},
      {kZbvZeroBubble, 8, 2, 64, 0, 1.8},
      {kZbvZeroBubble, 8, 2, 32, 0.05, 5.1},
      {kZbvZeroBubble, 8, 2, 32, 0.2, 9.5},
      {kZbvZeroBubble, 64, 2, 256, 0, 3.9},
  };
  for (const auto& c : cases) {
    const Simulation result = simulated(c.kind, c.p, c.v, c.m, 1, 2, c.hop);
    EXPECT_NEAR(100 * result.idle_share, c.idle_percent, 0.05)
        << recipe::facts_of(c.kind).name << " p " << c.p << " v " << c.v << " m " << c.m << " hop " << c.hop;
  }
}

TEST(Simulator, CountsActivationsUntilTheirWeightsAreDone) {
  // Of full stages, for p = 8 and m = 32: 11.5 and 9.75 on rank 0 of interleaved schedules, p with zero bubbles.
  EXPECT_EQ(simulated(kInterleaved1F1B, 8, 2, 32, 1, 2, 0).peak_in_flight[0], 23U);
  EXPECT_EQ(simulated(kInterleaved1F1B, 8, 4, 32, 1, 2, 0).peak_in_flight[0], 39U);
  for (std::uint32_t rank = 0; rank < 8; ++rank) {
    EXPECT_EQ(simulated(kZbH1, 8, 1, 32, 1, 2, 0).peak_in_flight[rank], 8U);
    EXPECT_EQ(simulated(kZbvZeroBubble, 8, 2, 32, 1, 2, 0).peak_in_flight[rank], 16U);
  }
}

TEST(Simulator, AgreesWithTheFormulasForBubbleAndMemory) {
  for (const std::uint32_t p : {1, 2, 3, 4, 8, 16}) {
    for (const std::uint32_t m : {1, 2, 3, 7, 8, 12, 33}) {
      for (const double backward : {1.0, 2.0, 2.5}) {
        for (const recipe::ScheduleKind kind : {kGPipe, k1F1B}) {
          const char* name = recipe::facts_of(kind).name;
          const Simulation result = simulated(kind, p, 1, m, 1, backward, 0);
          EXPECT_NEAR(result.makespan, (m + p - 1) * (1 + backward), 1e-9) << name << " p " << p << " m " << m;
          EXPECT_NEAR(result.idle_share, (p - 1.0) / (m + p - 1.0), 1e-12) << name << " p " << p << " m " << m;
          ASSERT_EQ(result.peak_in_flight.size(), p);
          for (std::uint32_t r = 0; r < p; ++r)
            EXPECT_EQ(result.peak_in_flight[r], kind == kGPipe ? m : std::min(m, p - r)) << name << " rank " << r;
        }
      }
    }
  }
}

/// Runs a lowered table with sends and receives that block until both sides are there (`capacity` 0), or with sends
/// that buffer. Checks that each message is the one expected and that all inputs are there; returns false on a
/// deadlock.
bool execute(const ScheduleTable& table, const std::map<std::uint32_t, std::uint32_t>& rank_of, std::uint32_t stages,
             bool buffered) {
  std::vector<std::size_t> next(table.size(), 0);
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::deque<Action>> wires;  // (from, to) rank
  std::map<Action, bool> done;                                                  // computed, or received
  const auto peer = [&](const Action& a) {
    const bool up = a.kind == ActionKind::kSendForward || a.kind == ActionKind::kRecvBackward;
    return rank_of.at(up ? a.stage + 1 : a.stage - 1);
  };
  const auto partner = [](const Action& send) {
    return send.kind == ActionKind::kSendForward ? Action{ActionKind::kRecvForward, send.stage + 1, send.micro_batch}
                                                 : Action{ActionKind::kRecvBackward, send.stage - 1, send.micro_batch};
  };
  for (bool progress = true; progress;) {
    progress = false;
    for (std::uint32_t r = 0; r < table.size(); ++r) {
      if (next[r] == table[r].size()) continue;
      const Action a = table[r][next[r]];
      if (a.kind == W) {
        EXPECT_TRUE((done[{I, a.stage, a.micro_batch}])) << to_csv(a);
      } else if (is_compute(a.kind)) {
        const bool edge = a.stage == (a.kind == F ? 0 : stages - 1);
        EXPECT_TRUE((a.kind == F || done[{F, a.stage, a.micro_batch}])) << to_csv(a);
        if (!edge) {
          const std::uint32_t source = a.kind == F ? a.stage - 1 : a.stage + 1;
          const bool local = rank_of.at(source) == r;
          const ActionKind receive = a.kind == F ? ActionKind::kRecvForward : ActionKind::kRecvBackward;
          const bool there = !local        ? done[{receive, a.stage, a.micro_batch}]
                             : a.kind == F ? done[{F, source, a.micro_batch}]
                                           : done[{B, source, a.micro_batch}] || done[{I, source, a.micro_batch}];
          EXPECT_TRUE(there) << to_csv(a);
        }
      } else if (a.kind == ActionKind::kSendForward || a.kind == ActionKind::kSendBackward) {
        const bool made = a.kind == ActionKind::kSendForward
                              ? done[{F, a.stage, a.micro_batch}]
                              : done[{B, a.stage, a.micro_batch}] || done[{I, a.stage, a.micro_batch}];
        EXPECT_TRUE(made) << to_csv(a);
        const std::uint32_t to = peer(a);
        if (!buffered && (next[to] == table[to].size() || table[to][next[to]] != partner(a))) continue;
        wires[{r, to}].push_back(partner(a));
      } else {
        auto& wire = wires[{peer(a), r}];
        if (wire.empty()) continue;
        EXPECT_EQ(wire.front(), a) << "messages arrive in the order of the receives";
        wire.pop_front();
      }
      done[a] = true;
      ++next[r];
      progress = true;
    }
  }
  for (std::size_t r = 0; r < table.size(); ++r)
    if (next[r] != table[r].size()) return false;
  for (const auto& [ranks, wire] : wires) EXPECT_TRUE(wire.empty());
  return true;
}

ScheduleTable without_transfers(ScheduleTable table) {
  for (auto& row : table) std::erase_if(row, [](const Action& a) { return !is_compute(a.kind); });
  return table;
}

void expect_sound(const ScheduleTable& compute, std::uint32_t stages, const std::string& what) {
  std::map<std::uint32_t, std::uint32_t> rank_of;
  for (std::uint32_t r = 0; r < compute.size(); ++r)
    for (const Action& action : compute[r]) rank_of[action.stage] = r;
  const auto lowered = lower_schedule(compute);
  ASSERT_TRUE(lowered.ok()) << what << ": " << lowered.status().to_string();
  EXPECT_EQ(without_transfers(lowered.value()), compute) << what;
  EXPECT_TRUE(execute(lowered.value(), rank_of, stages, true)) << what << ", buffered\n" << to_csv(lowered.value());
  EXPECT_TRUE(execute(lowered.value(), rank_of, stages, false)) << what << ", blocking\n" << to_csv(lowered.value());
}

TEST(Lowering, RunsWithoutDeadlockWithMessagesInOrder) {
  for (const recipe::ScheduleFacts& facts : recipe::schedules()) {
    for (std::uint32_t p = 1; p <= 8; ++p) {
      for (std::uint32_t v = facts.least_chunks; v <= std::max(facts.most_chunks, facts.least_chunks + 1); ++v) {
        for (std::uint32_t m = 1; m <= 17; ++m) {
          if (!recipe::check_shape(facts.kind, {p, v, m}).ok()) continue;
          expect_sound(table_of(facts.kind, p, v, m), p * v,
                       std::string(facts.name) + " p " + std::to_string(p) + " v " + std::to_string(v) + " m " +
                           std::to_string(m));
        }
      }
    }
  }
}

TEST(Lowering, PlacesTransfersWhereTheyBelong) {
  const auto lowered = lower_schedule(table_of(k1F1B, 2, 1, 2));
  ASSERT_TRUE(lowered.ok());
  EXPECT_EQ(to_csv(lowered.value()),
            "0F0,0SEND_F0,0F1,0SEND_F1,0RECV_B0,0B0,0RECV_B1,0B1\n"
            "1RECV_F0,1F0,1RECV_F1,1B0,1SEND_B0,1F1,1B1,1SEND_B1\n");
  EXPECT_EQ(lower_schedule(table_of(kGPipe, 1, 1, 2)).value(), table_of(kGPipe, 1, 1, 2));
}

TEST(Lowering, HandsOverLocallyBetweenStagesOfOneRank) {
  // A V layout: rank 0 has stages 0 and 3, rank 1 stages 1 and 2.
  ScheduleTable table(2);
  for (const auto& [kind, stage] : std::vector<std::pair<ActionKind, std::uint32_t>>{{F, 0}, {F, 3}, {B, 3}, {B, 0}})
    for (std::uint32_t m = 0; m < 3; ++m) table[0].push_back({kind, stage, m});
  for (const auto& [kind, stage] : std::vector<std::pair<ActionKind, std::uint32_t>>{{F, 1}, {F, 2}, {B, 2}, {B, 1}})
    for (std::uint32_t m = 0; m < 3; ++m) table[1].push_back({kind, stage, m});
  expect_sound(table, 4, "V layout");
  const std::string lowered = to_csv(lower_schedule(table).value());
  EXPECT_EQ(lowered.find("1SEND_F"), std::string::npos) << lowered;
  EXPECT_NE(lowered.find("2SEND_F0"), std::string::npos) << lowered;
}

TEST(Lowering, AcceptsAnyOrderThatCanRun) {
  std::mt19937 random(4711);
  for (int round = 0; round < 200; ++round) {
    // Draws ready actions at random: every such table can run.
    const std::uint32_t p = 1 + random() % 3, chunks = 1 + random() % 2, m = 1 + random() % 5, stages = p * chunks;
    ScheduleTable table(p);
    std::map<Action, bool> done;
    for (std::uint32_t left = 2 * stages * m; left > 0; --left) {
      std::vector<Action> ready;
      for (std::uint32_t s = 0; s < stages; ++s) {
        for (std::uint32_t i = 0; i < m; ++i) {
          if (!done[{F, s, i}] && (s == 0 || done[{F, s - 1, i}])) ready.push_back({F, s, i});
          if (done[{F, s, i}] && !done[{B, s, i}] && (s + 1 == stages || done[{B, s + 1, i}]))
            ready.push_back({B, s, i});
        }
      }
      const Action action = ready[random() % ready.size()];
      done[action] = true;
      table[action.stage % p].push_back(action);
    }
    expect_sound(table, stages, "seed 4711 round " + std::to_string(round) + "\n" + to_csv(table));
  }
}

TEST(Lowering, RejectsMalformedTables) {
  const std::uint32_t huge = std::numeric_limits<std::uint32_t>::max();
  const struct {
    const char* what;
    ScheduleTable table;
    const char* message;
  } cases[] = {
      {"no actions", {{}, {}}, "no actions"},
      {"no ranks", {}, "no actions"},
      {"missing backward", {{{F, 0, 0}}}, "misses 0B0"},
      {"missing forward", {{{B, 0, 0}}}, "misses 0F0"},
      {"missing stage", {{{F, 0, 0}, {B, 0, 0}}, {{F, 2, 0}, {B, 2, 0}}}, "misses 1F0"},
      {"repeated", {{{F, 0, 0}, {F, 0, 0}, {B, 0, 0}}}, "rank 0, 0F0 repeats rank 0, 0F0"},
      {"stage on two ranks", {{{F, 0, 0}}, {{B, 0, 0}}}, "rank 1, 0B0 has stage 0, which rank 0 has, too"},
      {"backward first", {{{B, 0, 0}, {F, 0, 0}}}, "deadlocks: rank 0, 0B0 waits for ever"},
      {"crossed",
       {{{F, 0, 0}, {B, 0, 0}, {F, 0, 1}, {B, 0, 1}}, {{F, 1, 0}, {F, 1, 1}, {B, 1, 0}, {B, 1, 1}}},
       "deadlocks: rank 0, 0B0 waits for ever"},
      {"weights twice", {{{F, 0, 0}, {B, 0, 0}, {W, 0, 0}}}, "has 0W0 and 0B0, which contains it"},
      {"weights never", {{{F, 0, 0}, {I, 0, 0}}}, "misses 0W0"},
      {"weights without input", {{{F, 0, 0}, {W, 0, 0}}}, "misses 0B0"},
      {"weights first", {{{F, 0, 0}, {W, 0, 0}, {I, 0, 0}}}, "deadlocks: rank 0, 0W0 waits for ever"},
      {"both backwards", {{{F, 0, 0}, {I, 0, 0}, {B, 0, 0}, {W, 0, 0}}}, "rank 0, 0B0 repeats rank 0, 0I0"},
      {"transfer already there", {{{F, 0, 0}, {ActionKind::kSendForward, 0, 0}, {B, 0, 0}}}, "0SEND_F0 is a transfer"},
      {"huge stage", {{{F, huge, 0}, {B, huge, 0}}}, "too few"},
      {"huge micro-batch", {{{F, 0, huge}, {B, 0, huge}}}, "too few"},
  };
  for (const auto& c : cases) {
    const auto lowered = lower_schedule(c.table);
    ASSERT_FALSE(lowered.ok()) << c.what;
    EXPECT_EQ(lowered.status().code, Code::kInvalid);
    EXPECT_NE(lowered.status().message.find(c.message), std::string::npos)
        << c.what << ": " << lowered.status().message;
    EXPECT_FALSE(simulate(c.table, ScheduleCosts::equal(2, 1, 1, 1)).ok()) << c.what;
  }
}

ScheduleCosts costs_of(std::vector<double> forward, double hop = 0) { return {forward, forward, forward, hop}; }

TEST(Simulator, UnequalStagesWaitForTheSlowest) {
  const ScheduleTable table = table_of(k1F1B, 3, 1, 100);
  const Simulation equal = simulate(table, costs_of({2, 2, 2})).value();
  EXPECT_NEAR(equal.idle_share, simulated(k1F1B, 3, 1, 100, 1, 2, 0).idle_share, 1e-12);
  EXPECT_EQ(equal.peak_in_flight, simulated(k1F1B, 3, 1, 100, 1, 2, 0).peak_in_flight);
  // 100 micro-batches of the slowest stage (3 + 6), and the fill and drain of the two others.
  EXPECT_NEAR(simulate(table, costs_of({1, 2, 3})).value().makespan, 100 * 9 + (1 + 2) * 3, 1e-9);
  EXPECT_NEAR(simulate(table, costs_of({0, 2, 3})).value().makespan, 100 * 9 + 2 * 3, 1e-9);
}

TEST(Simulator, TellsWhenEachActionRuns) {
  const Simulation result = simulate(table_of(k1F1B, 2, 1, 1), ScheduleCosts::equal(2, 1, 2, 3, 0.5)).value();
  EXPECT_EQ(result.spans[0][0].start, 0);
  EXPECT_EQ(result.spans[1][0].start, 1.5);
  EXPECT_EQ(result.spans[1][1].finish, 7.5);
  EXPECT_EQ(result.spans[0][1].start, 8);
  EXPECT_EQ(result.makespan, 13);
}

TEST(Simulator, RejectsCostsThatMeanNothing) {
  const ScheduleTable table = table_of(kGPipe, 2, 1, 2);
  const double nan = std::nan(""), inf = std::numeric_limits<double>::infinity();
  for (const std::vector<double>& costs : {std::vector<double>{1, 2, 3}, {1, -1}, {0, 0}, {1, nan}, {1, inf}, {}})
    EXPECT_EQ(simulate(table, costs_of(costs)).status().code, Code::kInvalid);
  EXPECT_EQ(simulate(table, costs_of({1, 1}, -1)).status().code, Code::kInvalid);
  EXPECT_EQ(simulate(table, costs_of({1, 1}, nan)).status().code, Code::kInvalid);
}

}  // namespace
}  // namespace titan::train::schedule_simulator_test
