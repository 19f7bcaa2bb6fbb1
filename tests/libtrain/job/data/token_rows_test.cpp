#include "libtrain/job/data/token_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ckpt/ops/cat.h"
#include "corpus/npy_header.h"
#include "corpus/token_data.h"
#include "tests/support/scratch_dir.h"

namespace titan::train::token_rows_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class TokenRowsTest : public testing::Test {
 protected:
  std::string write(const std::string& bytes) { return dir_.write("tokens" + std::to_string(files_++), bytes); }
  static std::string npy(const std::string& dictionary, const std::string& data, char major = 1) {
    std::string header(dictionary + "\n"), file("\x93NUMPY", 6);
    file += major;
    file += '\0';
    for (int i = 0; i < (major == 1 ? 2 : 4); ++i) file += static_cast<char>(header.size() >> (8 * i) & 0xff);
    return file + header + data;
  }
  static std::string array(const std::string& descr, const std::string& shape, const std::string& data) {
    return npy("{'descr': '" + descr + "', 'fortran_order': False, 'shape': " + shape + ", }", data);
  }
  static std::vector<std::int64_t> row(const TokenRows& rows, std::uint64_t index,
                                       std::uint64_t vocab = 1'000'000'000'000) {
    std::vector<std::int64_t> out(rows.length());
    const ckpt::Status status = rows.read(index, vocab, out);
    EXPECT_TRUE(status.ok()) << status.to_string();
    return out;
  }
  ScratchDir dir_;
  int files_ = 0;
};

const std::string kSix("\1\0\2\0\3\0\4\0\5\0\6\0", 12);

TEST_F(TokenRowsTest, IdsOfATextAreCutIntoRows) {
  const auto rows = TokenRows::of_ids("a.txt", {1, 70000, 3, 4, 5}, {.row_length = 2});
  ASSERT_TRUE(rows.ok()) << rows.status().to_string();
  EXPECT_EQ(rows->rows(), 2u);
  EXPECT_EQ(rows->left_over(), 1u);
  std::vector<std::int64_t> row(2);
  ASSERT_TRUE(rows->read(0, 70001, row).ok());
  EXPECT_EQ(row, (std::vector<std::int64_t>{1, 70000}));
  EXPECT_EQ(rows->read(0, 70000, row).code, ckpt::Code::kInvalid);
  EXPECT_EQ(TokenRows::of_ids("a.txt", {1, 2}, {.default_length = 64})->length(), 2u) << "a short text is one row";
  EXPECT_FALSE(TokenRows::of_ids("a.txt", {}, {.default_length = 64}).ok());
}

TEST_F(TokenRowsTest, RawIdsAreCutIntoRows) {
  const auto rows = TokenRows::open(write(kSix + std::string("\7\1", 2)), {.row_length = 3});
  ASSERT_TRUE(rows.ok()) << rows.status().to_string();
  EXPECT_EQ(rows->rows(), 2u);
  EXPECT_EQ(rows->left_over(), 1u);
  EXPECT_THAT(row(*rows, 1), ElementsAre(4, 5, 6));
  const auto wide = TokenRows::open(write(kSix), {.row_length = 3, .raw_bytes = 4});
  ASSERT_TRUE(wide.ok());
  EXPECT_THAT(row(*wide, 0), ElementsAre(0x20001, 0x40003, 0x60005));
}

TEST_F(TokenRowsTest, RawIdsOfAnotherWidthAreRefusedWithTheOptionToSet) {
  std::string wide;
  for (int i = 0; i < 16; ++i) wide += {static_cast<char>(100 + i), '\0', '\0', '\0'};
  const std::string path = write(wide);
  const auto narrow = TokenRows::open(path, {.row_length = 3});
  ASSERT_FALSE(narrow.ok());
  EXPECT_THAT(narrow.status().message, HasSubstr("looks like ids of 32 bits, not of 16"));
  EXPECT_EQ(narrow.status().hint, "add --token-dtype uint32");
  EXPECT_TRUE(TokenRows::open(path, {.row_length = 3, .raw_bytes = 4}).ok());
}

