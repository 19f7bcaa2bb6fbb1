#include "recipe/text/tokenizer.h"

#include <gmock/gmock.h>

#include "tests/recipe/support/small_tokenizer.h"

namespace titan::recipe::tokenizer_test {
namespace {

using ckpt::Code;
using ::testing::ElementsAre;
using testing::letter;
using testing::small_model;
using testing::small_tokenizer;

std::vector<std::uint32_t> encoded(const Tokenizer& tokenizer, std::string_view text) {
  Encoder encoder(tokenizer);
  std::vector<std::uint32_t> ids, again;
  EXPECT_TRUE(encoder.encode(text, ids).ok());
  EXPECT_TRUE(encoder.encode(text, again).ok());
  EXPECT_EQ(ids, again) << "what is remembered has the same ids";
  return ids;
}

std::string with_pattern(const std::string& pre_tokenizer, const std::string& model) {
  return "{\"pre_tokenizer\":" + pre_tokenizer + ",\"decoder\":{\"type\":\"ByteLevel\"}," + model + "}";
}

TEST(Tokenizer, EncodesAndDecodes) {
  const auto tokenizer = Tokenizer::parse("t", small_tokenizer());
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status().to_string();
  EXPECT_THAT(encoded(*tokenizer, "hello hell<eos>\xc3\xa9"), ElementsAre(259u, 260u, 256u, 300u, 0xc3u, 0xa9u));
  EXPECT_EQ(decode(*tokenizer, {259, 260, 256, 300, 0xc3, 0xa9}), "hello hell<eos>\xc3\xa9");
  EXPECT_EQ(decode(*tokenizer, {259, 300, 0xc3}, true), "hello\xef\xbf\xbd");
  EXPECT_EQ(tokenizer->id_bound(), 301u);
  EXPECT_EQ(tokenizer->tokens(), 262u);
  EXPECT_EQ(tokenizer->id_of("<eos>"), 300u);
  EXPECT_EQ(tokenizer->id_of("nothing"), std::nullopt);
}

TEST(Tokenizer, TextThatIsNotUtf8IsRefusedWithItsPlace) {
  const auto tokenizer = Tokenizer::parse("t", small_tokenizer());
  Encoder encoder(*tokenizer);
  std::vector<std::uint32_t> ids;
  const ckpt::Status status = encoder.encode("ab\xff", ids);
  EXPECT_EQ(status.code, Code::kInvalid);
  EXPECT_NE(status.message.find("offset 2"), std::string::npos) << status.message;
}

TEST(Tokenizer, TheConfigurationNamesWhatBeginsAndEndsADocument) {
  const char* config =
      R"({"model_max_length":1000000000000000019884624838656,"bos_token":null,"eos_token":{"__type":"AddedToken","content":"<eos>"},
          "add_eos_token":true,"added_tokens_decoder":{"301":{"content":"<pad>","special":true,"normalized":false}}})";
  const auto tokenizer = Tokenizer::parse("t", small_tokenizer(), config);
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status().to_string();
  EXPECT_EQ(tokenizer->eos(), 300u);
  EXPECT_EQ(tokenizer->bos(), std::nullopt);
  EXPECT_THAT(tokenizer->suffix(), ElementsAre(300u));
  EXPECT_TRUE(tokenizer->prefix().empty());
  EXPECT_THAT(encoded(*tokenizer, "<pad>"), ElementsAre(301u)) << "tokenizer.json lacks it";
  EXPECT_EQ(Tokenizer::parse("t", small_tokenizer(), R"({"eos_token":"<eos>"})")->eos(), 300u);
  EXPECT_EQ(Tokenizer::parse("t", small_tokenizer(), "{").status().code, Code::kInvalid);
}

