#include "libtrain/job/metrics/json_text.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <random>
#include <regex>

#include "ckpt/format/json_writer.h"

namespace titan::train::json_text_test {
namespace {

TEST(JsonText, WritesNumbersInShortestForm) {
  const double nan = std::nan(""), inf = std::numeric_limits<double>::infinity();
  const std::pair<double, const char*> cases[] = {
      {0, "0"},          {0.1, "0.1"},     {8e-4, "8e-04"},   {3, "3"},         {-2.5, "-2.5"},
      {1e300, "1e+300"}, {nan, "\"nan\""}, {-nan, "\"nan\""}, {inf, "\"inf\""}, {-inf, "\"-inf\""},
  };
  for (const auto& [value, text] : cases) EXPECT_EQ(json_number(value), text);
}

TEST(JsonText, WritesNumbersThatReadBackToTheSameBits) {
  std::mt19937_64 random(99);
  for (int i = 0; i < 20000; ++i) {
    const std::uint64_t bits = random();
    double value;
    std::memcpy(&value, &bits, sizeof value);
    if (!std::isfinite(value)) continue;
    const double back = std::strtod(json_number(value).c_str(), nullptr);
    EXPECT_EQ(std::memcmp(&back, &value, sizeof value), 0) << "seed 99: " << json_number(value);
  }
}

TEST(JsonText, EscapesStrings) {
  EXPECT_EQ(ckpt::json_string("plain \xC3\xA9"), "\"plain \xC3\xA9\"");
  EXPECT_EQ(ckpt::json_string("a\"b\\c\nd\te\x1B[0m\x7F"), "\"a\\\"b\\\\c\\nd\\u0009e\\u001b[0m\\u007f\"");
  EXPECT_EQ(ckpt::json_string(std::string("\0", 1)), "\"\\u0000\"");
  EXPECT_EQ(ckpt::json_string("caf\xE9!\xFF"), "\"caf\\ufffd!\\ufffd\"");
}

TEST(JsonText, WritesTimesAsRfc3339InUtc) {
  EXPECT_TRUE(std::regex_match(utc_now(), std::regex(R"(20\d\d-[01]\d-[0-3]\dT[0-2]\d:[0-5]\d:[0-6]\d\.\d{3}Z)")))
      << utc_now();
}

}  // namespace
}  // namespace titan::train::json_text_test
