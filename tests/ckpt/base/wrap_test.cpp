#include "ckpt/base/wrap.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace titan::ckpt::wrap_test {
namespace {

using ::testing::ElementsAre;

TEST(Wrap, BreaksBetweenWordsAndKeepsLongOnesWhole) {
  EXPECT_THAT(wrap_words("one two three", 7), ElementsAre("one two", "three"));
  EXPECT_THAT(wrap_words("one two three", 8), ElementsAre("one two", "three"));
  EXPECT_THAT(wrap_words("one two three", 7, 4), ElementsAre("one", "two", "three"));
  EXPECT_THAT(wrap_words("a much-too-long word", 6), ElementsAre("a", "much-too-long", "word"));
  EXPECT_THAT(wrap_words("", 6), ElementsAre(""));
  EXPECT_THAT(wrap_words("two  blanks stay ", 20), ElementsAre("two  blanks stay"));
}

TEST(Wrap, CountsCharactersNotBytes) { EXPECT_THAT(wrap_words("äöü äöü", 7), ElementsAre("äöü äöü")); }

TEST(Wrap, IndentsWhatFollows) {
  EXPECT_EQ(wrapped_text("one two three", 9, 2), "one two\n  three");
  EXPECT_EQ(wrapped_text("one", 1, 4), "one");
}

}  // namespace
}  // namespace titan::ckpt::wrap_test