TEST(Tokenizer, ATemplateSaysWhatStandsAround) {
  std::string json = small_tokenizer();
  const std::string null = "\"post_processor\":null";
  json.replace(
      json.find(null), null.size(),
      R"("post_processor":{"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"<eos>","type_id":0}},{"Sequence":{"id":"A","type_id":0}}],)"
      R"("special_tokens":{"<eos>":{"id":"<eos>","ids":[300],"tokens":["<eos>"]}}})");
  const auto tokenizer = Tokenizer::parse("t", json);
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status().to_string();
  EXPECT_THAT(tokenizer->prefix(), ElementsAre(300u));
  EXPECT_TRUE(tokenizer->suffix().empty());
}

TEST(Tokenizer, NormalisedTokensAreLookedForBehindTheNormalizer) {
  const std::string json =
      R"({"added_tokens":[{"id":9,"content":"  ","normalized":true}],"normalizer":{"type":"Replace","pattern":{"String":" "},"content":"_"},
          "pre_tokenizer":null,"decoder":{"type":"Sequence","decoders":[{"type":"Replace","pattern":{"String":"_"},"content":" "}]},
          "model":{"merges":["a b"],"vocab":{"a":0,"b":1,"_":2,"ab":3}}})";
  const auto tokenizer = Tokenizer::parse("t", json);
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status().to_string();
  EXPECT_THAT(encoded(*tokenizer, "ab  a b"), ElementsAre(3u, 9u, 0u, 2u, 1u));
  EXPECT_EQ(decode(*tokenizer, {3, 9, 0, 2, 1}), "ab  a b");
}

TEST(Tokenizer, RefusesWhatItIsNotByName) {
  const auto refused = [](const std::string& json, const char* name) {
    const auto tokenizer = Tokenizer::parse("t", json);
    ASSERT_FALSE(tokenizer.ok()) << json;
    EXPECT_EQ(tokenizer.status().code, Code::kUnsupported) << json;
    EXPECT_NE(tokenizer.status().to_string().find(name), std::string::npos) << tokenizer.status().to_string();
  };
  refused(R"({"model":{"type":"Unigram","vocab":[["a",-1.5]]}})", "Unigram");
  refused(R"({"model":{"type":"WordPiece","vocab":{"a":0}}})", "WordPiece");
  const std::string byte_level = R"({"type":"ByteLevel"})";
  refused(with_pattern(byte_level, small_model({}, ",\"dropout\":0.1")), "dropout");
  refused(with_pattern(byte_level, small_model({}, ",\"end_of_word_suffix\":\"</w>\"")), "end_of_word_suffix");
  refused("{\"post_processor\":{\"type\":\"RobertaProcessing\"},\"pre_tokenizer\":" + byte_level + "," +
              small_model({}) + "}",
          "RobertaProcessing");
  refused("{\"normalizer\":{\"type\":\"Precompiled\"},\"pre_tokenizer\":" + byte_level + "," + small_model({}) + "}",
          "Precompiled");
}

TEST(Tokenizer, DamagedFilesAreOneErrorEach) {
  const std::string whole = small_tokenizer();
  for (std::size_t size = 0; size < whole.size(); size += 97)
    EXPECT_FALSE(Tokenizer::parse("t", std::string_view(whole).substr(0, size)).ok()) << size;
  const std::string byte_level = R"({"type":"ByteLevel"})";
  for (const char* json : {"[]", "{}", R"({"model":{"type":"BPE","vocab":{"a":16777216},"merges":[]}})",
                           R"({"model":{"type":"BPE","vocab":{"a":-1},"merges":[]}})",
                           R"({"model":{"type":"BPE","vocab":{"a":0},"merges":["a b"]}})",
                           R"({"model":{"type":"BPE","vocab":{"a":0},"merges":["a  a"]}})",
                           R"({"model":{"type":"BPE","vocab":{"a":0},"merges":[["a"]]}})",
                           R"({"model":{"type":"BPE","vocab":{"a":0},"merges":[["a","a","a"]]}})",
                           R"({"model":{"type":"BPE","vocab":{"a":0}}})", R"({"added_tokens":[{"content":"a"}]})",
                           R"({"added_tokens":[{"id":4294967297,"content":"a"}]})",
                           R"({"added_tokens":[{"id":1,"content":"a","special":"yes"}]})"}) {
    const auto tokenizer = Tokenizer::parse("t", json);
    ASSERT_FALSE(tokenizer.ok()) << json;
    EXPECT_TRUE(tokenizer.status().code == Code::kInvalid || tokenizer.status().code == Code::kUnsupported)
        << tokenizer.status().to_string();
  }
  EXPECT_FALSE(
      Tokenizer::parse("t", R"({"added_tokens":[{"id":1,"content":")" + std::string(3000, 'a') + "\"}]}").ok());
}

