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
