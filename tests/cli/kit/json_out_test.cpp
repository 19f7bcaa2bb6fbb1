#include "cli/kit/json_out.h"

#include <gtest/gtest.h>

namespace titan::cli::json_out_test {
namespace {

TEST(JsonOut, WritesOneLineWithNestedValues) {
  JsonOut json;
  json.begin_object();
  json.text("name", "x");
  json.count("big", UINT64_MAX);
  json.integer("negative", -3);
  json.flag("ok", true);
  json.null("none");
  json.begin_array("list");
  json.count(1);
  json.text("two");
  json.real(0.1);
  json.end_array();
  json.end_object();
  EXPECT_EQ(json.line(),
            R"({"name":"x","big":18446744073709551615,"negative":-3,"ok":true,"none":null,"list":[1,"two",0.1]})"
            "\n");
}

TEST(JsonOut, WritesNonFiniteNumbersAsStrings) {
  JsonOut json;
  json.begin_array();
  json.real(0.0 / 0.0);
  json.real(-1.0 / 0.0);
  json.number("inf");
  json.number("-0");
  json.end_array();
  EXPECT_EQ(json.line(), "[\"nan\",\"-inf\",\"inf\",-0]\n");
}

TEST(JsonOut, KeepsBytesOfPathsThatAreNotUtf8) {
  JsonOut json;
  json.begin_object();
  json.path("path", "a\xff");
  json.path("plain", "a");
  json.end_object();
  EXPECT_EQ(json.line(), "{\"path\":\"a\xef\xbf\xbd\",\"path_b64\":\"Yf8=\",\"plain\":\"a\"}\n");
}

TEST(JsonOut, EscapesControlCharacters) {
  JsonOut json;
  json.begin_array();
  json.text("\x1b[31m\n\"");
  json.end_array();
  EXPECT_EQ(json.line(), "[\"\\u001B[31m\\n\\\"\"]\n");
}

}  // namespace
}  // namespace titan::cli::json_out_test
