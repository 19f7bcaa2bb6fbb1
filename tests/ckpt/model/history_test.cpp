#include "ckpt/model/history.h"

#include <gtest/gtest.h>

#include "ckpt/format/state_codec.h"

namespace titan::ckpt::history_test {
namespace {

Attempt start(std::uint32_t number) {
  Attempt attempt;
  attempt.number = number;
  attempt.environment = std::string(200, 'e');
  return attempt;
}

TEST(History, TenThousandStartsTakeAsMuchAsAThousand) {
  TrainState state;
  std::size_t of_a_thousand = 0;
  for (std::uint32_t number = 1; number <= 10000; ++number) {
    add_attempt(state.attempts, start(number));
    EXPECT_EQ(state.attempts.size(), std::min<std::size_t>(number, 1000));
    if (number == 1000) of_a_thousand = encode_train_state(state).size();
  }
  EXPECT_EQ(state.attempts.front().number, 1u);
  EXPECT_EQ(state.attempts[99].number, 100u);
  EXPECT_EQ(state.attempts[100].number, 9101u);
  EXPECT_EQ(state.attempts.back().number, 10000u);
  EXPECT_LE(encode_train_state(state).size(), of_a_thousand + 2000);
  EXPECT_EQ(attempts_gone(state.attempts), "attempts 101 to 9100 are not kept");
}

TEST(History, AllThatAnOlderVersionKeptIsTrimmedAtOnce) {
  std::vector<Attempt> attempts;
  for (std::uint32_t number = 1; number <= 3000; ++number) attempts.push_back(start(number));
  EXPECT_EQ(attempts_gone(attempts), "");
  add_attempt(attempts, start(3001));
  EXPECT_EQ(attempts.size(), 1000u);
  EXPECT_EQ(attempts_gone(attempts), "attempts 101 to 2101 are not kept");
  EXPECT_EQ(attempts_gone({}), "");
}

TEST(History, AHundredThousandSkippedStepsTakeElevenNotes) {
  std::vector<std::string> notes = {"not bitwise: another processor"};
  SkipNotes skips;
  for (int step = 1; step <= 10; ++step) skips.add(notes, "step " + std::to_string(step));
  notes.push_back("somebody else's");
  for (int step = 11; step <= 100000; ++step) skips.add(notes, "step " + std::to_string(step));
  ASSERT_EQ(notes.size(), 13u);
  EXPECT_EQ(notes[1], "step 1");
  EXPECT_EQ(notes[10], "step 10");
  EXPECT_EQ(notes[11], "somebody else's");
  EXPECT_EQ(notes[12], "and 99990 more; the last: step 100000");
}

}  // namespace
}  // namespace titan::ckpt::history_test
