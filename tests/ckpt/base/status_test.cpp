#include "ckpt/base/status.h"

#include <gtest/gtest.h>

#include <cerrno>

#include "ckpt/base/fs_posix.h"

namespace titan::ckpt {
namespace {

TEST(Status, EveryCodeHasItsPublishedExitCodeAndName) {
  struct Case {
    Code code;
    int exit;
    const char* name;
  };
  for (const Case& c : {Case{Code::kOk, 0, "ok"},
                        {Code::kInvalid, 2, "usage"},
                        {Code::kUnsupported, 2, "unsupported"},
                        {Code::kFailed, 3, "failed"},
                        {Code::kMediaError, 3, "media_error"},
                        {Code::kNotFound, 10, "not_found"},
                        {Code::kLocked, 11, "locked"},
                        {Code::kCorrupt, 12, "corruption"},
                        {Code::kIncompatible, 13, "incompatible"},
                        {Code::kInterrupted, 130, "interrupted"},
                        {Code::kTerminated, 143, "terminated"}}) {
    EXPECT_EQ(exit_code(c.code), c.exit) << c.name;
    EXPECT_STREQ(code_name(c.code), c.name);
  }
}

TEST(Status, ExitCodesAreOneListWithThoseOfAStop) {
  std::vector<int> codes;
  for (int code = -1; code < 256; ++code)
    if (is_exit_code(code)) codes.push_back(code);
  EXPECT_EQ(codes, (std::vector<int>{0, 1, 2, 3, 10, 11, 12, 13, 75, 130, 143}));
  EXPECT_TRUE(ended_well(kExitDone) && ended_well(kExitSaved) && !ended_well(kExitInterrupted));
  EXPECT_TRUE(stopped_early(kExitSaved) && stopped_early(kExitTerminated) && !stopped_early(kExitFailed));
}

TEST(Status, SaysWhichCheckpointAnErrorIsAboutThroughEveryWrapping) {
  EXPECT_EQ(corrupt("bad").about("/run/step").wrapped("diff").with_hint("h").path, "/run/step");
  EXPECT_EQ(ok_status().about("/run/step"), ok_status());
}

TEST(Status, WrappingKeepsTheOldMessageAsFirstCauseAndTheHint) {
  Status status = failed("disk full").with_hint("make room").wrapped("saving failed").wrapped("step 7 was not saved");
  EXPECT_EQ(status.to_string(),
            "step 7 was not saved\n  caused by: saving failed\n  caused by: disk full\n  hint: make room");
  EXPECT_FALSE(status.ok());
  EXPECT_TRUE(ok_status().ok());
}

TEST(Status, ARefusalOfTheStoreKeepsItsErrorThroughEveryWrapping) {
  for (const int error : {ENOSPC, EDQUOT, EIO})
    EXPECT_TRUE(errno_status(error, "/d/f", "pwrite").wrapped("step 2").with_hint("h").store_refused()) << error;
  for (const int error : {EACCES, EROFS, ENOENT, EMFILE})
    EXPECT_FALSE(errno_status(error, "/d/f", "pwrite").store_refused()) << error;
  EXPECT_FALSE(failed("the manifest would read back as another one").store_refused());
  EXPECT_FALSE(ok_status().store_refused());
}

}  // namespace
}  // namespace titan::ckpt
