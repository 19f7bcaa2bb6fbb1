#include "recipe/text/text_stream.h"

#include <gmock/gmock.h>

namespace titan::recipe::text_stream_test {
namespace {

using testing::ElementsAre;

// What each byte shows; the last is what was held back.
std::vector<std::string> shown(const std::string& bytes, std::vector<std::string> stops = {}) {
  TextStream stream(std::move(stops));
  std::vector<std::string> pieces;
  for (const char c : bytes) pieces.push_back(stream.push(std::string(1, c)));
  pieces.push_back(stream.finish());
  return pieces;
}

std::string all(const std::string& bytes, std::vector<std::string> stops = {}) {
  std::string text;
  for (const std::string& piece : shown(bytes, std::move(stops))) text += piece;
  return text;
}

const std::string kBad = "\xef\xbf\xbd";

TEST(TextStream, ShowsEachByteOfAscii) { EXPECT_THAT(shown("ab\n"), ElementsAre("a", "b", "\n", "")); }

TEST(TextStream, ShowsACharacterWithItsLastByte) {
  EXPECT_THAT(shown("\xc3\xa9"), ElementsAre("", "\xc3\xa9", ""));
  EXPECT_THAT(shown("\xe2\x82\xac!"), ElementsAre("", "", "\xe2\x82\xac", "!", ""));
  EXPECT_THAT(shown("\xf0\x9f\x98\x80"), ElementsAre("", "", "", "\xf0\x9f\x98\x80", ""));
}

TEST(TextStream, ShowsAMalformedPieceOnceNothingCanMendIt) {
  EXPECT_THAT(shown("\x80z"), ElementsAre(kBad, "z", ""));
  EXPECT_THAT(shown("\xc3z"), ElementsAre("", kBad + "z", ""));
  EXPECT_THAT(shown("\xe2\x82z"), ElementsAre("", "", kBad + "z", ""));
  EXPECT_THAT(shown("\xff\xfe"), ElementsAre(kBad, kBad, ""));
}

TEST(TextStream, CountsMalformedPiecesAsPythonDoes) {
  // bytes.decode("utf-8", "replace")
  EXPECT_EQ(all("\xf0\x9f\x98\xf0\x9f\x98\x80"), kBad + "\xf0\x9f\x98\x80");
  EXPECT_EQ(all("\xe0\x80\x80"), kBad + kBad + kBad);
  EXPECT_EQ(all("\xed\xa0\x80"), kBad + kBad + kBad);
  EXPECT_EQ(all("\xf4\x90\x80\x80"), kBad + kBad + kBad + kBad);
  EXPECT_EQ(all("\xc0\xaf"), kBad + kBad);
}

TEST(TextStream, WhatIsCutOffAtTheEndIsOnePiece) { EXPECT_EQ(all("a\xf0\x9f\x98"), "a" + kBad); }

TEST(TextStream, TakesPiecesOfAnyLength) {
  TextStream stream;
  EXPECT_EQ(stream.push("\xff"), kBad);
  EXPECT_EQ(stream.push(""), "");
  EXPECT_EQ(stream.push("ab\xc3"), "ab");
  EXPECT_EQ(stream.push("\xa9z"), "\xc3\xa9z");
  EXPECT_EQ(stream.push("a"), "a");
}

TEST(TextStream, EndsBeforeAStop) {
  TextStream stream({"\n\n"});
  EXPECT_EQ(stream.push("a"), "a");
  EXPECT_EQ(stream.push("\n"), "");
  EXPECT_FALSE(stream.stopped());
  EXPECT_EQ(stream.push("\n"), "");
  EXPECT_TRUE(stream.stopped());
  EXPECT_EQ(stream.push("b"), "");
  EXPECT_EQ(stream.finish(), "");
}

TEST(TextStream, HoldsBackWhatMayBecomeAStopAndNoMore) {
  EXPECT_THAT(shown("aab", {"aac"}), ElementsAre("", "", "aab", ""));
  EXPECT_THAT(shown("aaab", {"aac"}), ElementsAre("", "", "a", "aab", ""));
  EXPECT_EQ(all("xaa", {"aac"}), "xaa");
}

TEST(TextStream, TakesTheFirstOfSeveralStops) {
  EXPECT_EQ(all("one two three", {"three", "two"}), "one ");
  EXPECT_EQ(all("x END", {"END", "D"}), "x ");
}

TEST(TextStream, AStopMayCutACharacterShort) { EXPECT_EQ(all("a\xc3.", {"."}), "a" + kBad); }

}  // namespace
}  // namespace titan::recipe::text_stream_test
