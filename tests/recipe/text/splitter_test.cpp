#include "recipe/text/splitter.h"

#include <gmock/gmock.h>

namespace titan::recipe::splitter_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

struct Pieces : PieceSink {
  std::vector<std::string> all;
  ckpt::Status piece(std::string_view piece) override {
    all.emplace_back(piece);
    return {};
  }
};

ckpt::Result<Splitter> read(const std::string& json) {
  const auto value = ckpt::parse_json("t", json);
  EXPECT_TRUE(value.ok()) << json;
  return Splitter::read(&*value);
}

std::vector<std::string> cut(const std::string& json, const std::string& text, bool first = true) {
  const auto splitter = read(json);
  if (!splitter.ok()) return {splitter.status().message};
  SplitRun run(*splitter);
  Pieces pieces;
  EXPECT_TRUE(run.cut(text, first, pieces).ok());
  return pieces.all;
}

std::string split(const char* behavior, const char* invert = "false") {
  return std::string(R"({"type":"Split","pattern":{"String":"-"},"behavior":")") + behavior +
         "\",\"invert\":" + invert + "}";
}

TEST(Splitter, EachBehaviorOfSplit) {
  const std::string text = "a-b--c-";
  EXPECT_THAT(cut(split("Removed"), text), ElementsAre("a", "b", "c"));
  EXPECT_THAT(cut(split("Isolated"), text), ElementsAre("a", "-", "b", "-", "-", "c", "-"));
  EXPECT_THAT(cut(split("MergedWithPrevious"), text), ElementsAre("a-", "b-", "-", "c-"));
  EXPECT_THAT(cut(split("MergedWithNext"), text), ElementsAre("a", "-b", "-", "-c", "-"));
  EXPECT_THAT(cut(split("Contiguous"), text), ElementsAre("a", "-", "b", "--", "c", "-"));
  EXPECT_THAT(cut(split("Removed", "true"), text), ElementsAre("-", "-", "-", "-"));
  EXPECT_THAT(cut(split("Isolated"), ""), IsEmpty());
}

TEST(Splitter, ByteLevelCutsAsGpt2) {
  EXPECT_THAT(cut(R"({"type":"ByteLevel","add_prefix_space":false})", "it's  a\n"),
              ElementsAre("it", "'s", " ", " a", "\n"));
  EXPECT_THAT(cut(R"({"type":"ByteLevel"})", "a"), ElementsAre(" a"));
  EXPECT_THAT(cut(R"({"type":"ByteLevel"})", " a"), ElementsAre(" a"));
  EXPECT_THAT(cut(R"({"type":"ByteLevel","use_regex":false,"add_prefix_space":false})", "a b"), ElementsAre("a b"));
}

TEST(Splitter, DigitsAreNumbersOfAnyScript) {
  EXPECT_THAT(cut(R"({"type":"Digits","individual_digits":true})", "a12\xc2\xbd"),
              ElementsAre("a", "1", "2", "\xc2\xbd"));
  EXPECT_THAT(cut(R"({"type":"Digits"})", "a12b"), ElementsAre("a", "12", "b"));
}

TEST(Splitter, MetaspaceMarksWords) {
  const auto meta = [](const std::string& more) { return R"({"type":"Metaspace","replacement":"_")" + more + "}"; };
  EXPECT_THAT(cut(meta(""), "a  b"), ElementsAre("_a", "_", "_b"));
  EXPECT_THAT(cut(meta(""), " a"), ElementsAre("_a")) << "there is a mark already";
  EXPECT_THAT(cut(meta(R"(,"prepend_scheme":"never")"), "a b"), ElementsAre("a", "_b"));
  EXPECT_THAT(cut(meta(R"(,"add_prefix_space":false)"), "a b"), ElementsAre("a", "_b"));
  EXPECT_THAT(cut(meta(R"(,"prepend_scheme":"first")"), "a", true), ElementsAre("_a"));
  EXPECT_THAT(cut(meta(R"(,"prepend_scheme":"first")"), "a", false), ElementsAre("a"));
  EXPECT_THAT(cut(meta(R"(,"split":false)"), "a b"), ElementsAre("_a_b"));
}

TEST(Splitter, StepsOfASequenceWorkWithinPieces) {
  EXPECT_THAT(
      cut(R"({"type":"Sequence","pretokenizers":[{"type":"Digits"},{"type":"ByteLevel","add_prefix_space":false}]})",
          "a 12 b"),
      ElementsAre("a", " ", "12", " b"))
      << "the space before the number is at the end of its piece";
}

TEST(Splitter, CutsBeforeRuns) {
  Splitter splitter;
  splitter.cut_before_runs_of("_");
  SplitRun run(splitter);
  Pieces pieces;
  ASSERT_TRUE(run.cut("_a__b_", true, pieces).ok());
  EXPECT_THAT(pieces.all, ElementsAre("_a", "__b", "_"));
}

TEST(Splitter, RefusesOthersByName) {
  for (const char* json : {R"({"type":"Whitespace"})", R"({"type":"Punctuation","behavior":"Contiguous"})",
                           R"({"type":"Sequence","pretokenizers":[{"type":"ByteLevel"},{"type":"Digits"}]})",
                           R"({"type":"Split","pattern":{"Regex":"\\p{Han}"},"behavior":"Isolated"})",
                           R"({"type":"Split","pattern":{"Regex":"x"},"behavior":"Doubled"})"}) {
    const auto splitter = read(json);
    ASSERT_FALSE(splitter.ok()) << json;
    EXPECT_EQ(splitter.status().code, ckpt::Code::kUnsupported) << json;
  }
  for (const char* json : {R"({"type":"Split","behavior":"Isolated"})", R"({"type":"Metaspace","replacement":""})",
                           R"({"type":"Split"})", R"({"type":"ByteLevel","use_regex":3})", R"({"type":"Sequence"})"})
    EXPECT_EQ(read(json).status().code, ckpt::Code::kInvalid) << json;
  std::string deep;
  for (int i = 0; i < 40; ++i) deep += std::string(i == 0 ? "" : ",") + R"({"type":"Digits"})";
  EXPECT_FALSE(read(R"({"type":"Sequence","pretokenizers":[)" + deep + "]}").ok());
}

}  // namespace
}  // namespace titan::recipe::splitter_test
