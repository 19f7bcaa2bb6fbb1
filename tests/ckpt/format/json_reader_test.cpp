#include "ckpt/format/json_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <limits>

#include "ckpt/format/json_writer.h"

namespace titan::ckpt::json_reader_test {
namespace {

Status skip_all(std::string_view text) {
  JsonReader in("t", text);
  in.skip();
  return in.finish();
}

TEST(JsonReader, SaysWhereTextIsNotUtf8) {
  EXPECT_EQ(skip_all("{\"a\":\"\xE4\"}").message, "t: the text is not UTF-8 (at offset 6)");
  EXPECT_EQ(skip_all("\xFF[]").message, "t: the text is not UTF-8 (at offset 0)");
}

TEST(JsonReader, AcceptsEveryFormOfJson) {
  for (const char* text : {"{}",
                           "[]",
                           " [ ] ",
                           "\t{\r\n}\n",
                           "null",
                           "true",
                           "false",
                           "0",
                           "-0",
                           "-0.0",
                           "1e5",
                           "1E+5",
                           "1.25e-7",
                           "\"\"",
                           "\"a\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e4\"",
                           "\"\\uD83D\\uDE00\"",
                           "[1,[2,{\"a\":[]}],\"x\"]",
                           "{\"a\":1,\"a\":2}",
                           "\"\xC3\xA4\xF0\x9F\x98\x80\"",
                           "18446744073709551615",
                           "123456789012345678901234567890"}) {
    EXPECT_TRUE(skip_all(text).ok()) << text << ": " << skip_all(text).to_string();
  }
}

TEST(JsonReader, RefusesEverythingElse) {
  for (const char* text : {"",
                           " ",
                           "{",
                           "}",
                           "[",
                           "]",
                           "[1",
                           "[1,",
                           "[1,]",
                           "[,1]",
                           "[1 2]",
                           "{\"a\"}",
                           "{\"a\":}",
                           "{\"a\":1,}",
                           "{,}",
                           "{a:1}",
                           "{'a':1}",
                           "{\"a\" 1}",
                           "{1:2}",
                           "nul",
                           "nulll",
                           "True",
                           "01",
                           "-",
                           "-01",
                           "+1",
                           ".5",
                           "1.",
                           "1e",
                           "1e+",
                           "0x10",
                           "NaN",
                           "Infinity",
                           "inf",
                           "-inf",
                           "1e999",
                           "\"",
                           "\"a",
                           "\"\\",
                           "\"\\x\"",
                           "\"\\u12\"",
                           "\"\\u12G4\"",
                           "\"\\u+123\"",
                           "\"\\uD800\"",
                           "\"\\uD800x\"",
                           "\"\\uD800\\u0041\"",
                           "\"\\uDC00\"",
                           "\"a\nb\"",
                           "\"a\x01\"",
                           "1 2",
                           "[] []",
                           "{}x",
                           "[1]/*c*/",
                           "\"\xC0\x80\"",
                           "\"\xED\xA0\x80\"",
                           "\"\xF5\x80\x80\x80\"",
                           "\"\xE4\"",
                           "\xEF\xBB\xBF{}"}) {
    const Status status = skip_all(text);
    EXPECT_EQ(status.code, Code::kCorrupt) << text;
    EXPECT_THAT(status.message, ::testing::HasSubstr("t: "));
  }
  EXPECT_EQ(skip_all(std::string_view("1\0", 2)).code, Code::kCorrupt);
  EXPECT_EQ(skip_all(std::string_view("\"\0\"", 3)).code, Code::kCorrupt);
}

TEST(JsonReader, NamesAByteOrderMark) {
  const Status status = skip_all("\xEF\xBB\xBF{}");
  EXPECT_THAT(status.message, ::testing::HasSubstr("t: a byte order mark (EF BB BF) stands before the JSON"));
  EXPECT_THAT(status.hint, ::testing::HasSubstr("without a byte order mark"));
}

TEST(JsonReader, BoundsTheDepth) {
  EXPECT_TRUE(skip_all(std::string(64, '[') + std::string(64, ']')).ok());
  EXPECT_FALSE(skip_all(std::string(65, '[') + std::string(65, ']')).ok());
  EXPECT_FALSE(skip_all(std::string(1'000'000, '[')).ok());
}

TEST(JsonReader, ReadsIntegersExactlyAndNothingElseAsIntegers) {
  JsonReader in("t", "[18446744073709551615,9007199254740993,0]");
  std::vector<std::uint64_t> values;
  in.array([&](std::size_t) { values.push_back(in.u64()); });
  EXPECT_TRUE(in.finish().ok());
  EXPECT_THAT(values, ::testing::ElementsAre(std::numeric_limits<std::uint64_t>::max(), 9007199254740993u, 0u));
  for (const char* text : {"-1", "1.0", "1e3", "18446744073709551616", "00", "\"1\"", "true", "null", "-0"}) {
    JsonReader bad("t", text);
    bad.u64();
    EXPECT_FALSE(bad.finish().ok()) << text;
  }
  JsonReader wide("t", "4294967296");
  wide.u32();
  EXPECT_FALSE(wide.finish().ok());
}

TEST(JsonReader, ReadsBackEveryDoubleThatTheWriterWrites) {
  std::uint64_t bits = 42;
  for (int i = 0; i < 20000; ++i) {
    bits = bits * 6364136223846793005u + 1442695040888963407u;
    double value = 0;
    std::memcpy(&value, &bits, sizeof value);
    if (value != value || value - value != 0) continue;
    JsonWriter out;
    out.value(value);
    const std::string text = std::move(out).finish();
    JsonReader in("t", text);
    const double found = in.real();
    ASSERT_TRUE(in.finish().ok()) << text;
    ASSERT_EQ(std::memcmp(&found, &value, sizeof value), 0) << text;
  }
  for (const double value : {-0.0, 5e-324, 1.7976931348623157e308, 0.1, 1e21}) {
    JsonWriter out;
    out.value(value);
    const std::string text = std::move(out).finish();
    JsonReader in("t", text);
    const double found = in.real();
    EXPECT_EQ(std::memcmp(&found, &value, sizeof value), 0) << text;
  }
}

TEST(JsonReader, TheFirstErrorSticksAndSaysWhere) {
  JsonReader in("file.json", "{\"a\":[1,x],\"b\":2}");
  int members = 0;
  in.object([&](std::string_view) {
    ++members;
    in.array([&](std::size_t) { in.u64(); });
  });
  EXPECT_EQ(members, 1);
  EXPECT_EQ(in.u64(), 0u);
  EXPECT_EQ(in.text(), "");
  EXPECT_THAT(in.finish().message, ::testing::HasSubstr("file.json: expected an integer"));
  EXPECT_THAT(in.finish().message, ::testing::HasSubstr("offset 8"));
}

}  // namespace
}  // namespace titan::ckpt::json_reader_test
