#include "recipe/text/pattern.h"

#include <gmock/gmock.h>

namespace titan::recipe::pattern_test {
namespace {

using testing::ElementsAre;

std::vector<std::string> matches(const char* pattern, const std::string& text) {
  const auto compiled = Pattern::compile(pattern);
  if (!compiled.ok()) return {compiled.status().message};
  Matcher matcher(*compiled);
  matcher.start(text);
  std::vector<std::string> found;
  for (Match match; matcher.next(&match);) found.push_back(text.substr(match.begin, match.end - match.begin));
  EXPECT_TRUE(matcher.status().ok());
  return found;
}

TEST(Pattern, KnowsLettersOfUnicode16) {
  EXPECT_THAT(matches("\\p{L}+", "a\xe1\xb2\x89z"), ElementsAre("a\xe1\xb2\x89z"));  // U+1C89
  EXPECT_THAT(matches("[^\\p{L}]+", "a\xe1\xb2\x89-"), ElementsAre("-"));
  EXPECT_THAT(matches("\\p{N}", "1\xf0\x90\xb5\x80"), ElementsAre("1", "\xf0\x90\xb5\x80"));  // U+10D40
}

TEST(Pattern, WhiteSpaceIsThatOfOniguruma) {
  EXPECT_THAT(matches("\\s+", "a\xe2\x80\x83\xc2\x85z"), ElementsAre("\xe2\x80\x83\xc2\x85"));
  EXPECT_TRUE(matches("\\s", "\xe1\xa0\x8e").empty()) << "U+180E, which PCRE2 takes for a space";
  EXPECT_THAT(matches("\\S", "\xe1\xa0\x8e "), ElementsAre("\xe1\xa0\x8e"));
}

TEST(Pattern, CaseFoldsBeyondAscii) {
  EXPECT_THAT(matches("(?i:'s)", "it'\xc5\xbf 'S"), ElementsAre("'\xc5\xbf", "'S"));
}

TEST(Pattern, LineAnchorsAreThoseOfRuby) {
  EXPECT_THAT(matches("^.", "a\nb\rc"), ElementsAre("a", "b"));
  EXPECT_THAT(matches("b?",
                      "ab\xc3\xa9"
                      "b"),
              ElementsAre("b", "b"))
      << "empty matches are none, and characters stay whole";
}

TEST(Pattern, LongRunsAreLinear) {
  const std::string spaces(3'000'000, ' '), letters(3'000'000, 'A');
  EXPECT_EQ(matches("\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+", spaces).size(), 1u);
  EXPECT_EQ(
      matches("[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lo}]*[\\p{Ll}\\p{Lo}]+|[\\p{Lu}\\p{Lo}]+[\\p{Ll}\\p{Lo}]*", letters)
          .size(),
      1u);
}

TEST(Pattern, GivesUpOnAPatternThatExplodes) {
  const auto compiled = Pattern::compile("(a+)+(a+)+(a+)+(a+)+$");
  ASSERT_TRUE(compiled.ok());
  Matcher matcher(*compiled);
  const std::string text = std::string(300, 'a') + "b";
  matcher.start(text);
  Match match;
  EXPECT_FALSE(matcher.next(&match));
  EXPECT_EQ(matcher.status().code, ckpt::Code::kInvalid);
  EXPECT_FALSE(Pattern::compile("(").ok());
}

}  // namespace
}  // namespace titan::recipe::pattern_test
