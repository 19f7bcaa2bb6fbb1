#include "recipe/text/detokenizer.h"

#include <gtest/gtest.h>

namespace titan::recipe::detokenizer_test {
namespace {

constexpr const char* kLlama2 =
    R"({"type":"Sequence","decoders":[{"type":"Replace","pattern":{"String":"_"},"content":" "},{"type":"ByteFallback"},{"type":"Fuse"},)"
    R"({"type":"Strip","content":" ","start":1,"stop":0}]})";

ckpt::Result<Detokenizer> read(const char* json, bool byte_level = false) {
  if (json == nullptr) return Detokenizer::read(nullptr, byte_level);
  const auto value = ckpt::parse_json("t", json);
  return Detokenizer::read(&*value, byte_level);
}

// Of tokens whose ids are their places; each is decoded once.
std::string text(const char* json, const std::vector<std::string>& tokens, bool byte_level = false) {
  auto detokenizer = read(json, byte_level);
  if (!detokenizer.ok()) return detokenizer.status().message;
  for (std::uint32_t id = 0; id < tokens.size(); ++id) EXPECT_TRUE(detokenizer->add(id, tokens[id]).ok());
  DecodeRun run(*detokenizer);
  std::string all;
  for (std::uint32_t id = 0; id < tokens.size(); ++id) all += run.push(id);
  return all + run.finish();
}

const std::string kBad = "\xef\xbf\xbd";

TEST(Detokenizer, LettersBecomeBytes) {
  EXPECT_EQ(text(R"({"type":"ByteLevel"})", {"\xc4\xa0"
                                             "a",
                                             "\xc3\x83", "\xc2\xa9"}),
            " a\xc3\xa9");
  EXPECT_EQ(text(R"({"type":"ByteLevel"})", {"a b"}), "a b")
      << "a token that is not written in letters stands for itself";
  EXPECT_EQ(text(nullptr, {"\xc4\xa0"}, true), " ");
}

TEST(Detokenizer, BytesOfTheFallbackCountTogether) {
  EXPECT_EQ(text(kLlama2, {"_a", "<0xC3>", "<0xA9>", "b"}),
            "a\xc3\xa9"
            "b");
  EXPECT_EQ(text(kLlama2, {"a", "<0xF0>", "<0x9F>", "<0x91>"}), "a" + kBad + kBad + kBad);
  EXPECT_EQ(text(kLlama2, {"<0xG0>"}), "<0xG0>");
}

TEST(Detokenizer, OneSpaceGoesFromTheBeginning) {
  EXPECT_EQ(text(kLlama2, {"__a", "_b"}), " a b");
  EXPECT_EQ(text(kLlama2, {"_", "_b"}), " b");
  EXPECT_EQ(text(kLlama2, {"_", "<0x20>"}), " ");
}

TEST(Detokenizer, MetaspaceTakesTheFirstMark) {
  EXPECT_EQ(text(R"({"type":"Metaspace","replacement":"_"})", {"_a", "_b_c"}), "a b c");
  EXPECT_EQ(text(R"({"type":"Metaspace","replacement":"_","prepend_scheme":"never"})", {"_a", "_b"}), " a b");
}

TEST(Detokenizer, IdsWithoutATokenAreNothing) {
  auto detokenizer = read(R"({"type":"ByteLevel"})");
  ASSERT_TRUE(detokenizer->add(2, "x").ok());
  ASSERT_TRUE(detokenizer->add(2, "y").ok());
  DecodeRun run(*detokenizer);
  EXPECT_EQ(run.push(0) + run.push(1) + run.push(2) + run.push(3) + run.push(0xffffffff), "x");
}

TEST(Detokenizer, RefusesOthersByName) {
  for (const char* json : {R"({"type":"WordPiece","prefix":"##"})", R"({"type":"CTC"})",
                           R"({"type":"Strip","content":" ","start":2,"stop":0})"})
    EXPECT_EQ(read(json).status().code, ckpt::Code::kUnsupported) << json;
  EXPECT_FALSE(read(nullptr).ok()) << "characters, and nothing says how they become text";
}

}  // namespace
}  // namespace titan::recipe::detokenizer_test
