// The beginning of a GGUF file: what is read, and what is refused before anything is taken for it.
#include "converters/gguf/gguf_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "converters/gguf/gguf_bytes.h"
#include "tests/converters/gguf/gguf_builder.h"
#include "tests/support/files.h"
#include "tests/support/mem_fs.h"

namespace titan::convert::gguf_file_test {
namespace {

using ckpt::Code;
using testing::f32_key;
using testing::GgufParts;
using ::testing::HasSubstr;
using testing::number;
using testing::tensor;
using testing::text;
using testing::text_key;
using testing::u32_key;

ckpt::Result<GgufHeader> read(const std::string& bytes) {
  ckpt::testing::MemFs fs;
  EXPECT_TRUE(ckpt::testing::put_text(fs, "/x.gguf", bytes).ok());
  const auto file = fs.open_read("/x.gguf");
  return read_gguf_header(**file, "x.gguf");
}

GgufParts small() {
  GgufParts parts;
  parts.keys = {text_key("general.architecture", "llama"), u32_key("llama.block_count", 1)};
  parts.tensors = {tensor("a", {3, 2}, 0, 0), tensor("b", {4}, 1, 32)};
  parts.data.resize(64);
  return parts;
}

TEST(GgufFile, GivesKeysOfEveryTypeAndTensorsAsRows) {
  GgufParts parts = small();
  const std::string two = text("x.list") + number(9, 4);
  parts.keys.push_back(text("x.u8") + number(0, 4) + number(200, 1));
  parts.keys.push_back(text("x.i8") + number(1, 4) + number(0xfe, 1));
  parts.keys.push_back(text("x.i64") + number(11, 4) + number(~std::uint64_t{0}, 8));
  parts.keys.push_back(text("x.u64") + number(10, 4) + number(~std::uint64_t{0}, 8));
  parts.keys.push_back(text("x.yes") + number(7, 4) + number(1, 1));
  parts.keys.push_back(f32_key("x.eps", 1e-5f));
  parts.keys.push_back(text("x.f64") + number(12, 4) + number(0x3ff8000000000000, 8));
  parts.keys.push_back(two + number(8, 4) + number(2, 8) + text("a") + text("\xc3\xa9"));
  parts.keys.push_back(text("x.nested") + number(9, 4) + number(9, 4) + number(1, 8) + number(5, 4) + number(2, 8) +
                       number(7, 8));
  parts.keys.push_back(text_key("x.long", std::string(5000, 'x')));
  const auto header = read(parts.file());
  ASSERT_TRUE(header.ok()) << header.status().to_string();
  EXPECT_EQ(header->text("general.architecture"), "llama");
  EXPECT_EQ(header->values.at("llama.block_count").whole, 1);
  EXPECT_EQ(header->values.at("x.u8").whole, 200);
  EXPECT_EQ(header->values.at("x.i8").whole, -2);
  EXPECT_EQ(header->values.at("x.i64").whole, -1);
  EXPECT_EQ(header->values.at("x.u64").whole, std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(header->values.at("x.yes").kind, GgufValue::Kind::kFlag);
  EXPECT_EQ(header->values.at("x.eps").real, 1e-5);
  EXPECT_EQ(header->values.at("x.f64").real, 1.5);
  EXPECT_EQ(header->values.at("x.list").count, 2u);
  EXPECT_EQ(header->values.at("x.nested").count, 1u);
  EXPECT_EQ(header->values.at("x.long").count, 5000u);
  EXPECT_EQ(header->values.at("x.long").text, "");
  ASSERT_EQ(header->tensors.size(), 2u);
  EXPECT_EQ(header->tensors[0].shape, (std::vector<std::uint64_t>{2, 3}));
  EXPECT_EQ(header->tensors[1].offset, header->data_offset + 32);
  EXPECT_EQ(header->tensors[1].bytes, 8u);
}

TEST(GgufFile, KeepsToTheFilesOwnAlignment) {
  GgufParts parts = small();
  parts.keys.push_back(u32_key("general.alignment", 64));
  parts.tensors = {tensor("a", {3}, 0, 0), tensor("b", {1}, 0, 64)};
  parts.data.resize(68);
  const auto header = read(parts.file(64));
  ASSERT_TRUE(header.ok()) << header.status().to_string();
  EXPECT_EQ(header->data_offset % 64, 0u);
}

TEST(GgufFile, IsWrittenAsItIsRead) {
  GgufBytes bytes;
  bytes.put_text("general.architecture", "llama");
  bytes.put_text("general.name", "");
  bytes.put_u32("llama.block_count", 1);
  std::vector<GgufEntry> entries{{"a", {2, 3}, ggml_type(0)}, {"b", {4}, ggml_type(1)}};
  std::uint64_t end = 0;
  std::string head = bytes.finish(entries, &end);
  EXPECT_EQ(head, small().file().substr(0, head.size()));
  EXPECT_EQ(end, head.size() + 64);
  EXPECT_EQ(entries[1].offset, head.size() + 32);
}

struct Broken {
  const char* message;
  Code code;
  std::string bytes;
};

GgufParts with_key(const std::string& key) {
  GgufParts parts = small();
  parts.keys.push_back(key);
  return parts;
}
GgufParts with_tensor(const std::string& one) {
  GgufParts parts = small();
  parts.tensors.push_back(one);
  return parts;
}

std::vector<Broken> broken_files() {
  GgufParts old = small(), swapped = small(), keys = small(), tensors = small(), overlap = small(), nothing;
  old.version = 1;
  swapped.version = 0x03000000;
  keys.more_keys = std::uint64_t{1} << 60;
  tensors.more_tensors = std::uint64_t{1} << 60;
  overlap.tensors = {tensor("a", {64}, 0, 0), tensor("b", {4}, 1, 32)};
  overlap.data.resize(256);
  const std::string whole = small().file(), list = text("x.l") + number(9, 4), one_in = number(9, 4) + number(1, 8);
  return {
      {"too few for a GGUF file", Code::kCorrupt, "GGU"},
      {"does not begin as a GGUF file does", Code::kCorrupt, "GGUG" + whole.substr(4)},
      {"the file ends within the header", Code::kCorrupt, whole.substr(0, 23)},
      {"the file ends within the header", Code::kCorrupt, small().file().substr(0, 110)},
      {"tensor 'a' ends beyond the end of the file", Code::kCorrupt, whole.substr(0, whole.size() - 57)},
      {"tensor 'b' ends beyond the end of the file", Code::kCorrupt, whole.substr(0, whole.size() - 28)},
      {"of version 1, expected 2 or 3", Code::kUnsupported, old.file()},
      {"for big-endian machines", Code::kUnsupported, swapped.file()},
      {"more than the file can hold", Code::kCorrupt, keys.file()},
      {"more than the file can hold", Code::kCorrupt, tensors.file()},
      {"key 'llama.block_count' is there twice", Code::kCorrupt, with_key(u32_key("llama.block_count", 1)).file()},
      {"has a value of type 13", Code::kCorrupt, with_key(text("x.t") + number(13, 4) + number(0, 8)).file()},
      {"has a list of type 99", Code::kCorrupt, with_key(list + number(99, 4) + number(0, 8)).file()},
      {"claims 1152921504606846976 elements", Code::kCorrupt,
       with_key(list + number(10, 4) + number(std::uint64_t{1} << 60, 8)).file()},
      {"deeper than 4", Code::kCorrupt,
       with_key(list + one_in + one_in + one_in + one_in + number(0, 4) + number(0, 8)).file()},
      {"a key has 0 bytes", Code::kCorrupt, with_key(u32_key("", 1)).file()},
      {"a key has 4611686018427387904 bytes", Code::kCorrupt, with_key(number(std::uint64_t{1} << 62, 8)).file()},
      {"the file ends within the header", Code::kCorrupt,
       with_key(text("x.s") + number(8, 4) + number(std::uint64_t{1} << 62, 8)).file()},
      {"general.alignment is no power of two", Code::kCorrupt, with_key(u32_key("general.alignment", 24)).file()},
      {"general.alignment is no power of two", Code::kCorrupt, with_key(u32_key("general.alignment", 0)).file()},
      {"tensor 'a' is there twice", Code::kCorrupt, with_tensor(tensor("a", {1}, 0, 32)).file()},
      {"the name of a tensor has 64 bytes", Code::kCorrupt,
       with_tensor(tensor(std::string(64, 'n'), {1}, 0, 32)).file()},
      {"has 5 dimensions", Code::kCorrupt, with_tensor(tensor("c", {1, 1, 1, 1, 1}, 0, 32)).file()},
      {"more elements than there can be", Code::kCorrupt,
       with_tensor(tensor("c", {std::uint64_t{1} << 40, std::uint64_t{1} << 40}, 0, 32)).file()},
      {"which 32 does not divide", Code::kCorrupt, with_tensor(tensor("c", {1}, 0, 16)).file()},
      {"rows of 40 elements, which no blocks of Q8_0 fill", Code::kCorrupt,
       with_tensor(tensor("c", {40}, 8, 32)).file()},
      {"tensor 'c' ends beyond the end", Code::kCorrupt,
       with_tensor(tensor("c", {1}, 0, std::uint64_t{1} << 63)).file()},
      {"tensors 'a' and 'b' overlap", Code::kCorrupt, overlap.file()},
      {"tensor 'c' of x.gguf has elements of type IQ4_NL: not supported", Code::kUnsupported,
       with_tensor(tensor("c", {32}, 20, 32)).file()},
      {"of type type 77", Code::kUnsupported, with_tensor(tensor("c", {32}, 77, 32)).file()},
  };
}

TEST(GgufFile, RefusesWhatCannotBeRight) {
  for (const Broken& broken : broken_files()) {
    const ckpt::Status status = read(broken.bytes).status();
    EXPECT_EQ(status.code, broken.code) << broken.message << ": " << status.message;
    EXPECT_THAT(status.message, HasSubstr(broken.message));
  }
}

// A header that is longer than what is read at a time.
TEST(GgufFile, ReadsALongHeader) {
  GgufParts parts = small();
  std::string tokens = text("tokenizer.ggml.tokens") + number(9, 4) + number(8, 4) + number(100000, 8);
  for (int i = 0; i < 100000; ++i) tokens += text("t" + std::to_string(i));
  parts.keys.insert(parts.keys.begin(), tokens);
  const auto header = read(parts.file());
  ASSERT_TRUE(header.ok()) << header.status().to_string();
  EXPECT_EQ(header->values.at("tokenizer.ggml.tokens").count, 100000u);
  EXPECT_EQ(header->text("general.architecture"), "llama");
  for (std::size_t cut = 1; cut < 200; ++cut) EXPECT_FALSE(read(parts.file().substr(0, cut)).ok());
}

}  // namespace
}  // namespace titan::convert::gguf_file_test
