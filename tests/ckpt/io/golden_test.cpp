// Holds the code to the frozen bytes of format version 1: tests/golden/format-1/.
//
// The golden checkpoint was made by this file: TITAN_WRITE_GOLDEN=1 titan_ckpt_tests --gtest_filter='*Golden*' writes it anew.
// A published version's golden files are never changed; a new version gets its own folder beside them. Steps 12 and 13 are older than
// model/model.h5, a derived member: what is written today is theirs, that member, and its entry in the manifest.
#include <gtest/gtest.h>

#include <cstdlib>

#include "ckpt/format/manifest_codec.h"
#include "ckpt/io/reader.h"
#include "ckpt/io/verifier.h"
#include "ckpt/io/writer.h"
#include "tests/support/checkpoints.h"
#include "tests/support/files.h"
#include "tests/support/mem_fs.h"

namespace titan::ckpt {
namespace {

using titan::ckpt::testing::get_text;
using titan::ckpt::testing::MemFs;
using titan::ckpt::testing::pattern;

const std::string kFolder = std::string(TITAN_SOURCE_DIR) + "/tests/golden/format-1";

struct Variant {
  const char* name;
  DType dtype;
  Mesh mesh;
  std::uint64_t step;
  const char* id;
  bool derived;  // has model/model.h5
};

void PrintTo(const Variant& variant, std::ostream* out) { *out << variant.name; }

constexpr Variant kVariants[] = {
    {"float32", DType::kF32, {2, 2, 1}, 12, "d05ca6b11df8ddf8daa528e9cebb33d2", false},
    {"bfloat16", DType::kBF16, {1, 1, 1}, 13, "b2cc4d8575420d15126b1de4e450662b", false},
    {"virtual_model", DType::kBF16, {1, 3, 1}, 14, "", true},
};

/// The manifest as it was before there were derived members.
std::string without_derived(const std::string& text) {
  Result<Manifest> manifest = decode_manifest("manifest.json", text);
  if (!manifest.ok()) return manifest.status().to_string();
  std::erase_if(manifest->files, [](const FileEntry& file) { return file.role == FileRole::kDerived; });
  return encode_manifest(*manifest);
}

class Golden : public ::testing::TestWithParam<Variant> {
 protected:
  Snapshot snapshot() const {
    Snapshot snapshot = testing::make_snapshot({{"tok_embeddings.weight", {37, 12}}, {"layers.0.attention.wq.weight", {12, 12}}, {"layers.0.scale", {}},
                                                {"layers.0.empty", {0, 12}}, {"norm.weight", {12}}, {"output/odd%.weight", {37, 12}}},
                                               GetParam().mesh, 100, GetParam().step);
    snapshot.dtype = GetParam().dtype;
    return snapshot;
  }
  std::string folder() const { return kFolder + "/step-000000" + std::to_string(GetParam().step); }
};

TEST_P(Golden, ReadsFormatVersion1) {
  const Snapshot expected = snapshot();
  auto reader = CheckpointReader::open(posix_fs(), folder());
  ASSERT_TRUE(reader.ok()) << reader.status().to_string();
  EXPECT_EQ(reader->manifest().id.hex(), GetParam().id);
  EXPECT_EQ(reader->manifest().major, 1u);
  EXPECT_EQ(*reader->lr_schedule(), expected.lr);
  EXPECT_EQ(*reader->data_position(), expected.data);
  EXPECT_EQ(*reader->train_state(), expected.train);
  for (std::uint32_t i = 0; i < expected.parameters.size(); ++i) {
    for (const char* slot : {"", kExpAvg, kExpAvgSq}) {
      const LeafRange all{0, expected.parameters[i].grid(expected.leaf_elements).count()};
      const std::vector<std::byte> bytes = pattern(expected, {i, slot}, all);
      std::vector<std::byte> found(bytes.size());
      ASSERT_TRUE(reader->read({i, slot}, all, found).ok());
      EXPECT_EQ(found, bytes) << expected.parameters[i].name << " " << slot;
    }
  }
  const auto report = verify_checkpoint(posix_fs(), folder());
  ASSERT_TRUE(report.ok());
  EXPECT_TRUE(report->damage.empty());
}

TEST_P(Golden, WritesFormatVersion1ByteForByte) {
  if (std::getenv("TITAN_WRITE_GOLDEN") && !GetParam().derived) return;  // frozen, and of a writer that is gone
  MemFs fs;
  const auto published = testing::save(fs, "/golden", snapshot());
  ASSERT_TRUE(published.ok()) << published.status().to_string();
  std::vector<std::string> files = testing::tree(fs, published->path);
  if (std::getenv("TITAN_WRITE_GOLDEN")) {
    ASSERT_TRUE(remove_tree(posix_fs(), folder()).ok());
    for (const std::string& file : files) {
      if (file.ends_with('/')) continue;
      ASSERT_TRUE(testing::put_text(posix_fs(), folder() + "/" + file, get_text(fs, published->path + "/" + file)).ok());
    }
  }
  if (!GetParam().derived) EXPECT_EQ(std::erase(files, "model/model.h5"), 1u);
  EXPECT_EQ(files, testing::tree(posix_fs(), folder()));
  std::erase_if(files, [](const std::string& file) { return file.ends_with('/'); });
  for (const std::string& file : files) {
    std::string written = get_text(fs, published->path + "/" + file);
    if (file == "manifest.json" && !GetParam().derived) written = without_derived(written);
    const bool equal = written == get_text(posix_fs(), folder() + "/" + file);
    EXPECT_TRUE(equal) << file << " differs; compare with a checkpoint that TITAN_WRITE_GOLDEN=1 wrote";
  }
}

INSTANTIATE_TEST_SUITE_P(Format, Golden, ::testing::ValuesIn(kVariants), [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace titan::ckpt
