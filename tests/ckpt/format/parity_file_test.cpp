#include "ckpt/format/parity_file.h"

#include <gtest/gtest.h>

namespace titan::ckpt::parity_file_test {
namespace {

TEST(ParityFile, ItsHeaderReadsBackAndIsCheckedAgainstTheFile) {
  const ParityHeader header{3, 2, 1, 1000, 5000};
  auto bytes = encode_parity_header(header);
  const auto read = decode_parity_header(bytes, header.file_bytes());
  ASSERT_TRUE(read.ok()) << read.status().to_string();
  EXPECT_EQ(*read, header);
  EXPECT_EQ(header.number(), 7u);
  EXPECT_EQ(parity_path(7), "parity/parity-00007.bin");
  EXPECT_FALSE(decode_parity_header(bytes, header.file_bytes() + 1).ok()) << "of another size";
  EXPECT_FALSE(decode_parity_header(std::span(bytes).first(10), header.file_bytes()).ok());
  for (const auto& wrong :
       {ParityHeader{0, 5, 0, 10, 10}, ParityHeader{0, 2, 2, 10, 10}, ParityHeader{0, 1, 0, std::uint64_t{1} << 40, 10},
        ParityHeader{0, 1, 0, 10, ~std::uint64_t{0} - 80}}) {
    const auto refused = decode_parity_header(encode_parity_header(wrong), wrong.file_bytes());
    EXPECT_EQ(refused.status().code, Code::kCorrupt) << wrong.rows << " " << wrong.manifest_bytes;
  }
  bytes[8] = std::byte{9};
  EXPECT_FALSE(decode_parity_header(bytes, header.file_bytes()).ok()) << "of another version";
}

TEST(ParityFile, AManifestWithoutParityNamesTheSameFiles) {
  Manifest manifest;
  for (const char* path : {"a", "parity/parity-00000.bin", "b", "parity/parity-00001.bin"}) {
    manifest.files.emplace_back().path = path;
    manifest.files.back().bytes = manifest.files.size() * 10;
  }
  manifest.parameters.emplace_back().model.emplace().pieces.push_back({2});
  EXPECT_EQ(parity_rows(manifest), 2u);
  const Manifest without = without_parity(manifest);
  ASSERT_EQ(without.files.size(), 2u);
  EXPECT_EQ(without.files[without.parameters[0].model->pieces[0].file].path, "b");
  EXPECT_EQ(parity_rows(without), 0u);
  const auto groups = parity_groups(without);
  ASSERT_EQ(groups.size(), 1u);
  EXPECT_EQ(groups[0].end, 2u);
  EXPECT_EQ(groups[0].largest, 30u);
}

TEST(ParityFile, ManyMembersAreSeveralGroups) {
  Manifest manifest;
  manifest.files.resize(300);
  const auto groups = parity_groups(manifest);
  ASSERT_EQ(groups.size(), 3u);
  EXPECT_EQ(groups[2].first, 256u);
  EXPECT_EQ(groups[2].end, 300u);
}

}  // namespace
}  // namespace titan::ckpt::parity_file_test