TEST_F(TokenRowsTest, NumpyArraysOfEveryIntegerTypeAreRead) {
  const struct {
    const char* descr;
    std::string data;
    std::vector<std::int64_t> values;
  } cases[] = {
      {"|u1", std::string("\1\377", 2), {1, 255}},
      {"|i1", std::string("\1\177", 2), {1, 127}},
      {"<u2", std::string("\1\0\377\377", 4), {1, 65535}},
      {"<i4", std::string("\1\0\0\0\0\0\0\1", 8), {1, 1 << 24}},
      {"<u4", std::string("\1\0\0\0\377\377\377\377", 8), {1, 4294967295}},
      {"<i8", std::string("\1\0\0\0\0\0\0\0\0\0\0\0\1\0\0\0", 16), {1, std::int64_t{1} << 32}},
      {"<u8", std::string("\1\0\0\0\0\0\0\0\2\0\0\0\0\0\0\0", 16), {1, 2}},
  };
  for (const auto& c : cases) {
    const auto rows = TokenRows::open(write(array(c.descr, "(1, 2)", c.data)), {});
    ASSERT_TRUE(rows.ok()) << c.descr << ": " << rows.status().to_string();
    EXPECT_EQ(row(*rows, 0), c.values) << c.descr;
  }
}

TEST_F(TokenRowsTest, HeadersOfEveryVersionAndOurOwnAreRead) {
  for (const char major : {1, 2, 3}) {
    const auto rows =
        TokenRows::open(write(npy("{'descr':\"<u2\",'fortran_order':False,'shape':(2,3)}", kSix, major)), {});
    ASSERT_TRUE(rows.ok()) << int{major} << rows.status().to_string();
    EXPECT_THAT(row(*rows, 1), ElementsAre(4, 5, 6));
  }
  const std::string ours = ckpt::npy_header(ckpt::DType::kI32, {3});
  const auto header = corpus::parse_npy_header(std::as_bytes(std::span(ours)));
  ASSERT_TRUE(header.ok()) << header.status().to_string();
  EXPECT_EQ(header->descr, "<i4");
  EXPECT_THAT(header->shape, ElementsAre(3u));
  EXPECT_EQ(header->data_offset, ours.size());
}

TEST_F(TokenRowsTest, ArraysOfOneDimensionAreStreams) {
  const std::string path = write(array("<u2", "(6,)", kSix));
  const auto rows = TokenRows::open(path, {.row_length = 4});
  ASSERT_TRUE(rows.ok()) << rows.status().to_string();
  EXPECT_EQ(rows->rows(), 1u);
  EXPECT_EQ(rows->left_over(), 2u);
  EXPECT_THAT(TokenRows::open(path, {}).status().hint, HasSubstr("--seq-len"));
}

TEST_F(TokenRowsTest, RefusesWhatIsNoRowsOfIntegers) {
  const std::uint64_t four = 4;
  const struct {
    std::string file;
    TokenRows::Options options;
    const char* message;
  } cases[] = {
      {kSix + "x", {.row_length = 3}, "has 13 bytes, not a multiple of the 2 of a token"},
      {kSix, {}, "is one stream of 6 tokens"},
      {kSix, {.row_length = 7}, "has 6 tokens, fewer than one row of 7"},
      {kSix, {.row_length = 0}, "a row of 0 tokens"},
      {"", {.row_length = 1}, "has 0 tokens"},
      {array("<f4", "(1, 3)", kSix), {}, "holds elements of type '<f4'"},
      {array(">u2", "(2, 3)", kSix), {}, "holds elements of type '>u2'"},
      {array("<u2", "(2, 3)", kSix), {.row_length = four}, "has rows of 3 tokens, not of 4"},
      {array("<u2", "(2, 3, 1)", kSix), {}, "is an array [2, 3, 1]"},
      {array("<u2", "()", kSix), {}, "is an array []"},
      {array("<u2", "(0, 3)", ""), {}, "is an empty array [0, 3]"},
      {array("<u2", "(2, 4)", kSix), {}, "has 12 bytes of data, not those of an array [2, 4]"},
      {array("<u2", "(2, 2)", kSix), {}, "has 12 bytes of data"},
      {array("<u2", "(9223372036854775808, 9223372036854775808)", kSix), {}, "has 12 bytes of data"},
      {array("<u2", "(99999999999999999999, 3)", kSix), {}, "header cannot be read"},
      {npy("{'descr': '<u2', 'fortran_order': True, 'shape': (2, 3)}", kSix), {}, "in Fortran order"},
      {npy("{'descr': '<u2', 'fortran_order': False, 'shape': (2, 3)", kSix), {}, "header cannot be read"},
      {npy("{'descr': '<u2', 'shape': (2, -3), 'fortran_order': False}", kSix), {}, "header cannot be read"},
      {npy("{'other': 1}", kSix), {}, "header cannot be read"},
      {npy("", kSix), {}, "header cannot be read"},
      {npy("{'descr': '<u2', 'fortran_order': False, 'shape': (2, 3)}", kSix, 9), {}, "version 9"},
      {std::string("\x93NUMPY\1\0\377\377{", 11), {}, "not a NumPy file"},
      {std::string("\x93NUMPY\1\0\377\377{}      ", 18), {}, "header cannot be read"},
      {std::string("\x93NUMPY\1\0\377\377", 10) + "{'descr': '<u2', 'fortran_order': False, 'shape': (2, 3)}",
       {},
       "header cannot be read"},
  };
  for (const auto& c : cases) {
    const auto rows = TokenRows::open(write(c.file), c.options);
    ASSERT_FALSE(rows.ok()) << c.message;
    EXPECT_EQ(rows.status().code, ckpt::Code::kInvalid);
    EXPECT_THAT(rows.status().message, HasSubstr(c.message));
  }
  EXPECT_FALSE(TokenRows::open(dir_.path() + "/nowhere", {.row_length = 1}).ok());

  corpus::TokenData made;
  made.vocabulary = 300;
  made.tokens = 6;
  made.documents = 1;
  made.shards = {{"tokens-0", "ends-0", 6, 1, {}, {}}};
  dir_.write("d/tokens-0", kSix);
  dir_.write("d/ends-0", std::string("\6\0\0\0\0\0\0\0", 8));
  dir_.write("d/tokenizer.json", "{}");
  dir_.write("d/data.json", corpus::write_token_data(made));
  const ckpt::Status folder = TokenRows::open(dir_.path() + "/d", {.row_length = 3}).status();
  EXPECT_THAT(folder.message, HasSubstr("is a folder of token ids"));
  EXPECT_THAT(folder.hint, HasSubstr("/d/tokens-0"));
}

