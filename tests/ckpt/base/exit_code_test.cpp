#include "ckpt/base/exit_code.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace titan::ckpt::exit_code_test {
namespace {

TEST(ExitCode, EachKindOfFailureHasThePublishedOne) {
  for (const auto& [code, exit] : {std::pair{Code::kOk, 0},
                                   {Code::kInvalid, 2},
                                   {Code::kUnsupported, 2},
                                   {Code::kFailed, 3},
                                   {Code::kMediaError, 3},
                                   {Code::kNotFound, 10},
                                   {Code::kLocked, 11},
                                   {Code::kCorrupt, 12},
                                   {Code::kIncompatible, 13},
                                   {Code::kInterrupted, 130},
                                   {Code::kTerminated, 143}})
    EXPECT_EQ(exit_code(code), exit) << code_name(code);
}

TEST(ExitCode, AreOneListWithThoseOfAStop) {
  std::vector<int> codes;
  for (int code = -1; code < 256; ++code)
    if (is_exit_code(code)) codes.push_back(code);
  EXPECT_EQ(codes, (std::vector<int>{0, 1, 2, 3, 10, 11, 12, 13, 75, 130, 143}));
  EXPECT_TRUE(ended_well(kExitDone) && ended_well(kExitSaved) && !ended_well(kExitInterrupted));
  EXPECT_TRUE(stopped_early(kExitSaved) && stopped_early(kExitTerminated) && !stopped_early(kExitFailed));
}

}  // namespace
}  // namespace titan::ckpt::exit_code_test
