#include "corpus/text_check.h"

#include <gmock/gmock.h>

#include "corpus/document_reader.h"
#include "tests/support/files.h"
#include "tests/support/mem_fs.h"

namespace titan::corpus::text_check_test {
namespace {

using ckpt::testing::MemFs;
using ckpt::testing::put_text;
using ::testing::HasSubstr;
using namespace std::string_literals;

/// A file of Megatron's with two ids, in one sequence and document.
void put_megatron(MemFs& fs, const std::string& prefix) {
  ASSERT_TRUE(put_text(fs, prefix + ".bin", "\1\0\2\0"s).ok());
  const std::string one("\1\0\0\0\0\0\0\0", 8), nothing(8, '\0');
  ASSERT_TRUE(
      put_text(fs, prefix + ".idx",
               "MMIDIDX\0\0"s + one + "\x08" + one + "\2\0\0\0\0\0\0\0"s + "\2\0\0\0"s + nothing + nothing + one)
          .ok());
}

ckpt::Status refusal(MemFs& fs, const std::string& input) {
  auto reader = DocumentReader::open(fs, {.inputs = {input}});
  if (!reader.ok()) return reader.status();
  RawDocuments out;
  return reader->fill(1, out);
}

TEST(NoText, TokenIdsAreNamedWithTheWayOn) {
  MemFs fs;
  ASSERT_TRUE(put_text(fs, "/d/data.json", R"({"schema":"titan.data/1"})").ok());
  ASSERT_TRUE(put_text(fs, "/d/tokens-00000.bin", "abcd").ok());
  put_megatron(fs, "/m/x");
  const std::string header = "{'descr': '<u2', 'fortran_order': False, 'shape': (1,), }";
  const std::string npy =
      "\x93NUMPY\1\0"s + static_cast<char>(118) + '\0' + header + std::string(117 - header.size(), ' ') + "\n";
  ASSERT_TRUE(put_text(fs, "/a.npy", npy + "ab").ok());
  const struct {
    const char *input, *what, *way;
  } cases[] = {
      {"/d", "'/d' is a folder of token ids, as `titan-ckpt tokenize` makes it, not text", "titan-ckpt tokens /d"},
      {"/d/tokens-00000.bin", "'/d' is a folder of token ids", "dataset_path=/d)"},
      {"/m/x.bin", "'/m/x.bin' is ids of Megatron with an index, not text", "dataset_path=/m/x.bin)"},
      {"/m/x.idx", "'/m/x.bin' is ids of Megatron with an index ('/m/x.idx' belongs to it)", "dataset_path=/m/x.bin)"},
      {"/m", "'/m/x.bin' is ids of Megatron", "--training.dataset=tokens"},
      {"/a.npy", "'/a.npy' is an array of NumPy, not text", "titan-ckpt tokens /a.npy"}};
  for (const auto& c : cases) {
    const ckpt::Status status = refusal(fs, c.input);
    EXPECT_EQ(status.code, ckpt::Code::kInvalid) << c.input;
    EXPECT_THAT(status.message, HasSubstr(c.what)) << c.input;
    EXPECT_THAT(status.hint, HasSubstr(c.way)) << c.input;
  }
}

TEST(NoText, TextsUnderSuchNamesAreText) {
  MemFs fs;
  for (const char* path : {"/a.bin", "/a.ds.index", "/data.json"}) {
    ASSERT_TRUE(put_text(fs, path, "words").ok());
    EXPECT_TRUE(refusal(fs, path).ok()) << path << refusal(fs, path).to_string();
  }
}

TEST(NoText, OtherBinaryFilesAreNamed) {
  MemFs fs;
  EXPECT_THAT(check_is_text(fs, "-", ckpt::FileKind::kZip).message,
              HasSubstr("standard input is a zip archive, not text"));
  EXPECT_THAT(check_is_text(fs, "/x", ckpt::FileKind::kParquet).hint, HasSubstr("pandas"));
  EXPECT_TRUE(check_is_text(fs, "/x", ckpt::FileKind::kUnknown).ok());
}

}  // namespace
}  // namespace titan::corpus::text_check_test
