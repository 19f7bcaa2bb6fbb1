#include "libtrain/job/metrics/event_record.h"

#include <gtest/gtest.h>

#include <cmath>

namespace titan::train::event_record_test {
namespace {

std::string hex(std::string_view bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  for (const char c : bytes) {
    out += kDigits[static_cast<unsigned char>(c) >> 4];
    out += kDigits[c & 15];
  }
  return out;
}

TEST(EventRecord, Crc32cIsCastagnolis) {
  EXPECT_EQ(crc32c("123456789"), 0xe3069283u);
  EXPECT_EQ(crc32c(""), 0u);
}

// Made by another encoder.
TEST(EventRecord, IsTheBytesOfAnotherEncoder) {
  EXPECT_EQ(hex(file_version_record(1700000000)),
            "1800000000000000a37f4b22"
            "0900000040fc54d9411a0d627261696e2e4576656e743a32"
            "eced8f9d");
  EXPECT_EQ(hex(start_record(1700000000, 1000)),
            "100000000000000095fbfe18"
            "0900000040fc54d94110e8073a020801"
            "ce8a06b1");
  EXPECT_EQ(hex(scalars_record(1700000000, 1001, {{"loss", 2.5}})),
            "1b000000000000001a0d9e13"
            "0900000040fc54d94110e9072a0d0a0b0a046c6f73731500002040"
            "dce4b107");
}

TEST(EventRecord, HasAllPointsOfAStepAndLongNames) {
  const std::string tag(200, 'x');
  const std::string record = scalars_record(0, 1, {{tag, 1}, {"b", std::nan("")}});
  // Frame 16, wall time 9, step 2, summary 3; a value has 3 + 3 + 200 + 5 and 2 + 3 + 5 bytes.
  EXPECT_EQ(record.size(), 16u + 9 + 2 + 3 + 211 + 10);
  EXPECT_NE(record.find(tag), std::string::npos);
}

}  // namespace
}  // namespace titan::train::event_record_test
