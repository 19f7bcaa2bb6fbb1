#include "corpus/token_file.h"

#include <gmock/gmock.h>

#include "ckpt/base/fs_posix.h"
#include "tests/support/files.h"
#include "tests/support/mem_fs.h"

namespace titan::corpus::token_file_test {
namespace {

using ckpt::Code;
using ckpt::testing::get_text;
using ckpt::testing::MemFs;
using ckpt::testing::put_text;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

template <typename Number>
std::string bytes_of(const std::vector<Number>& numbers) {
  return std::string(reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(Number));
}

std::string index_of(char type, const std::vector<std::uint32_t>& lengths, const std::vector<std::uint64_t>& offsets,
                     const std::vector<std::uint64_t>& bounds) {
  return std::string("MMIDIDX\0\0", 9) + bytes_of<std::uint64_t>({1}) + std::string(1, type) +
         bytes_of<std::uint64_t>({lengths.size(), bounds.size()}) + bytes_of(lengths) + bytes_of(offsets) +
         bytes_of(bounds);
}

std::string npy_of(const std::string& descr, const std::string& shape, const std::string& data) {
  std::string header = "{'descr': '" + descr + "', 'fortran_order': False, 'shape': " + shape + ", }";
  header += std::string(63 - (10 + header.size()) % 64, ' ') + "\n";
  return std::string("\x93NUMPY\x01\x00", 8) + bytes_of<std::uint16_t>({static_cast<std::uint16_t>(header.size())}) +
         header + data;
}

class TokenFiles : public ::testing::Test {
 protected:
  void put(const std::string& path, const std::string& text) {
    if (fs.stat(path).ok()) {
      ASSERT_TRUE(fs.remove_file(path).ok());
    }
    ASSERT_TRUE(put_text(fs, path, text).ok());
  }
  TokenFile opened(const std::string& path) {
    auto file = open_token_file(fs, path, 2);
    EXPECT_TRUE(file.ok()) << file.status().to_string();
    return file.ok() ? *file : TokenFile();
  }
  ckpt::Status refused(const std::string& path) {
    const auto file = open_token_file(fs, path, 2);
    EXPECT_FALSE(file.ok());
    return file.status();
  }
  std::vector<std::uint64_t> ends(const TokenFile& file, ckpt::Status* status = nullptr) {
    std::vector<std::uint64_t> all;
    const ckpt::Status read = read_ends(fs, file, [&](std::span<const std::uint64_t> some) {
      all.insert(all.end(), some.begin(), some.end());
      return ckpt::ok_status();
    });
    if (status != nullptr) *status = read;
    EXPECT_EQ(read.ok(), status == nullptr) << read.to_string();
    return all;
  }
  MemFs fs;
};

TEST_F(TokenFiles, MegatronsIndexSaysWidthAndDocuments) {
  put("/d/a.bin", bytes_of<std::uint16_t>({5, 6, 7, 8, 9, 10}));
  put("/d/a.idx", index_of(8, {2, 1, 3}, {0, 4, 6}, {0, 2, 3}));
  EXPECT_EQ(get_text(fs, "/d/a.idx").size(), 94u) << "the vector of the layout";
  const TokenFile file = opened("/d/a.bin");
  EXPECT_EQ(file.format, TokenFormat::kMegatron);
  EXPECT_EQ(file.tokens, 6u);
  EXPECT_EQ(file.width, 2u);
  EXPECT_EQ(file.documents, 3u);
  EXPECT_FALSE(file.is_signed);
  EXPECT_THAT(ends(file), ElementsAre(2, 3, 6));
  EXPECT_EQ(opened("/d/a.idx").path, "/d/a.bin");
  EXPECT_EQ(ids_of_prefix(fs, "/d/a"), "/d/a.bin");
  EXPECT_EQ(ids_of_prefix(fs, "/d/b"), "");
  EXPECT_EQ(ids_of_index("/d/a.idx"), "/d/a.bin");
  put("/d/w.bin", bytes_of<std::int32_t>({1, 2, 3}));
  put("/d/w.idx", index_of(4, {3}, {0}, {0, 1}) + std::string(1, '\0'));  // with modes
  EXPECT_EQ(opened("/d/w.bin").width, 4u);
  EXPECT_TRUE(opened("/d/w.bin").is_signed);
}

TEST_F(TokenFiles, AnIndexThatCannotBeIsOneError) {
  put("/a.bin", bytes_of<std::uint16_t>({5, 6, 7, 8, 9, 10}));
  const std::string whole = index_of(8, {2, 1, 3}, {0, 4, 6}, {0, 2, 3});
  const struct {
    const char* what;
    std::string index;
    Code code;
    const char* message;
  } cases[] = {
      {"empty", "", Code::kCorrupt, "cut off"},
      {"header alone", whole.substr(0, 34), Code::kCorrupt, "has 34 bytes"},
      {"cut", whole.substr(0, 93), Code::kCorrupt, "has 93 bytes"},
      {"longer", whole + "xx", Code::kCorrupt, "has 96 bytes"},
      {"magic", "x" + whole.substr(1), Code::kInvalid, "MMIDIDX"},
      {"version", whole.substr(0, 9) + std::string(1, '\2') + whole.substr(10), Code::kUnsupported, "version 2"},
      {"floats", index_of(7, {2, 1, 3}, {0, 4, 6}, {0, 3}), Code::kInvalid, "type 7"},
      {"2^60 sequences", whole.substr(0, 18) + bytes_of<std::uint64_t>({1ull << 60}) + whole.substr(26), Code::kCorrupt,
       "not those of 1152921504606846976 sequences"},
      {"of another file", index_of(8, {2, 1, 4}, {0, 4, 6}, {0, 2, 3}), Code::kCorrupt, "does not fit"},
      {"no sequences", index_of(8, {}, {}, {0}), Code::kCorrupt, "counts no sequences"},
  };
  for (const auto& [what, index, code, message] : cases) {
    put("/a.idx", index);
    const ckpt::Status status = refused("/a.bin");
    EXPECT_EQ(status.code, code) << what;
    EXPECT_THAT(status.message, HasSubstr(message)) << what;
  }
  for (const std::string& index : {index_of(8, {2, 2, 3}, {0, 4, 6}, {0, 3}), index_of(8, {2, 1, 3}, {0, 2, 6}, {0, 3}),
                                   index_of(8, {2, 0xffffffff, 3}, {0, 4, 6}, {0, 3})}) {
    put("/a.idx", index);
    ckpt::Status status;
    ends(opened("/a.bin"), &status);
    EXPECT_EQ(status.code, Code::kCorrupt) << "documents overlap or leave a gap";
  }
}

TEST_F(TokenFiles, NanotronsFilesLieBesideEachOther) {
  put("/x.ds", bytes_of<std::uint32_t>({1, 2, 3, 4, 5}));
  put("/x.ds.index", bytes_of<std::uint64_t>({2, 5}));
  put("/x.ds.metadata", "gpt|2|4\n5\n");
  const TokenFile file = opened("/x.ds");
  EXPECT_EQ(file.format, TokenFormat::kNanotron);
  EXPECT_EQ(file.tokens, 5u);
  EXPECT_EQ(file.tokenizer, "gpt|2");
  EXPECT_THAT(ends(file), ElementsAre(2, 5));
  put("/x.ds.index", bytes_of<std::uint64_t>({7, 5}));
  ckpt::Status status;
  ends(opened("/x.ds"), &status);
  EXPECT_EQ(status.code, Code::kCorrupt);
  put("/x.ds.index", bytes_of<std::uint64_t>({2, 6}));
  EXPECT_THAT(refused("/x.ds").message, HasSubstr("ends at token 6"));
  put("/x.ds.index", "123456789");
  EXPECT_EQ(refused("/x.ds").code, Code::kCorrupt);
  put("/x.ds.metadata", "gpt2|3");
  EXPECT_EQ(refused("/x.ds").code, Code::kInvalid);
  EXPECT_EQ(ids_of_index("x.ds.index"), "x.ds");
  EXPECT_EQ(ids_of_index("x.ds"), "");
}

TEST_F(TokenFiles, NumPysArraysOfOneDimension) {
  for (const auto& [descr, width] : {std::pair("<u2", 2u), {"<u4", 4u}, {"<i4", 4u}, {"<i8", 8u}}) {
    put("/a.npy", npy_of(descr, "(3,)", std::string(3 * width, '\1')));
    const TokenFile file = opened("/a.npy");
    EXPECT_EQ(file.format, TokenFormat::kNumpy);
    EXPECT_EQ(file.width, width);
    EXPECT_EQ(file.tokens, 3u);
    EXPECT_EQ(file.offset % 64, 0u);
    EXPECT_EQ(file.is_signed, descr[1] == 'i');
  }
  const std::pair<std::string, const char*> wrong[] = {
      {npy_of("<f4", "(3,)", std::string(12, '\0')), "type '<f4'"},
      {npy_of("|O", "(3,)", std::string(12, '\0')), "type '|O'"},
      {npy_of(">u2", "(3,)", std::string(6, '\0')), "type '>u2'"},
      {npy_of("<u2", "(3, 1)", std::string(6, '\0')), "2 dimensions"},
      {npy_of("<u2", "(4,)", std::string(6, '\0')), "expected 4 ids"},
      {npy_of("<u2", "(18446744073709551615,)", std::string(6, '\0')), "expected 18446744073709551615"},
      {npy_of("<u2", "(3,)", std::string(7, '\0')), "7 bytes of data"},
      {std::string("\x93NUMPY\x01\x00\xff\xff{", 11), "not a NumPy file"},
      {std::string("\x93NUMPY\x02\x00\xff\xff\xff\xff{'descr'", 20), "header cannot be read"},
  };
  for (const auto& [text, message] : wrong) {
    put("/a.npy", text);
    EXPECT_THAT(refused("/a.npy").message, HasSubstr(message));
  }
}

TEST_F(TokenFiles, TheRestIsRaw) {
  put("/a.bin", bytes_of<std::uint16_t>({1, 2, 3}));
  EXPECT_EQ(opened("/a.bin").tokens, 3u);
  EXPECT_EQ(opened("/a.bin").format, TokenFormat::kRaw);
  EXPECT_THAT(open_token_file(fs, "/a.bin", 4).status().message, HasSubstr("not a multiple of the token size of 4"));
  EXPECT_EQ(refused("/none").code, Code::kInvalid);
  put("/alone.idx", "abcd");
  EXPECT_THAT(refused("/alone.idx").message, HasSubstr("'/alone.bin'"));
}

TEST_F(TokenFiles, IndexesAreReadInPieces) {
  std::vector<std::uint32_t> lengths(20000, 1);
  std::vector<std::uint64_t> offsets(20000);
  for (std::size_t i = 0; i < offsets.size(); ++i) offsets[i] = 2 * i;
  put("/a.bin", std::string(40000, '\1'));
  put("/a.idx", index_of(8, lengths, offsets, {0, 20000}));
  const std::vector<std::uint64_t> all = ends(opened("/a.bin"));
  ASSERT_EQ(all.size(), 20000u);
  for (std::size_t i = 0; i < all.size(); ++i) ASSERT_EQ(all[i], i + 1);
}

TEST(TokenFilesOfOthers, AreReadAsTheyWroteThem) {
  const std::string folder = std::string(TITAN_SOURCE_DIR) + "/tests/golden/token-files/";
  const auto ends = [](const TokenFile& file) {
    std::vector<std::uint64_t> all;
    EXPECT_TRUE(read_ends(ckpt::posix_fs(), file, [&](std::span<const std::uint64_t> some) {
                  all.insert(all.end(), some.begin(), some.end());
                  return ckpt::ok_status();
                }).ok());
    return all;
  };
  const auto documents = open_token_file(ckpt::posix_fs(), folder + "documents.bin", 4);
  ASSERT_TRUE(documents.ok()) << documents.status().to_string();
  EXPECT_EQ(documents->width, 2u);
  EXPECT_THAT(ends(*documents), ElementsAre(3, 4, 8));
  const auto wide = open_token_file(ckpt::posix_fs(), folder + "wide.idx", 2);
  ASSERT_TRUE(wide.ok()) << wide.status().to_string();
  EXPECT_EQ(wide->width, 4u);
  EXPECT_THAT(ends(*wide), ElementsAre(2, 3, 4, 6));
  for (const auto& [name, width] : {std::pair("u2", 2u), {"u4", 4u}, {"i4", 4u}, {"i8", 8u}}) {
    const auto array = open_token_file(ckpt::posix_fs(), folder + name + ".npy", 2);
    ASSERT_TRUE(array.ok()) << array.status().to_string();
    EXPECT_EQ(array->format, TokenFormat::kNumpy);
    EXPECT_EQ(array->width, width);
    EXPECT_EQ(array->tokens, 3u);
  }
}

}  // namespace
}  // namespace titan::corpus::token_file_test
