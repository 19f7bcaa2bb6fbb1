#include "cli/kit/errors.h"

#include <gtest/gtest.h>

#include <cerrno>

namespace titan::cli::errors_test {
namespace {

ckpt::Status damaged() {
  ckpt::Status status = ckpt::corrupt("a\x1b[2Jb: checksum 1 expected 2").with_hint("`titan-ckpt verify runs/a`");
  status.causes = {"first", "second"};
  return status;
}

TEST(Errors, PrintWhatWhyAndWhatToDoWithNamesEscaped) {
  EXPECT_EQ(error_text(damaged(), {}),
            "error: a\\x1b[2Jb: checksum 1 expected 2\n"
            "  caused by: first\n"
            "  caused by: second\n"
            "  hint: `titan-ckpt verify runs/a`\n");
}

TEST(Errors, WhoMayNotDoSomethingIsToldWhereToLook) {
  ckpt::Status refused = ckpt::failed("x: open: Permission denied");
  refused.error = EACCES;
  EXPECT_NE(error_text(refused, {}).find("hint: give this user the permission"), std::string::npos);
  EXPECT_NE(error_json(refused).find("give this user the permission"), std::string::npos);
  refused.hint = "look there";
  EXPECT_EQ(error_text(refused, {}), "error: x: open: Permission denied\n  hint: look there\n");
  refused.hint.clear();
  refused.error = EMFILE;
  EXPECT_EQ(error_text(refused, {}), "error: x: open: Permission denied\n");
}

TEST(Errors, NotesFoldToATerminal) {
  EXPECT_EQ(note_text("one two\x1b three", {}), "note: one two\\x1b three\n");
  EXPECT_EQ(note_text("one two three", {false, 15}), "note: one two\n  three\n");
}

TEST(Errors, LinesToPasteStandBelowTheHint) {
  EXPECT_EQ(error_text(ckpt::invalid("no").with_hint("type:\n    one\x1b\n    two\nthree"), {}),
            "error: no\n  hint: type:\n    one\\x1b\n    two\\x0athree\n");
}

TEST(Errors, AreOneJsonObjectWithTheExitCode) {
  EXPECT_EQ(error_json(damaged()),
            R"({"type":"error","code":12,"kind":"corruption","message":"a\u001B[2Jb: checksum 1 expected 2",)"
            R"("causes":["first","second"],"hint":"`titan-ckpt verify runs/a`"})"
            "\n");
}

}  // namespace
}  // namespace titan::cli::errors_test