TEST_F(TokenRowsTest, AStreamIsCutByDefaultAsAskedForAndRowsOfAFileStay) {
  const std::string raw = write(std::string(22, '\1'));
  const auto by_default = TokenRows::open(raw, {.default_length = 4});
  ASSERT_TRUE(by_default.ok()) << by_default.status().to_string();
  EXPECT_EQ(by_default->length(), 4u);
  EXPECT_EQ(by_default->left_over(), 3u);
  EXPECT_TRUE(by_default->by_default());
  const auto asked = TokenRows::open(raw, {.row_length = 5, .default_length = 4});
  EXPECT_EQ(asked->length(), 5u);
  EXPECT_FALSE(asked->by_default());
  const auto rows = TokenRows::open(write(array("<u2", "(2, 3)", kSix)), {.default_length = 4});
  ASSERT_TRUE(rows.ok()) << rows.status().to_string();
  EXPECT_EQ(rows->length(), 3u);
  EXPECT_FALSE(rows->by_default());
}

TEST_F(TokenRowsTest, IdsOutsideTheVocabularyAreNamedByPlace) {
  const auto rows = TokenRows::open(write(array("<i2", "(2, 2)", std::string("\1\0\2\0\3\0\377\377", 8))), {});
  ASSERT_TRUE(rows.ok());
  std::vector<std::int64_t> out(2);
  EXPECT_TRUE(rows->read(0, 3, out).ok());
  EXPECT_THAT(rows->read(0, 2, out).message, HasSubstr("row 0, column 1: id 2 is outside the vocabulary of 2"));
  EXPECT_THAT(rows->read(1, 100, out).message, HasSubstr("row 1, column 1: id -1"));
}

TEST_F(TokenRowsTest, TextIsItsBytes) {
  const auto rows = TokenRows::open(write("a\xc3\xa9zz"), {.row_length = 2, .text = true});
  ASSERT_TRUE(rows.ok()) << rows.status().to_string();
  EXPECT_EQ(rows->left_over(), 1u);
  EXPECT_THAT(row(*rows, 0), ElementsAre('a', 0xc3));
  EXPECT_THAT(TokenRows::open(write("\xef\xbb\xbf a"), {.row_length = 2, .text = true}).status().message,
              HasSubstr("begins with a byte order mark"));
  EXPECT_THAT(TokenRows::open(write("ab\xff"), {.row_length = 2, .text = true}).status().message,
              HasSubstr("is not UTF-8: byte 2"));
}

TEST_F(TokenRowsTest, TextShorterThanTheDefaultIsOneRow) {
  const auto rows = TokenRows::open(write("abc"), {.default_length = 64, .text = true});
  ASSERT_TRUE(rows.ok()) << rows.status().to_string();
  EXPECT_EQ(rows->rows(), 1u);
  EXPECT_EQ(rows->length(), 3u);
  EXPECT_FALSE(TokenRows::open(write("abc"), {.row_length = 64, .text = true}).ok());
  EXPECT_FALSE(TokenRows::open(write(""), {.default_length = 64, .text = true}).ok());
}

}  // namespace
}  // namespace titan::train::token_rows_test
