#include "corpus/byte_source.h"

#include <gtest/gtest.h>
#include <zlib.h>
#include <zstd.h>

#include "tests/support/files.h"
#include "tests/support/mem_fs.h"

namespace titan::corpus::byte_source_test {
namespace {

using ckpt::Code;
using ckpt::testing::MemFs;
using ckpt::testing::put_text;

std::string gzipped(const std::string& text) {
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, 6, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string out(text.size() + 1000, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

std::string zstd(const std::string& text) {
  std::string out(ZSTD_compressBound(text.size()), '\0');
  out.resize(ZSTD_compress(out.data(), out.size(), text.data(), text.size(), 3));
  return out;
}

std::string long_text() {
  std::string text;
  for (int i = 0; i < 200000; ++i) text += std::to_string(i * 7919) + ' ';
  return text;
}

// Reads `bytes` as a file of the name f, in pieces of an odd size.
ckpt::Result<std::string> read(const std::string& bytes, bool* json_lines = nullptr) {
  MemFs fs;
  EXPECT_TRUE(put_text(fs, "/f", bytes).ok());
  TITAN_ASSIGN_OR_RETURN(auto source, file_source(fs, "/f"));
  TITAN_ASSIGN_OR_RETURN(const ExaminedSource looked, examine("f", std::move(source)));
  if (json_lines != nullptr) *json_lines = looked.json_lines;
  std::string text;
  char piece[777];
  while (true) {
    TITAN_ASSIGN_OR_RETURN(const std::size_t count, looked.source->read(piece));
    if (count == 0) return text;
    text.append(piece, count);
  }
}

TEST(ByteSource, ReadsWhatIsThere) {
  for (const std::string& text : {std::string(), std::string("abc"), long_text()}) EXPECT_EQ(*read(text), text);
  MemFs fs;
  EXPECT_EQ(file_source(fs, "/none").status().code, Code::kInvalid);
}

TEST(ByteSource, UnpacksEveryMemberAndFrame) {
  const std::string text = long_text();
  bool json_lines = true;
  EXPECT_EQ(*read(gzipped(text), &json_lines), text);
  EXPECT_FALSE(json_lines);
  EXPECT_EQ(*read(zstd(text)), text);
  EXPECT_EQ(*read(gzipped(text) + gzipped("") + gzipped("end")), text + "end");
  EXPECT_EQ(*read(zstd(text) + zstd("end")), text + "end");
  EXPECT_EQ(*read(gzipped("{\"text\": \"a\"}\n{\"text\": \"b\"}\n"), &json_lines),
            "{\"text\": \"a\"}\n{\"text\": \"b\"}\n");
  EXPECT_TRUE(json_lines) << "by what is in it";
}

TEST(ByteSource, DamagedArchivesAreErrors) {
  const std::string text = long_text();
  for (const std::string& packed : {gzipped(text), zstd(text)}) {
    for (const std::size_t size : {std::size_t{5}, packed.size() / 2, packed.size() - 1})
      EXPECT_EQ(read(packed.substr(0, size)).status().code, Code::kCorrupt) << size;
    std::string damaged = packed;
    damaged[packed.size() / 2] = static_cast<char>(damaged[packed.size() / 2] ^ 0x55);
    const auto result = read(damaged);
    EXPECT_TRUE(!result.ok() || *result != text);
    EXPECT_FALSE(read(packed + "no member").ok()) << "what follows is no packed part";
  }
}

}  // namespace
}  // namespace titan::corpus::byte_source_test
