#include "recipe/text/normalizer.h"

#include <gtest/gtest.h>

namespace titan::recipe::normalizer_test {
namespace {

ckpt::Result<Normalizer> read(const char* json) {
  const auto value = ckpt::parse_json("t", json);
  return Normalizer::read(&*value);
}

std::string applied(const char* json, const std::string& text) {
  const auto normalizer = read(json);
  if (!normalizer.ok()) return normalizer.status().message;
  std::string out;
  return std::string(normalizer->apply(text, out));
}

constexpr const char* kLlama2 =
    R"({"type":"Sequence","normalizers":[{"type":"Prepend","prepend":"_"},{"type":"Replace","pattern":{"String":" "},"content":"_"}]})";

TEST(Normalizer, DoesItsStepsInOrder) {
  EXPECT_EQ(applied(kLlama2, "a b"), "_a_b");
  EXPECT_EQ(applied(kLlama2, ""), "") << "nothing is put before nothing";
  EXPECT_EQ(applied(R"({"type":"NFC"})", "e\xcc\x81"), "\xc3\xa9");
  EXPECT_EQ(applied(R"({"type":"Replace","pattern":{"String":"aa"},"content":"b"})", "aaaaa"), "bba");
  EXPECT_EQ(applied(R"({"type":"Sequence","normalizers":[]})", "x"), "x");
}

TEST(Normalizer, RefusesOthersByName) {
  for (const char* name : {"NFKC", "Lowercase", "Precompiled", "BertNormalizer"}) {
    const auto normalizer = read(("{\"type\":\"" + std::string(name) + "\"}").c_str());
    ASSERT_FALSE(normalizer.ok());
    EXPECT_EQ(normalizer.status().code, ckpt::Code::kUnsupported);
    EXPECT_NE(normalizer.status().message.find(name), std::string::npos);
  }
  EXPECT_FALSE(read(R"({"type":"Replace","pattern":{"Regex":" +"},"content":"_"})").ok());
  EXPECT_FALSE(read(R"({"type":"Replace","pattern":{"String":""},"content":"_"})").ok());
  EXPECT_FALSE(read(R"({"type":"Replace","pattern":{"String":"a"},"content":"aaaaa"})").ok()) << "a text has a bound";
  EXPECT_FALSE(read(("{\"type\":\"Prepend\",\"prepend\":\"" + std::string(2000, 'x') + "\"}").c_str()).ok());
}

}  // namespace
}  // namespace titan::recipe::normalizer_test
