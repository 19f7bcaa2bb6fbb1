#include "ckpt/base/prometheus.h"

#include <gtest/gtest.h>

namespace titan::ckpt::prometheus_test {
namespace {

TEST(Prometheus, ALabelIsQuotedAndWhatWouldEndItIsEscaped) {
  EXPECT_EQ(quoted_label("runs/a"), "\"runs/a\"");
  EXPECT_EQ(quoted_label("a\"b\\c\nd"), "\"a\\\"b\\\\c\\nd\"");
  for (const char* value : {"", "runs/a", "a\"b\\c\nd", "\\", "\\n"})
    EXPECT_EQ(unquoted_label(quoted_label(value) + ",x=\"y\""), value);
  EXPECT_EQ(unquoted_label("a"), "");
}

}  // namespace
}  // namespace titan::ckpt::prometheus_test
