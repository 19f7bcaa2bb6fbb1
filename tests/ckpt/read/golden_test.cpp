// Holds the code to the frozen bytes of format versions 1.0 to 1.3: tests/golden/format-1/, format-1.1/,
// format-1.2/, format-1.3/.
//
// The golden checkpoints were made by this file: TITAN_WRITE_GOLDEN=zstd titan_ckpt_tests
// --gtest_filter='*Golden*zstd*' writes anew those whose names contain the word. A published version's golden files are
// never changed; a new version gets its own folder beside them. Steps of other versions than the newest writer are
// older than model/model.h5, a derived member: what is written today is theirs, that member, and its entry in the
// manifest.
#include <gtest/gtest.h>
#include <zstd.h>

#include <cstdlib>

#include "ckpt/base/files.h"
#include "ckpt/base/fs_posix.h"
#include "ckpt/format/manifest_codec.h"
#include "ckpt/format/manifest_decode.h"
#include "ckpt/read/reader.h"
#include "ckpt/read/snapshot.h"
#include "ckpt/read/verifier.h"
#include "tests/support/checkpoints.h"
#include "tests/support/files.h"
#include "tests/support/mem_fs.h"

namespace titan::ckpt::golden_test {
namespace {

using titan::ckpt::testing::get_text;
using titan::ckpt::testing::MemFs;
using titan::ckpt::testing::pattern;

const std::string kFolder = std::string(TITAN_SOURCE_DIR) + "/tests/golden/";
// zstd promises to read its frames for ever, not to make the same ones; format-1.1 was made by this version.
constexpr unsigned kGoldenZstd = 10504;

struct Variant {
  const char* name;
  DType dtype;
  Mesh mesh;
  std::uint64_t step;
  const char* id;
  bool derived;  // has model/model.h5
  const char* version = "format-1";
  Codec codec = Codec::kRaw;
  bool excluded = false;  // samples are left out
  bool mixture = false;   // of two sets
};

void PrintTo(const Variant& variant, std::ostream* out) { *out << variant.name; }

constexpr Variant kVariants[] = {
    {"float32", DType::kF32, {2, 2, 1}, 12, "d05ca6b11df8ddf8daa528e9cebb33d2", false},
    {"bfloat16", DType::kBF16, {1, 1, 1}, 13, "b2cc4d8575420d15126b1de4e450662b", false},
    {"virtual_model", DType::kBF16, {1, 3, 1}, 14, "1453b4422c7c774430a3023fd46267f0", true},
    {"zstd_float32", DType::kF32, {2, 2, 1}, 14, "24396103a1b4a178133617608185b310", false, "format-1.1", Codec::kZstd},
    {"zstd_bfloat16",
     DType::kBF16,
     {1, 1, 1},
     15,
     "dd6aa70fa9b27aeabedb98a6eee6874e",
     false,
     "format-1.1",
     Codec::kZstd},
    {"excluded", DType::kF32, {1, 2, 1}, 16, "84528497bf3eff97cdb91d5eea346c3c", true, "format-1.2", Codec::kRaw, true},
    {"mixture",
     DType::kF32,
     {2, 1, 1},
     17,
     "f773cafbb584a676460459cbb8882a7c",
     true,
     "format-1.3",
     Codec::kRaw,
     false,
     true},
};

// Raw checkpoints hold noise. For compression, which keeps noise as it is, the upper bytes become those of numbers
// around 1; what is smaller than its frame stays raw there, too.
void soften(const Variant& variant, std::span<std::byte> bytes) {
  const std::size_t size = dtype_size(variant.dtype);
  for (std::size_t i = size; variant.codec == Codec::kZstd && i <= bytes.size(); i += size) {
    bytes[i - 1] = std::byte{0x3F};
    if (size == 4) bytes[i - 2] = std::byte{0x80};
  }
}

class GoldenSource final : public TensorSource {
 public:
  GoldenSource(const Variant& variant, const Snapshot& snapshot) : variant_(variant), pattern_(snapshot) {}
  Result<std::span<const std::byte>> leaf(const TensorRef& ref, std::uint64_t leaf,
                                          std::span<std::byte> scratch) override {
    TITAN_ASSIGN_OR_RETURN(const std::span<const std::byte> bytes, pattern_.leaf(ref, leaf, scratch));
    soften(variant_, scratch.first(bytes.size()));
    return bytes;
  }

