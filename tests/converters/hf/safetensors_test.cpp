#include "converters/hf/safetensors.h"

#include <gtest/gtest.h>

#include "tests/support/files.h"
#include "tests/support/mem_fs.h"

namespace titan::convert::safetensors_test {
namespace {

using ckpt::Code;
using ckpt::DType;

std::string file_of(const std::string& json, std::uint64_t buffer_bytes) {
  std::string file;
  for (int i = 0; i < 8; ++i) file += static_cast<char>(json.size() >> (8 * i) & 0xff);
  return file + json + std::string(buffer_bytes, 'x');
}

ckpt::Result<SafetensorsHeader> read(const std::string& content) {
  ckpt::testing::MemFs fs;
  EXPECT_TRUE(ckpt::testing::put_text(fs, "/m.safetensors", content).ok());
  const auto file = fs.open_read("/m.safetensors");
  EXPECT_TRUE(file.ok());
  return read_safetensors_header(**file, "/m.safetensors");
}

TEST(Safetensors, ReadsTheReferenceVector) {
  // F32 [2, 2] named `a`, as the safetensors library writes it: 88 bytes.
  std::string json = R"({"a":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]}})";
  json.append(7, ' ');
  ASSERT_EQ(json.size(), 64u);
  const auto header = read(file_of(json, 16));
  ASSERT_TRUE(header.ok()) << header.status().to_string();
  EXPECT_EQ(header->buffer_offset, 72u);
  EXPECT_EQ(header->entries, (std::vector<SafetensorsEntry>{{"a", DType::kF32, {2, 2}, 0, 16}}));
}

TEST(Safetensors, WritesTheReferenceVector) {
  std::vector<SafetensorsEntry> entries{{"a", DType::kF32, {2, 2}}};
  const std::string bytes = encode_safetensors_header(entries, {});
  EXPECT_EQ(bytes.substr(0, 8), std::string("\x40\0\0\0\0\0\0\0", 8));
  EXPECT_EQ(bytes.substr(8), R"({"a":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]}})" + std::string(7, ' '));
}

TEST(Safetensors, WritesLargerElementsFirstThenByName) {
  std::vector<SafetensorsEntry> entries{
      {"b", DType::kF32, {1}}, {"z", DType::kI64, {1}}, {"h", DType::kBF16, {3}}, {"a", DType::kF32, {}}};
  const std::string bytes = encode_safetensors_header(entries, {{"format", "pt"}});
  std::vector<std::string> names;
  for (const SafetensorsEntry& entry : entries) names.push_back(entry.name);
  EXPECT_EQ(names, (std::vector<std::string>{"z", "a", "b", "h"}));
  EXPECT_EQ(entries.back().end, 8u + 4 + 4 + 6);
  EXPECT_EQ(bytes.size() % 8, 0u);
  const auto again = decode_safetensors_header("x", bytes.substr(8), entries.back().end);
  ASSERT_TRUE(again.ok()) << again.status().to_string();
  EXPECT_EQ(again->entries, entries);
  EXPECT_EQ(again->metadata, (std::vector<std::pair<std::string, std::string>>{{"format", "pt"}}));
}

TEST(Safetensors, TakesEntriesInAnyOrderUnalignedWithEmptyAndScalarTensors) {
  // torch's consolidation writes headers whose length is no multiple of 8, unsorted, without metadata.
  const auto header = read(file_of(
      R"({"b":{"dtype":"BF16","shape":[],"data_offsets":[4,6]},"e":{"dtype":"F32","shape":[0,7],"data_offsets":[4,4]},)"
      R"("a":{"data_offsets":[0,4],"shape":[1],"dtype":"F32","later":[{}]}})",
      6));
  ASSERT_TRUE(header.ok()) << header.status().to_string();
  std::vector<std::string> names;
  for (const SafetensorsEntry& entry : header->entries) names.push_back(entry.name);
  EXPECT_EQ(names, (std::vector<std::string>{"a", "e", "b"}));
}

// safetensors 0.8.0 reads null, and nobody here needs what else stands there.
TEST(Safetensors, PassesOverMetadataThatAreNoTexts) {
  for (const char* metadata : {"null", "{}", "[1]", "\"pt\"", "3", R"({"format":"pt","step":1,"more":{"a":[null]}})"}) {
    const auto header = read(file_of(
        std::string("{\"__metadata__\":") + metadata + R"(,"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", 4));
    ASSERT_TRUE(header.ok()) << metadata << ": " << header.status().to_string();
    EXPECT_EQ(header->entries.size(), 1u) << metadata;
    EXPECT_EQ(header->metadata.size(), std::string_view(metadata).find("format") == std::string::npos ? 0u : 1u);
  }
}

struct Malformation {
  const char* name;
  std::string file;
  const char* message;  // a part of it
  Code code = Code::kCorrupt;
};

std::string one(const std::string& entry, std::uint64_t buffer = 4) { return file_of("{\"a\":" + entry + "}", buffer); }

std::vector<Malformation> malformations() {
  const std::string f32 = R"({"dtype":"F32","shape":[1],"data_offsets":[0,4]})";
  return {
      {"EmptyFile", "", "too few"},
      {"SevenBytes", "1234567", "too few"},
      {"HeaderLongerThanFile", std::string("\x40\0\0\0\0\0\0\0{}", 10), "but the file only 10"},
      {"HeaderOfHalfTheAddressSpace", std::string("\xff\xff\xff\xff\xff\xff\xff\x7f{}", 10), "at most 100000000"},
      {"HeaderJustOverTheLimit", std::string("\x01\xe1\xf5\x05\0\0\0\0{}", 10), "at most 100000000"},
      {"EmptyHeader", file_of("", 3), "does not begin with '{'"},
      {"HeaderBeginsWithSpace", file_of(" {}", 0), "does not begin with '{'"},
      {"HeaderIsAList", file_of("[]", 0), "does not begin with '{'"},
      {"NotJson", file_of("{\"a\":}", 0), "expected an object"},
      {"NotUtf8", file_of("{\"\xff\":1}", 0), "not UTF-8"},
      {"TextAfterTheHeader", file_of("{} x", 0), "text after the end"},
      {"DeepNesting",
       one(R"({"dtype":"F32","shape":[1],"data_offsets":[0,4],"x":)" + std::string(100, '[') + std::string(100, ']') +
           "}"),
       "nested too deeply"},
      {"SameTensorTwice", file_of("{\"a\":" + f32 + ",\"a\":" + f32 + "}", 4), "'a' is there twice"},
      {"MetadataTwice", file_of(R"({"__metadata__":{},"__metadata__":{}})", 0), "'__metadata__' is there twice"},
      {"MetadataKeyTwice", file_of(R"({"__metadata__":{"x":"1","x":"2"}})", 0), "'x' is twice"},
      {"MetadataIsNotJson", file_of(R"({"__metadata__":nul})", 0), ""},
      {"WebPage", "<!DOCTYPE html><html><body>sign in</body></html>", "a web page (HTML)", Code::kUnsupported},
      {"LfsPointer", "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n", "a pointer of git-lfs",
       Code::kUnsupported},
      {"Json", R"({"error":"Repository not found"})",
       "is JSON, whatever its name says: it begins with {\"error\":\"Rep", Code::kUnsupported},
      {"JsonOfFewBytes", "[1]", "is JSON", Code::kUnsupported},
      {"HeaderAsLongAsABraceIsACode", std::string("{\0\0\0\0\0\0\0{\"a\"", 12), "but the file only 12"},
      {"Gzip", std::string("\x1f\x8b\x08\0\0\0\0\0\0\x03 packed", 17), "packed by gzip", Code::kUnsupported},
      {"Zeros", std::string(40, '\0'), "40 bytes that are all zero"},
      {"DtypeTwice", one(R"({"dtype":"F32","dtype":"F32","shape":[1],"data_offsets":[0,4]})"), "key 'dtype' twice"},
      {"NoDtype", one(R"({"shape":[1],"data_offsets":[0,4]})"), "key 'dtype' missing"},
      {"NoShape", one(R"({"dtype":"F32","data_offsets":[0,4]})"), "key 'shape' missing"},
      {"NoOffsets", one(R"({"dtype":"F32","shape":[1]})"), "key 'data_offsets' missing"},
      {"UnknownDtype", one(R"({"dtype":"F33","shape":[1],"data_offsets":[0,4]})"), "dtype 'F33' is not known"},
      {"OneOffset", one(R"({"dtype":"F32","shape":[1],"data_offsets":[0]})"), "has 1 numbers"},
      {"ThreeOffsets", one(R"({"dtype":"F32","shape":[1],"data_offsets":[0,4,4]})"), "has 3 numbers"},
      {"NegativeOffset", one(R"({"dtype":"F32","shape":[1],"data_offsets":[-4,0]})"), "integer of 64 bits"},
      {"FractionInShape", one(R"({"dtype":"F32","shape":[1.0],"data_offsets":[0,4]})"), "integer of 64 bits"},
      {"OffsetsBackwards", one(R"({"dtype":"F32","shape":[1],"data_offsets":[4,0]})"), "do not lie in the buffer"},
      {"EndsBehindTheBuffer", one(R"({"dtype":"F32","shape":[2],"data_offsets":[0,8]})"),
       "do not lie in the buffer of 4 bytes"},
      {"OffsetsNearTheLimit",
       one(R"({"dtype":"F32","shape":[1],"data_offsets":[18446744073709551612,18446744073709551615]})"),
       "do not lie in the buffer"},
      {"ShapeOverflows", one(R"({"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,4]})"),
       "its shape overflows"},
      {"BytesOverflow", one(R"({"dtype":"F64","shape":[4611686018427387904],"data_offsets":[0,4]})"),
       "its shape overflows"},
      {"OverflowHiddenByZero",
       one(R"({"dtype":"F32","shape":[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1],"data_offsets":[0,4]})"),
       "at most 32"},
      {"ShapeSmallerThanData", one(R"({"dtype":"F16","shape":[1],"data_offsets":[0,4]})"), "its shape has 2 bytes"},
      {"HalfAByte", one(R"({"dtype":"F4","shape":[1],"data_offsets":[0,0]})", 0), "do not end on a byte"},
      {"HoleAtTheStart", one(R"({"dtype":"F32","shape":[1],"data_offsets":[4,8]})", 8), "a hole"},
      {"HoleInBetween", file_of("{\"a\":" + f32 + R"(,"b":{"dtype":"F32","shape":[1],"data_offsets":[8,12]}})", 12),
       "a hole"},
      {"Overlap", file_of("{\"a\":" + f32 + R"(,"b":{"dtype":"F32","shape":[1],"data_offsets":[2,6]}})", 6),
       "tensors overlap"},
      {"SameBytesForTwoNames", file_of("{\"a\":" + f32 + ",\"b\":" + f32 + "}", 4), "tensors overlap"},
      {"BytesAfterTheLastTensor", one(f32, 5), "1 bytes after the last tensor"},
      {"BufferWithoutTensors", file_of("{}", 3), "3 bytes after the last tensor"},
      {"TruncatedBuffer", one(f32, 3), "do not lie in the buffer of 3 bytes"},
      {"TypeThatWeCannotHold", one(R"({"dtype":"F8_E4M3","shape":[4],"data_offsets":[0,4]})"), "F8_E4M3",
       Code::kUnsupported},
  };
}

TEST(Safetensors, RefusesEveryMalformationByName) {
  const auto list = malformations();
  EXPECT_GE(list.size(), 40u);
  for (const Malformation& wrong : list) {
    const auto header = read(wrong.file);
    ASSERT_FALSE(header.ok()) << wrong.name;
    EXPECT_EQ(header.status().code, wrong.code) << wrong.name << ": " << header.status().message;
    EXPECT_NE(header.status().message.find(wrong.message), std::string::npos)
        << wrong.name << ": " << header.status().message;
    EXPECT_TRUE(header.status().message.starts_with("/m.safetensors")) << wrong.name << ": " << header.status().message;
  }
}

TEST(Safetensors, ReadsAFileWithoutTensors) {
  const auto header = read(file_of("{}", 0));
  ASSERT_TRUE(header.ok()) << header.status().to_string();
  EXPECT_TRUE(header->entries.empty());
}

}  // namespace
}  // namespace titan::convert::safetensors_test