TEST(Tokenizer, MemoryDoesNotDependOnWhatAFileClaims) {
  const std::string byte_level = R"({"type":"ByteLevel"})";
  const auto sparse =
      Tokenizer::parse("t", with_pattern(byte_level, R"("model":{"vocab":{"a":16777215},"merges":[]})"));
  ASSERT_TRUE(sparse.ok()) << sparse.status().to_string();
  EXPECT_EQ(decode(*sparse, {16777215, 7}), "a");
  const std::string token = R"("model":{"vocab":{")" + std::string(20000, 'a') + R"(":0},"merges":[]})";
  EXPECT_EQ(Tokenizer::parse("t", with_pattern(byte_level, token)).status().code, Code::kInvalid);
}

TEST(Tokenizer, AMillionMergesAreReadOrRefused) {
  std::string merges, added;
  for (int i = 0; i < 1'000'000; ++i) merges += i == 0 ? R"(["l","l"])" : R"(,["l","l"])";
  const std::string byte_level = R"({"type":"ByteLevel","add_prefix_space":false})";
  const auto same =
      Tokenizer::parse("t", with_pattern(byte_level, R"("model":{"vocab":{"l":0,"ll":1},"merges":[)" + merges + "]}"));
  ASSERT_TRUE(same.ok()) << same.status().to_string();
  EXPECT_EQ(encoded(*same, "lll"), (std::vector<std::uint32_t>{1, 0}));
  for (int i = 0; i < 200'000; ++i)
    added += (i == 0 ? R"({"id":9,"content":"a)" : R"(,{"id":9,"content":"a)") + std::to_string(i) + "\"}";
  EXPECT_EQ(Tokenizer::parse("t", "{\"added_tokens\":[" + added + "]," + small_model({}) + "}").status().code,
            Code::kInvalid);
}

// A document is long, and so is one piece of it: whoever asks for an end waits for neither.
TEST(Tokenizer, AStopEndsALongText) {
  const auto tokenizer = Tokenizer::parse("t", small_tokenizer());
  ASSERT_TRUE(tokenizer.ok());
  for (const char* unit : {"l", "a word "}) {
    int asked = 0;
    Encoder encoder(*tokenizer, [&] { return ++asked < 3 ? ckpt::ok_status() : ckpt::failed("stopped"); });
    std::string text;
    while (text.size() < (std::size_t{6} << 20)) text += unit;
    std::vector<std::uint32_t> ids;
    EXPECT_EQ(encoder.encode(text, ids).message, "stopped") << unit;
    EXPECT_EQ(asked, 3) << unit;
  }
}

TEST(Tokenizer, NoTextMakesItQuadratic) {
  const auto tokenizer = Tokenizer::parse("t", small_tokenizer());
  ASSERT_TRUE(tokenizer.ok());
  for (const char* unit : {"l", " ", "\n", "9", "\xf0\x9f\x98\x80", "<eos", "\xe2\x80\x8d"}) {
    std::string text;
    while (text.size() < 1'000'000) text += unit;
    EXPECT_EQ(decode(*tokenizer, encoded(*tokenizer, text)), text) << unit;
  }
}

}  // namespace
}  // namespace titan::recipe::tokenizer_test
