#include "ckpt/format/json_writer.h"
#include "ckpt/base/utf8.h"

#include <gtest/gtest.h>

#include <limits>

#include "ckpt/format/json_reader.h"

namespace titan::ckpt::json_writer_test {
namespace {

TEST(JsonWriter, WritesOneFixedForm) {
  JsonWriter out;
  out.begin()
      .key("a")
      .value(std::uint64_t{18446744073709551615u})
      .line()
      .key("b")
      .begin_list()
      .value(0.1)
      .value(1e-5)
      .value(3.0)
      .value(true)
      .null()
      .end_list();
  out.line()
      .key("c")
      .value(std::vector<std::pair<std::string, std::string>>{{"k", "v"}})
      .key("d")
      .value(std::vector<std::string>{"x", "y"})
      .line()
      .end();
  EXPECT_EQ(
      std::move(out).finish(),
      "{\"a\":18446744073709551615,\n\"b\":[0.1,1e-05,3,true,null],\n\"c\":{\n\"k\":\"v\"},\"d\":[\"x\",\"y\"]\n}\n");
}

TEST(JsonWriter, EscapesWhatMustBeAndReplacesWhatIsNotUtf8) {
  JsonWriter out;
  out.value(std::string_view("a\"\\\n\x01\x7F\xC3\xA4\xFF/\0z", 12));
  const std::string text = std::move(out).finish();
  EXPECT_EQ(text, "\"a\\\"\\\\\\n\\u0001\\u007f\xC3\xA4\\ufffd/\\u0000z\"\n");
  JsonReader in("t", text);
  EXPECT_EQ(in.text(), std::string_view("a\"\\\n\x01\x7F\xC3\xA4\xEF\xBF\xBD/\0z", 14));
  EXPECT_TRUE(in.finish().ok());
}

TEST(JsonWriter, WritesNumbersThatReadBackAsTheyWere) {
  JsonWriter out;
  out.begin_list()
      .value(-0.0)
      .value(std::numeric_limits<double>::infinity())
      .value(-std::numeric_limits<double>::infinity());
  out.value(std::numeric_limits<double>::quiet_NaN()).value(std::numeric_limits<double>::denorm_min()).end_list();
  EXPECT_EQ(std::move(out).finish(), "[-0.0,null,null,null,5e-324]\n");
}

TEST(JsonWriter, SeesAByteThatIsNotUtf8WhereverItIs) {
  const std::string good(100, 'a');
  EXPECT_TRUE(is_utf8(good));
  for (std::size_t i = 0; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] = '\x80';
    EXPECT_FALSE(is_utf8(bad)) << "at " << i;
  }
}

TEST(JsonWriter, KnowsUtf8) {
  for (const char* good : {"", "abc", "\xC3\xA4", "\xE2\x82\xAC", "\xF0\x9F\x98\x80",
                           "12345678\xC3\xA4"
                           "12345678"})
    EXPECT_TRUE(is_utf8(good)) << good;
  for (const char* bad : {"\x80", "\xC3", "\xC0\xAF", "\xE0\x80\x80", "\xED\xA0\x80", "\xF0\x80\x80\x80",
                          "\xF4\x90\x80\x80", "\xFF", "1234567\xC3(89"})
    EXPECT_FALSE(is_utf8(bad)) << bad;
}

}  // namespace
}  // namespace titan::ckpt::json_writer_test
