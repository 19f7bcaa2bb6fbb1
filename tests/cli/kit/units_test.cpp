#include "cli/kit/units.h"

#include <gtest/gtest.h>

namespace titan::cli::units_test {
namespace {

TEST(FormatBytes, UsesBinaryUnitsAndExactDigitsOnRequest) {
  EXPECT_EQ(format_bytes(0), "0 B");
  EXPECT_EQ(format_bytes(1023), "1023 B");
  EXPECT_EQ(format_bytes(1024), "1.0 KiB");
  EXPECT_EQ(format_bytes(1048575), "1.0 MiB");
  EXPECT_EQ(format_bytes(1610612736), "1.5 GiB");
  EXPECT_EQ(format_bytes(UINT64_MAX), "16.0 EiB");
  EXPECT_EQ(format_bytes(1610612736, true), "1610612736");
}

TEST(FormatDuration, ChangesUnitsWithTheSize) {
  EXPECT_EQ(format_duration(-5), "0s");
  EXPECT_EQ(format_duration(0.25), "0.2s");
  EXPECT_EQ(format_duration(9.99), "10s");
  EXPECT_EQ(format_duration(59.6), "1m00s");
  EXPECT_EQ(format_duration(123), "2m03s");
  EXPECT_EQ(format_duration(3725), "1h02m");
  EXPECT_EQ(format_duration(3 * 86400 + 4 * 3600), "3d04h");
}

TEST(FormatCount, GroupsThousands) {
  EXPECT_EQ(format_count(0), "0");
  EXPECT_EQ(format_count(999), "999");
  EXPECT_EQ(format_count(1000), "1,000");
  EXPECT_EQ(format_count(1234567), "1,234,567");
  EXPECT_EQ(format_count(UINT64_MAX), "18,446,744,073,709,551,615");
}

TEST(FormatReal, IsShortestAndRoundsOnlyForPeople) {
  EXPECT_EQ(format_real(3e-4), "3e-04");
  EXPECT_EQ(format_real(0.1 + 0.2), "0.30000000000000004");
  EXPECT_EQ(format_real(-1.0 / 0.0), "-inf");
  EXPECT_EQ(format_rounded(0.1 + 0.2), "0.3");
  EXPECT_EQ(format_rounded(0.0 / 0.0), "nan");
}

TEST(Utc, ReadsAndWritesRfc3339) {
  EXPECT_EQ(parse_utc("1970-01-01T00:00:00Z"), 0);
  EXPECT_EQ(parse_utc("2026-01-02T03:04:05.678Z"), 1767323045);
  EXPECT_EQ(format_utc(1767323045), "2026-01-02T03:04:05Z");
  for (const std::int64_t t : {0LL, 951782400LL, 1709164799LL, 4102444800LL}) EXPECT_EQ(parse_utc(format_utc(t)), t);
  for (const char* bad : {"", "2026-01-02", "2026-13-02T03:04:05Z", "2026-02-30T03:04:05Z", "2026-01-02T25:04:05Z",
                          "2026-01-02T03:04:05+01:00", "2026-01-02T-3:04:05Z", "aaaa-01-02T03:04:05Z"})
    EXPECT_FALSE(parse_utc(bad)) << bad;
}

TEST(Units, WritesSharesAndCounts) {
  EXPECT_EQ(format_share(0.03141), "3.14%");
  EXPECT_EQ(format_share(0.03141, 2), "3.1%");
  EXPECT_EQ(format_share(1), "100%");
}

TEST(Units, ReadsDurations) {
  EXPECT_EQ(parse_duration("90s"), 90);
  EXPECT_EQ(parse_duration("45m"), 2700);
  EXPECT_EQ(parse_duration("1.5h"), 5400);
  EXPECT_EQ(parse_duration("2d"), 172800);
  for (const char* text : {"", "6", "h", "6x", "6hh", "-1h", "0s", "nan s", "infd", "1e999h", " 6h"})
    EXPECT_FALSE(parse_duration(text)) << text;
}

}  // namespace
}  // namespace titan::cli::units_test
