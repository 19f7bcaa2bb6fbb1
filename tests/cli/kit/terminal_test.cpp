#include "cli/kit/terminal.h"

#include <gtest/gtest.h>

namespace titan::cli::terminal_test {
namespace {

TEST(DecideColor, FollowsFlagThenNoColorThenForceThenTerminal) {
  struct Case {
    const char* name;
    ColorInputs inputs;
    bool color;
  };
  const std::optional<std::string> unset;
  const Case cases[] = {
      {"flag always beats NO_COLOR", {ColorChoice::kAlways, "1", unset, "dumb", false}, true},
      {"flag never beats CLICOLOR_FORCE", {ColorChoice::kNever, unset, "1", "xterm", true}, false},
      {"NO_COLOR beats CLICOLOR_FORCE", {ColorChoice::kAuto, "1", "1", "xterm", true}, false},
      {"empty NO_COLOR counts as not set", {ColorChoice::kAuto, "", unset, "xterm", true}, true},
      {"CLICOLOR_FORCE without a terminal", {ColorChoice::kAuto, unset, "1", unset, false}, true},
      {"CLICOLOR_FORCE=0 is no force", {ColorChoice::kAuto, unset, "0", "xterm", false}, false},
      {"terminal", {ColorChoice::kAuto, unset, unset, "xterm", true}, true},
      {"dumb terminal", {ColorChoice::kAuto, unset, unset, "dumb", true}, false},
      {"pipe", {ColorChoice::kAuto, unset, unset, "xterm", false}, false},
  };
  for (const Case& c : cases) EXPECT_EQ(decide_color(c.inputs), c.color) << c.name;
}

TEST(Palette, FoldsLinesOnATerminalAlone) {
  EXPECT_EQ(folded_line("  one two three", {}, 4), "  one two three");
  EXPECT_EQ(folded_line("  one two three", {false, 14}, 4), "  one two\n    three");
}

TEST(Palette, PaintsRolesOnlyWhenOn) {
  EXPECT_EQ((Palette{false}).paint(Role::kError, "x"), "x");
  EXPECT_EQ((Palette{true}).paint(Role::kError, "x"), "\x1b[31mx\x1b[0m");
  EXPECT_EQ((Palette{true}).paint(Role::kPlain, "x"), "x");
  EXPECT_EQ((Palette{true}).paint(Role::kOk, ""), "");
}

}  // namespace
}  // namespace titan::cli::terminal_test
