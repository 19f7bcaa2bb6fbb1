#include "libtrain/job/schedule/action_trace.h"

#include <gtest/gtest.h>

namespace titan::train::action_trace_test {
namespace {

TEST(ActionTrace, TellsActionsAndWhatLiesWithinThem) {
  ActionTrace trace;
  const auto origin = ActionTrace::Clock::now();
  {
    const ActionTrace::In action(&trace, {ActionKind::kBackwardInput, 1, 12});
    const ActionTrace::In waiting(&trace, "wait");
  }
  { const ActionTrace::In send(&trace, {ActionKind::kSendBackward, 1, 12}); }
  const std::vector<TraceSpan> spans = trace.spans(3, origin);
  ASSERT_EQ(spans.size(), 3u);
  EXPECT_EQ(spans[0].name, "1I12");
  EXPECT_EQ(spans[0].category, "backward of inputs");
  EXPECT_EQ(spans[1].name, "wait");
  EXPECT_EQ(spans[1].category, "wait");
  EXPECT_EQ(spans[2].name, "1SEND_B12");
  EXPECT_EQ(spans[2].category, "send");
  for (const TraceSpan& span : spans) EXPECT_EQ(span.rank, 3);
  EXPECT_GE(spans[0].start_us, 0);
  EXPECT_LE(spans[0].start_us, spans[1].start_us);
  EXPECT_LE(spans[1].start_us + spans[1].duration_us, spans[0].start_us + spans[0].duration_us + 1e-3);
}

TEST(ActionTrace, OffKeepsNothing) {
  const ActionTrace::In action(nullptr, {ActionKind::kForward, 0, 0});
  EXPECT_TRUE(ActionTrace{}.spans(0, {}).empty());
}

}  // namespace
}  // namespace titan::train::action_trace_test
