#include "ckpt/base/prometheus.h"

#include <gtest/gtest.h>

namespace titan::ckpt::prometheus_test {
namespace {

TEST(Prometheus, ALabelIsQuotedAndWhatWouldEndItIsEscaped) {
  EXPECT_EQ(quoted_label("runs/a"), "\"runs/a\"");
  EXPECT_EQ(quoted_label("a\"b\\c\nd"), "\"a\\\"b\\\\c\\nd\"");
}

}  // namespace
}  // namespace titan::ckpt::prometheus_test
