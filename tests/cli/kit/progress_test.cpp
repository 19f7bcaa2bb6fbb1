#include "cli/kit/progress.h"

#include <gtest/gtest.h>

#include "cli/kit/text.h"

namespace titan::cli::progress_test {
namespace {

TEST(ProgressLine, ShowsShareRateAndTimeLeft) {
  EXPECT_EQ(progress_line("verify a", 512 << 20, 1 << 30, 2, 80),
            "verify a   512.0 MiB of 1.0 GiB   50%   256.0 MiB/s  2.0s left");
  EXPECT_EQ(progress_line("verify a", 512, 0, 0, 80), "verify a       512 B");
}

TEST(ProgressLine, KeepsNumbersInTheirPlaces) {
  for (const std::uint64_t done :
       {std::uint64_t{1} << 10, std::uint64_t{1} << 20, (std::uint64_t{1} << 30) - (1 << 20)})
    EXPECT_EQ(progress_line("verify a", done, std::uint64_t{1} << 30, 2, 80).find(" of 1.0 GiB"), 20u);
}

TEST(ProgressLine, CutsALongNameBeforeANumber) {
  EXPECT_EQ(progress_line("verify /data/some/very/long/path/to/runs/novel/checkpoint/step-00000010", 512 << 20, 1 << 30,
                          2, 80),
            "...eckpoint/step-00000010   512.0 MiB of 1.0 GiB   50%   256.0 MiB/s  2.0s left");
}

TEST(ProgressLine, StaysBelowTheWidthOfTheTerminal) {
  for (std::size_t width = 1; width < 60; ++width)
    EXPECT_LT(display_width(progress_line("verify a\x1b", 512 << 20, 1 << 30, 2, width)), width);
}

}  // namespace
}  // namespace titan::cli::progress_test
