#include "ckpt/format/json_value.h"

#include <gtest/gtest.h>

namespace titan::ckpt::json_value_test {
namespace {

TEST(JsonValue, WritesWhatItReadWithOrderAndSpellingOfNumbers) {
  const std::string text =
      "{\n  \"b\": 1e-05,\n  \"a\": [\n    1,\n    -2,\n    3.0\n  ],\n  \"empty\": {},\n  \"none\": [],\n  \"t\": "
      "\"x\\n\\\"\\u0001\",\n  \"n\": null,\n  \"o\": {\n    \"y\": true\n  }\n}\n";
  const auto value = parse_json("x", text);
  ASSERT_TRUE(value.ok()) << value.status().to_string();
  EXPECT_EQ(value->write(), text);
  EXPECT_EQ(value->find("b")->as_double(), 1e-5);
  EXPECT_EQ(value->find("n"), nullptr);
  EXPECT_EQ(value->find("a")->items()[0].as_u64(), 1u);
  EXPECT_EQ(value->find("a")->items()[1].as_u64(), std::nullopt);
  EXPECT_EQ(value->find("a")->items()[2].as_u64(), 3u) << "whole, though it is written as a float";
}

TEST(JsonValue, SetReplacesInPlaceOrAppends) {
  auto value = parse_json("x", R"({"a":1,"b":2})");
  ASSERT_TRUE(value.ok());
  value->set("a", JsonValue::real(3));
  value->set("c", JsonValue());
  value->remove("b");
  EXPECT_EQ(value->write(), "{\n  \"a\": 3.0,\n  \"c\": null\n}\n");
}

TEST(JsonValue, RefusesWhatIsNoJsonOrSaysAThingTwice) {
  for (const char* text :
       {"", "{", "{\"a\":1,\"a\":2}", "[1,]", "NaN", "{\"a\":Infinity}", "1 2", "01", "tru", "\"\\x\"", "{\"a\" 1}"})
    EXPECT_FALSE(parse_json("x", text).ok()) << text;
  EXPECT_FALSE(parse_json("x", std::string(1000, '[')).ok());
}

}  // namespace
}  // namespace titan::ckpt::json_value_test