 private:
  const Variant& variant_;
  testing::PatternSource pattern_;
};

/// Two sets whose shares changed at sample 40, of which one is dropped after two passes.
void mix(DataPosition& data) {
  data.epoch_base = 40;
  data.files.push_back({"code.txt", 6401, digest_of("code")});
  data.sets = {{.name = "text", .share = 3006477107, .samples = 1000, .drawn = 28, .files = data.files.size() - 1},
               {.name = "code", .share = 1288490189, .samples = 100, .drawn = 12, .most = 200, .files = 1}};
  data.samples_per_epoch = 1100;
}

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
    Snapshot snapshot =
        testing::make_snapshot({{"tok_embeddings.weight", {37, 12}},
                                {"layers.0.attention.wq.weight", {12, 12}},
                                {"layers.0.scale", {}},
                                {"layers.0.empty", {0, 12}},
                                {"norm.weight", {12}},
                                {"output/odd%.weight", {37, 12}}},
                               GetParam().mesh, GetParam().codec == Codec::kRaw ? 100 : 200, GetParam().step);
    snapshot.dtype = GetParam().dtype;
    snapshot.codec = GetParam().codec;
    if (GetParam().excluded) snapshot.data.excluded = {{snapshot.data.samples + 8, 8}, {snapshot.data.samples + 64, 1}};
    if (GetParam().mixture) mix(snapshot.data);
    return snapshot;
  }
  std::string folder() const { return kFolder + GetParam().version + "/step-000000" + std::to_string(GetParam().step); }
};

TEST_P(Golden, ReadsFormatVersion1) {
  const Snapshot expected = snapshot();
  auto reader = CheckpointReader::open(posix_fs(), folder());
  ASSERT_TRUE(reader.ok()) << reader.status().to_string();
  EXPECT_EQ(reader->manifest().id.hex(), GetParam().id);
  EXPECT_EQ(reader->manifest().major, 1u);
  EXPECT_EQ(reader->manifest().minor, GetParam().mixture                ? 3u
                                      : GetParam().excluded             ? 2u
                                      : GetParam().codec == Codec::kRaw ? 0u
                                                                        : 1u);
  EXPECT_EQ(*reader->lr_schedule(), expected.lr);
  EXPECT_EQ(*reader->data_position(), expected.data);
  EXPECT_EQ(*reader->train_state(), expected.train);
  for (std::uint32_t i = 0; i < expected.parameters.size(); ++i) {
    for (const char* slot : {"", kExpAvg, kExpAvgSq}) {
      const LeafRange all{0, expected.parameters[i].grid(expected.leaf_elements).count()};
      std::vector<std::byte> bytes = pattern(expected, {i, slot}, all);
      soften(GetParam(), bytes);
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
  const Snapshot given = snapshot();
  GoldenSource source(GetParam(), given);
  const auto published = testing::save(fs, "/golden", given, source);
  ASSERT_TRUE(published.ok()) << published.status().to_string();
  EXPECT_EQ(published->id.hex(), GetParam().id);
  std::vector<std::string> files = testing::tree(fs, published->path);
  const char* anew = std::getenv("TITAN_WRITE_GOLDEN");
  if (anew && std::string(GetParam().name).find(anew) != std::string::npos) {
    ASSERT_TRUE(remove_tree(posix_fs(), folder()).ok());
    for (const std::string& file : files) {
      if (file.ends_with('/')) continue;
      ASSERT_TRUE(
          testing::put_text(posix_fs(), folder() + "/" + file, get_text(fs, published->path + "/" + file)).ok());
    }
  }
  if (!GetParam().derived) {
    EXPECT_EQ(std::erase(files, "model/model.h5"), 1u);
  }
  EXPECT_EQ(files, testing::tree(posix_fs(), folder()));
  if (GetParam().codec == Codec::kZstd && ZSTD_versionNumber() != kGoldenZstd)
    return;  // the id above is all that must be equal
  std::erase_if(files, [](const std::string& file) { return file.ends_with('/'); });
  for (const std::string& file : files) {
    std::string written = get_text(fs, published->path + "/" + file);
    if (file == "manifest.json" && !GetParam().derived) written = without_derived(written);
    const bool equal = written == get_text(posix_fs(), folder() + "/" + file);
    EXPECT_TRUE(equal) << file << " differs; compare with a checkpoint that TITAN_WRITE_GOLDEN=1 wrote";
  }
}

INSTANTIATE_TEST_SUITE_P(Format, Golden, ::testing::ValuesIn(kVariants),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace titan::ckpt::golden_test
