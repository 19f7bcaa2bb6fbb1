#include "libtrain/job/metrics/chrome_trace.h"

#include <gtest/gtest.h>

namespace titan::train::chrome_trace_test {
namespace {

TEST(ChromeTrace, HasAProcessPerRankAndALinePerSpan) {
  EXPECT_EQ(chrome_trace({{0, "0F0", "forward", 0, 1.5}, {1, "1B\"0", "backward", 2.5, 1000}}, "1F1B"),
            "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n"
            "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":0,\"args\":{\"name\":\"1F1B, rank 0\"}},\n"
            "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":1,\"args\":{\"name\":\"1F1B, rank 1\"}},\n"
            "{\"ph\":\"X\",\"name\":\"0F0\",\"cat\":\"forward\",\"pid\":0,\"tid\":0,\"ts\":0,\"dur\":1.5},\n"
            "{\"ph\":\"X\",\"name\":\"1B\\\"0\",\"cat\":\"backward\",\"pid\":1,\"tid\":0,\"ts\":2.5,\"dur\":1000}\n"
            "]}\n");
}

TEST(ChromeTrace, IsADocumentWithoutSpans) {
  EXPECT_EQ(chrome_trace({}, "1F1B"), "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n]}\n");
}

}  // namespace
}  // namespace titan::train::chrome_trace_test
