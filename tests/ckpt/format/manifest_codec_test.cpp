#include "ckpt/format/manifest_codec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>

#include "ckpt/format/manifest_check.h"
#include "ckpt/format/manifest_decode.h"
#include "ckpt/format/shard_file.h"
#include "tests/support/manifests.h"

namespace titan::ckpt::manifest_codec_test {
namespace {

using ::testing::HasSubstr;
using titan::ckpt::testing::edited;
using titan::ckpt::testing::large_manifest;
using titan::ckpt::testing::small_manifest;

TEST(ManifestCodec, ReadsBackWhatItWrote) {
  Manifest manifest = small_manifest();
  manifest.derived_from = DerivedFrom{digest_of("source"), 39, "../run \"a\"/step-00000039"};
  manifest.writer = "titan \xC3\xA4\n\t\"quoted\"";
  const auto decoded = decode_manifest("m", encode_manifest(manifest));
  ASSERT_TRUE(decoded.ok()) << decoded.status().to_string();
  EXPECT_EQ(*decoded, manifest);
  EXPECT_EQ(encode_manifest(*decoded), encode_manifest(manifest));
}

TEST(ManifestCodec, ReadsBackTheSourcesOfASumWithTheirWeights) {
  Manifest manifest = small_manifest();
  const double third = 1.0 / 3;
  manifest.derived_from =
      DerivedFrom{digest_of("b"), 39, "/r/b", {{digest_of("a"), 20, "/r/a", third}, {{}, 39, "/r/b", 1 - third}}};
  const auto decoded = decode_manifest("m", encode_manifest(manifest));
  ASSERT_TRUE(decoded.ok()) << decoded.status().to_string();
  EXPECT_EQ(*decoded, manifest);
}

TEST(ManifestCodec, WritesTheLowestMinorVersionAndNamesTheFeature) {
  Manifest manifest = small_manifest();
  manifest.minor = 7;  // as read from a newer writer
  EXPECT_THAT(encode_manifest(manifest), HasSubstr("\"minor\":0}"));
  EXPECT_THAT(encode_manifest(manifest), HasSubstr("\"requires\":[]"));
  manifest.parameters[0].slots[1].tensor.pieces[0].codec = Codec::kZstd;
  const std::string text = encode_manifest(manifest);
  EXPECT_THAT(text, HasSubstr("\"minor\":1}"));
  EXPECT_THAT(text, HasSubstr("\"requires\":[\"zstd\"]"));
  const auto decoded = decode_manifest("m", text);
  ASSERT_TRUE(decoded.ok()) << decoded.status().to_string();
  manifest.minor = 1;
  EXPECT_EQ(*decoded, manifest);
}

TEST(ManifestCodec, AMixtureIsAFeatureOfItsOwn) {
  Manifest manifest = small_manifest();
  manifest.mixture = manifest.excluded = true;
  const std::string text = encode_manifest(manifest);
  EXPECT_THAT(text, HasSubstr("\"minor\":3}"));
  EXPECT_THAT(text, HasSubstr("\"requires\":[\"excluded\",\"mixture\"]"));
  const auto decoded = decode_manifest("m", text);
  ASSERT_TRUE(decoded.ok()) << decoded.status().to_string();
  manifest.minor = 3;
  EXPECT_EQ(*decoded, manifest);
}

TEST(ManifestCodec, SamplesThatAreLeftOutAreAFeatureOfTheirOwn) {
  Manifest manifest = small_manifest();
  manifest.excluded = true;
  EXPECT_THAT(encode_manifest(manifest), HasSubstr("\"minor\":2}"));
  EXPECT_THAT(encode_manifest(manifest), HasSubstr("\"requires\":[\"excluded\"]"));
  manifest.parameters[0].slots[1].tensor.pieces[0].codec = Codec::kZstd;
  const std::string text = encode_manifest(manifest);
  EXPECT_THAT(text, HasSubstr("\"minor\":2}"));
  EXPECT_THAT(text, HasSubstr("\"requires\":[\"zstd\",\"excluded\"]"));
  const auto decoded = decode_manifest("m", text);
  ASSERT_TRUE(decoded.ok()) << decoded.status().to_string();
  manifest.minor = 2;
  EXPECT_EQ(*decoded, manifest);
}

TEST(ManifestCodec, RefusesCompressedPiecesWithTooLargeChunks) {
  Manifest manifest = small_manifest();
  manifest.leaf_elements = kMaxChunkBytes / 4 + 1;
  ParameterRecord& record = manifest.parameters[0];
  record.meta.shape = {kMaxChunkBytes};
  record.model->chunk = manifest.leaf_elements;
  record.model->pieces = {record.model->pieces[0]};
  record.model->pieces[0].codec = Codec::kZstd;
  record.model->pieces[0].leaf_count = 4;
  record.model->pieces[0].row = 0;
  manifest.files[record.model->pieces[0].file].table_rows = 4;
  manifest.files[record.model->pieces[0].file].bytes = std::uint64_t{1} << 40;
  EXPECT_THAT(decode_manifest("m", encode_manifest(manifest)).status().message,
              HasSubstr("too large for compressed pieces"));
}

TEST(ManifestCodec, ReadsAManifestWithoutComponents) {
  Manifest manifest;
  const auto decoded = decode_manifest("m", encode_manifest(manifest));
  ASSERT_TRUE(decoded.ok()) << decoded.status().to_string();
  EXPECT_EQ(*decoded, manifest);
}

TEST(ManifestCodec, TheSelfDigestIsOverTheBytesWithItsDigitsZeroed) {
  std::string text = encode_manifest(small_manifest());
  const std::string stored = text.substr(16, 32);
  text.replace(16, 32, std::string(32, '0'));
  EXPECT_EQ(text.substr(0, 16), "{\"self_digest\":\"");
  EXPECT_EQ(digest_of(std::string_view(text)).hex(), stored);
}

TEST(ManifestCodec, RefusesATextThatIsCutAnywhere) {
  const std::string text = encode_manifest(small_manifest());
  for (std::size_t size = 0; size < text.size(); size += size < 128 ? 1 : 64) {
    const auto decoded = decode_manifest("m", std::string_view(text).substr(0, size));
    ASSERT_FALSE(decoded.ok()) << "cut at " << size;
    EXPECT_EQ(decoded.status().code, Code::kCorrupt) << "cut at " << size << ": " << decoded.status().to_string();
    // The same cut with a right self-digest must be stopped by the parser.
    if (const auto resealed = with_self_digest(text.substr(0, size)); resealed.ok() && size + 1 < text.size()) {
      EXPECT_EQ(decode_manifest("m", *resealed).status().code, Code::kCorrupt) << "cut at " << size;
    }
  }
}

TEST(ManifestCodec, RejectsManifestFromNewerMajorVersion) {
  const auto decoded = decode_manifest("m", edited("\"major\":1", "\"major\":2"));
  EXPECT_EQ(decoded.status().code, Code::kIncompatible);
  EXPECT_THAT(decoded.status().message, HasSubstr("format version 2"));
  EXPECT_FALSE(decoded.status().hint.empty());
}

TEST(ManifestCodec, RejectsNewerMajorVersionAsIncompatibleEvenWhenTheDigestIsByAnotherRule) {
  std::string text = encode_manifest(small_manifest());
  text.replace(text.find("\"major\":1"), 9, "\"major\":7");
  const auto decoded = decode_manifest("m", text);
  EXPECT_EQ(decoded.status().code, Code::kIncompatible);
  EXPECT_EQ(decoded.status().causes.size(), 1u);
}

TEST(ManifestCodec, AcceptsANewerMinorVersionWithKeysThatItDoesNotKnow) {
  Manifest expected = small_manifest();
  expected.minor = 9;
  std::string text = edited("\"minor\":0", "\"minor\":9,\"codename\":\"x\"");
  text.replace(text.find("\"requires\""), 0, "\"future\":{\"a\":[1,{\"b\":null}],\"c\":-1.5e3},\n");
  text.replace(text.find("{\"name\":\"tok"), 1, "{\"layout\":[[1],[2]],");
  text.replace(text.find("{\"dtype\""), 1, "{\"scale\":0.5,");
  const auto decoded = decode_manifest("m", *with_self_digest(text));
  ASSERT_TRUE(decoded.ok()) << decoded.status().to_string();
  EXPECT_EQ(*decoded, expected);
}

struct Edit {
  const char* name;
  const char* from;
  const char* to;
  Code code;
  const char* message;
};

void PrintTo(const Edit& edit, std::ostream* out) { *out << edit.name; }

class Malformed : public ::testing::TestWithParam<Edit> {};

TEST_P(Malformed, IsRefused) {
  const auto decoded = decode_manifest("m", edited(GetParam().from, GetParam().to));
  ASSERT_FALSE(decoded.ok());
  EXPECT_EQ(decoded.status().code, GetParam().code) << decoded.status().to_string();
  EXPECT_THAT(decoded.status().message, HasSubstr(GetParam().message));
}

constexpr Code kBad = Code::kCorrupt;
constexpr Code kNewer = Code::kIncompatible;

INSTANTIATE_TEST_SUITE_P(
    ManifestCodec, Malformed,
    ::testing::Values(
        Edit{"UnknownFeature", "\"requires\":[]", "\"requires\":[\"zstd\",\"quantum\"]", kNewer, "quantum"},
        Edit{"UnknownOrder", "\"order\":\"row_major\"", "\"order\":\"column_major\"", kNewer, "column_major"},
        Edit{"UnknownOrderOfAParameter", "\"stage\":0,", "\"stage\":0,\"order\":\"column_major\",", kNewer,
             "column_major"},
        Edit{"UnknownCodec", "[[2,0,2,4096,0]", "[[2,0,2,4096,0,2]", kNewer, "codec 2"},
        Edit{"CompressedPieceWithoutItsFeature", "[[2,0,2,4096,0]", "[[2,0,2,4096,0,1]", kBad,
             "'requires' does not name 'zstd'"},
        Edit{"UnknownRole", "\"role\":\"json\"", "\"role\":\"mirror\"", kNewer, "mirror"},
        Edit{"OtherFormatName", "\"titan-checkpoint\"", "\"titanic\"", kBad, "titanic"},
        Edit{"MajorZero", "\"major\":1", "\"major\":0", kBad, "version 0"},
        Edit{"DuplicateTopKey", "\"step\":40,", "\"step\":40,\"step\":40,", kBad, "'step' twice"},
        Edit{"DuplicateKeyInAPiece", "\"chunk\":100,", "\"chunk\":100,\"chunk\":100,", kBad, "'chunk' twice"},
        Edit{"MissingKey", "\"stage\":0,", "", kBad, "'stage' missing"},
        Edit{"MissingMesh", "\"mesh\":{\"pp\":2,\"dp\":2,\"tp\":1},", "", kBad, "'mesh' missing"},
        Edit{"NegativeStep", "\"step\":40", "\"step\":-40", kBad, "expected an integer"},
        Edit{"FractionalStep", "\"step\":40", "\"step\":40.5", kBad, "expected an integer"},
        Edit{"StepBeyond64Bits", "\"step\":40", "\"step\":99999999999999999999999", kBad, "expected an integer"},
        Edit{"WrongType", "\"files\":[", "\"files\":{\"a\":0},\"x\":[", kBad, "expected a list"},
        Edit{"UpperCaseDigest", "\"digest\":\"", "\"digest\":\"A", kBad, "digest"},
        Edit{"TrailingText", "\n\"config\":{", "\n\"config\":{}}{", kBad, "offset"},
        Edit{"ParentPath", "\"path\":\"model/", "\"path\":\"../", kBad, "'..' part"},
        Edit{"AbsolutePath", "\"path\":\"model/", "\"path\":\"/", kBad, "empty"},
        Edit{"DotPath", "\"path\":\"model/", "\"path\":\"./", kBad, "'.'"},
        Edit{"BackslashPath", "\"path\":\"model/", "\"path\":\"model\\\\", kBad, "ASCII"},
        Edit{"ControlCharacterInPath", "\"path\":\"model/", "\"path\":\"model\\u0007/", kBad, "ASCII"},
        Edit{"RepeatedPath", "model/shard-00001.h5", "model/shard-00000.h5", kBad, "listed twice"},
        Edit{"ManifestAsMember", "\"path\":\"model/shard-00000.h5\"", "\"path\":\"manifest.json\"", kBad,
             "lists itself"},
        Edit{"OverflowingShape", "\"shape\":[40,10]", "\"shape\":[4294967296,4294967296]", kBad, "overflows"},
        Edit{"ShapeOfMoreThan2To63Bytes", "\"shape\":[40,10]", "\"shape\":[2305843009213693953]", kBad, "overflows"},
        Edit{"HugeShape", "\"shape\":[40,10]", "\"shape\":[4611686018427387904]", kBad, "overflows"},
        Edit{"OtherShape", "\"shape\":[40,10]", "\"shape\":[41,10]", kBad, "do not cover leaf 4"},
        Edit{"WrongChunk", "\"chunk\":100", "\"chunk\":99", kBad, "chunk is 99"},
        Edit{"LeafZero", "\"leaf_elements\":100", "\"leaf_elements\":0", kBad, "leaf_elements"},
        Edit{"LeafHuge", "\"leaf_elements\":100", "\"leaf_elements\":18446744073709551615", kBad, "leaf_elements"},
        Edit{"MeshZero", "\"dp\":2", "\"dp\":0", kBad, "mesh"},
        Edit{"ShortPiece", "[[2,0,2,4096,0]", "[[2,0,2,4096]", kBad, "5 or 6 integers"},
        Edit{"LongPiece", "[[2,0,2,4096,0]", "[[2,0,2,4096,0,0,0]", kBad, "5 or 6 integers"},
        Edit{"PieceWithGap", "[[2,0,2,4096,0]", "[[2,1,2,4096,0]", kBad, "leaf 0"},
        Edit{"PieceCountsTooMany", "[[2,0,2,4096,0]", "[[2,0,18446744073709551615,4096,0]", kBad, "leaf 0"},
        Edit{"PieceInAJsonFile", "[[2,0,2,4096,0]", "[[0,0,2,4096,0]", kBad, "no shard"},
        Edit{"PieceInNoFile", "[[2,0,2,4096,0]", "[[99,0,2,4096,0]", kBad, "no shard"},
        Edit{"PieceBeyondTheFile", "[[2,0,2,4096,0]", "[[2,0,2,18446744073709551000,0]", kBad, "outside"},
        Edit{"RowsBeyondTheTable", "[[2,0,2,4096,0]", "[[2,0,2,4096,18446744073709551615]", kBad, "rows"},
        Edit{"RowsTwice", "[[7,0,2,4896,2]", "[[7,0,2,4896,1]", kBad, "exactly once"},
        Edit{"PiecesOverlap", "[[7,0,2,4896,2]", "[[7,0,2,4800,2]", kBad, "overlap"},
        Edit{"JsonMemberOfOtherSize", "\"bytes\":300,\"stored_bytes\":300", "\"bytes\":299,\"stored_bytes\":299", kBad,
             "do not agree"},
        Edit{"TableBeyondTheFile", "\"table_offset\":", "\"table_offset\":9", kBad, "leaf table"},
        Edit{"TableRowsOverflow", "\"table_rows\":", "\"table_rows\":288230376151711744", kBad, "leaf table"},
        Edit{"UnknownDtype", "\"float32\"", "\"float33\"", kBad, "float33"},
        Edit{"ParameterTwice", "\"name\":\"norm.weight\"", "\"name\":\"tok_embeddings.weight\"", kBad, "listed twice"},
        Edit{"ParameterWithoutName", "\"name\":\"norm.weight\"", "\"name\":\"\"", kBad, "1 to 1,024"},
        Edit{"ParameterWithControlCharacter", "\"name\":\"norm.weight\"", "\"name\":\"norm\\nweight\"", kBad,
             "control"},
        Edit{"BadSlotName", "\"exp_avg\":", "\"exp.avg\":", kBad, "slot name"},
        Edit{"SlotTwice", "\"exp_avg_sq\":", "\"exp_avg\":", kBad, "twice"},
        Edit{"NoOptimizerStep", ",\"optimizer_step\":40", "", kBad, "must come together"},
        Edit{"ComponentTwice", "\"name\":\"optimizer\"", "\"name\":\"model\"", kBad, "listed twice"},
        Edit{"ComponentRenamed", "\"name\":\"optimizer\"", "\"name\":\"optimiser\"", kBad, "'optimizer'"},
        Edit{"JsonComponentRenamed", "\"name\":\"dataloader\"", "\"name\":\"loader\"", kBad, "must come together"},
        Edit{"WrongComponentBytes", "\"bytes\":1760,", "\"bytes\":1761,", kBad, "component 'model'"},
        Edit{"ConfigNotSorted", "\"model.name\"", "\"z.name\"", kBad, "ascend"}),
    [](const auto& info) { return info.param.name; });

TEST(ManifestCodec, APieceEndsWhereTheLeafTableBeginsAndNotOneByteLater) {
  Manifest manifest = small_manifest();
  ASSERT_TRUE(check_manifest(manifest).ok());
  FileEntry& file = manifest.files[manifest.parameters[0].model->pieces[0].file];
  --file.table_offset;
  const Status status = check_manifest(manifest);
  EXPECT_EQ(status.code, Code::kCorrupt);
  EXPECT_THAT(status.message, HasSubstr("pieces overlap in '" + file.path + "'"));
}

TEST(ManifestCodec, EveryRowOfALeafTableBelongsToAPiece) {
  Manifest manifest = small_manifest();
  FileEntry& file = manifest.files[manifest.parameters[0].model->pieces[0].file];
  ++file.table_rows;
  file.bytes += kLeafRowBytes;
  EXPECT_THAT(check_manifest(manifest).message, HasSubstr("of the leaf table of '" + file.path + "' is not used"));
}

TEST(ManifestCodec, TheStoredBytesOfAComponentAreThoseOfItsFiles) {
  Manifest manifest = small_manifest();
  ++manifest.components[0].stored_bytes;
  EXPECT_THAT(check_manifest(manifest).message, HasSubstr("component 'model': bytes or files do not agree"));
}

TEST(ManifestCodec, ACompressedChunkHasAtMostTheGreatestSize) {
  const auto check = [](std::uint64_t elements) {
    Manifest manifest;
    manifest.leaf_elements = elements;
    FileEntry file;
    file.path = "model/shard-00000.h5";
    file.bytes = 10'000;
    file.table_offset = 8'000;
    file.table_rows = 1;
    manifest.files = {file};
    StoredTensor stored;
    stored.chunk = elements;
    stored.pieces = {{0, 0, 1, 4096, 0, Codec::kZstd}};
    manifest.parameters = {{{"w", {elements}}, stored, {}, 0}};
    manifest.components = {{kModel, {}, elements * 4, file.bytes, 1}};
    return check_manifest(manifest);
  };
  EXPECT_TRUE(check(kMaxChunkBytes / 4).ok()) << check(kMaxChunkBytes / 4).to_string();
  EXPECT_THAT(check(kMaxChunkBytes / 4 + 1).message, HasSubstr("too large for compressed pieces"));
}

TEST(ManifestCodec, RefusesDeepNestingBytesThatAreNotUtf8AndHiddenText) {
  const std::string text = encode_manifest(small_manifest());
  const auto with = [&](std::string insert) {
    std::string changed = text;
    changed.replace(changed.find("\"requires\""), 0, insert);
    return decode_manifest("m", *with_self_digest(changed)).status();
  };
  EXPECT_TRUE(with("\"x\":" + std::string(30, '[') + std::string(30, ']') + ",").ok());
  EXPECT_THAT(with("\"x\":" + std::string(100'000, '[') + std::string(100'000, ']') + ",").message,
              HasSubstr("nested too deeply"));
  EXPECT_EQ(with("\"x\":\"\xC0\x80\",").code, Code::kCorrupt);
  EXPECT_EQ(with("\"x\":\"\xFF\",").code, Code::kCorrupt);
  EXPECT_EQ(with(std::string("\"x\":0,") + '\0').code, Code::kCorrupt);
  EXPECT_EQ(decode_manifest("m", *with_self_digest(text + std::string(1, '\0') + "hidden")).status().code,
            Code::kCorrupt);
  EXPECT_EQ(decode_manifest("m", *with_self_digest(text + "{}")).status().code, Code::kCorrupt);
}

// No time is asserted: a loaded machine must not turn this red. The figures go to the log.
TEST(ManifestCodec, ReadsTenThousandTensors) {
  const Manifest manifest = large_manifest(10'000, 16);
  const std::string text = encode_manifest(manifest);
  double best_ms = 1e9;
  for (int i = 0; i < 5; ++i) {
    const auto start = std::chrono::steady_clock::now();
    const auto decoded = decode_manifest("m", text);
    best_ms =
        std::min(best_ms, std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
    ASSERT_TRUE(decoded.ok()) << decoded.status().to_string();
    ASSERT_EQ(decoded->parameters.size(), manifest.parameters.size());
  }
  std::printf("manifest of 10,000 stored tensors: %zu bytes, read and checked in %.2f ms (best of 5)\n", text.size(),
              best_ms);
  EXPECT_LT(text.size(), std::size_t{4} << 20);
}

}  // namespace
}  // namespace titan::ckpt::manifest_codec_test
