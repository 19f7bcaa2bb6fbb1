#include "ckpt/base/status.h"

#include <gtest/gtest.h>

#include <cerrno>

#include "ckpt/base/errno_status.h"

namespace titan::ckpt::status_test {
namespace {

TEST(Status, EveryCodeHasItsName) {
  struct Case {
    Code code;
    const char* name;
  };
  for (const Case& c : {Case{Code::kOk, "ok"},
                        {Code::kInvalid, "usage"},
                        {Code::kUnsupported, "unsupported"},
                        {Code::kFailed, "failed"},
                        {Code::kMediaError, "media_error"},
                        {Code::kNotFound, "not_found"},
                        {Code::kLocked, "locked"},
                        {Code::kCorrupt, "corruption"},
                        {Code::kIncompatible, "incompatible"},
                        {Code::kInterrupted, "interrupted"},
                        {Code::kTerminated, "terminated"}}) {
    EXPECT_STREQ(code_name(c.code), c.name);
  }
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
  for (const int error : {ENOSPC, EDQUOT, EIO, ESTALE, ENOTCONN, ESHUTDOWN, EHOSTUNREACH})
    EXPECT_TRUE(errno_status(error, "/d/f", "pwrite").wrapped("step 2").with_hint("h").store_refused()) << error;
  for (const int error : {EACCES, EROFS, ENOENT, EMFILE})
    EXPECT_FALSE(errno_status(error, "/d/f", "pwrite").store_refused()) << error;
  EXPECT_FALSE(failed("the manifest would read back as another one").store_refused());
  EXPECT_FALSE(ok_status().store_refused());
}

}  // namespace
}  // namespace titan::ckpt::status_test
