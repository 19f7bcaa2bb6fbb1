#include "recipe/text/ruby_syntax.h"

#include <gtest/gtest.h>

namespace titan::recipe::ruby_syntax_test {
namespace {

std::string plain(const char* pattern) {
  const auto syntax = from_ruby(pattern);
  return syntax.ok() ? syntax->plain : syntax.status().message;
}

TEST(RubySyntax, LeavesWhatBothReadAlike) {
  for (const char* same : {"a|b+?", "(?i:'s|'t)", "[^\\r\\n]{1,3}", "(?!x)(?<=y)", "\\.\\[", " ?x++", "[!-/:-@]"})
    EXPECT_EQ(plain(same), same);
}

TEST(RubySyntax, WritesWhatTheyReadDifferently) {
  EXPECT_TRUE(plain("\\s").starts_with("[\\x{9}-\\x{d}"));
  EXPECT_TRUE(plain("\\S").starts_with("[^\\x{9}-\\x{d}"));
  EXPECT_TRUE(plain("[\\S]").starts_with("[\\x{0}-\\x{8}\\x{e}"));
  EXPECT_EQ(plain("a{,3}"), "a{0,3}");
  EXPECT_EQ(plain("\\v"), "\\x{b}");
  EXPECT_EQ(plain("\\u4e00"), "\\x{4e00}");
  EXPECT_EQ(plain("\\d"), "[\\p{Nd}]");
  EXPECT_EQ(plain("\\P{L}"), "[^\\p{L}]");
  EXPECT_EQ(plain("\\p{^L}"), "[^\\p{L}]");
}

TEST(RubySyntax, AddsYoungerCharactersToCategories) {
  const auto letters = from_ruby("[^\\r\\p{L}]");
  ASSERT_TRUE(letters.ok());
  EXPECT_EQ(letters->plain, "[^\\r\\p{L}]");
  EXPECT_TRUE(letters->exact.starts_with("[^\\r\\p{L}\\x{1c89}-\\x{1c8a}\\x{a7cb}")) << letters->exact;
  EXPECT_TRUE(contains(letters->newer, 0x1c89));
  EXPECT_TRUE(from_ruby("a")->newer.empty());
}

TEST(RubySyntax, RefusesWhatItCannotWrite) {
  for (const char* pattern : {"\\h", "[a&&b]", "[a[b]]", "\\p{Han}", "[^\\P{L}]", "(?m:.)", "(?<n>a)", "\\1",
                              "[[:alpha:]]", "\\b", "x{2}+", "\\xff", "(*UTF)"}) {
    const auto syntax = from_ruby(pattern);
    ASSERT_FALSE(syntax.ok()) << pattern;
    EXPECT_EQ(syntax.status().code, ckpt::Code::kUnsupported) << pattern;
  }
  for (const std::string& pattern :
       {std::string("[a"), std::string("a\\"), std::string("\\p{L"), std::string("\\u12"), std::string(20000, 'a')})
    EXPECT_EQ(from_ruby(pattern).status().code, ckpt::Code::kInvalid) << pattern.substr(0, 10);
}

TEST(RubySyntax, QuotesText) { EXPECT_EQ(quoted_pattern("a.b \xe2\x96\x81"), "a\\.b\\ \xe2\x96\x81"); }

}  // namespace
}  // namespace titan::recipe::ruby_syntax_test
