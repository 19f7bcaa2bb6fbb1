#include "converters/dcp/metadata.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <random>

#include "converters/dcp/metadata_writer.h"
#include "tests/converters/dcp/dcp_builder.h"

namespace titan::convert::dcp::metadata_test {
namespace {

using testing::BuiltMetadata;
using ::testing::HasSubstr;
using testing::Properties;

// A tensor in two halves, an uneven rest without elements, a scalar and a value.
BuiltMetadata sample() {
  BuiltMetadata metadata;
  metadata.tensors = {{"a.weight",
                       "bfloat16",
                       {5, 4},
                       {{{0, 0}, {3, 4}, true, {}, "__0_0.distcp", 500, 100},
                        {{5, 0}, {0, 4}, false},
                        {{5, 0}, {0, 4}, false},
                        {{3, 0}, {2, 4}, true, {}, "__1_0.distcp", 0, 90}}},
                      {"opt.step", "float32", {}, {{{}, {}, true, {}, "__0_0.distcp", 600, 50}}}};
  metadata.values = {{"train_state.step", "__0_0.distcp", 0, 400}};
  return metadata;
}

Result<Metadata> decode(const BuiltMetadata& metadata) {
  return decode_metadata("m", testing::build_metadata(metadata));
}

TEST(Metadata, ReadsTensorsValuesAndFiles) {
  const Result<Metadata> metadata = decode(sample());
  ASSERT_TRUE(metadata.ok()) << metadata.status().to_string();
  EXPECT_EQ(metadata->version, "1.0.0");
  EXPECT_EQ(metadata->files, (std::vector<std::string>{"__0_0.distcp", "__1_0.distcp"}));
  const TensorEntry* tensor = metadata->tensor("a.weight");
  ASSERT_NE(tensor, nullptr);
  EXPECT_EQ(tensor->dtype, "bfloat16");
  EXPECT_EQ(tensor->chunks, (std::vector<Chunk>{{{0, 0}, {3, 4}, {0, 500, 100}}, {{3, 0}, {2, 4}, {1, 0, 90}}}));
  ASSERT_NE(metadata->tensor("opt.step"), nullptr);
  EXPECT_EQ(metadata->tensor("opt.step")->chunks.size(), 1u);
  ASSERT_NE(metadata->value("train_state.step"), nullptr);
  EXPECT_EQ(metadata->value("a.weight"), nullptr);
}

TEST(Metadata, ReadsEveryFormThatTorchHasWritten) {
  const Result<Metadata> expected = decode(sample());
  ASSERT_TRUE(expected.ok());
  for (const Properties form : {Properties::kSix, Properties::kDict, Properties::kOldModule, Properties::kEnumTrap}) {
    BuiltMetadata metadata = sample();
    metadata.properties = form;
    const Result<Metadata> read = decode(metadata);
    ASSERT_TRUE(read.ok()) << static_cast<int>(form) << ": " << read.status().to_string();
    EXPECT_EQ(*read, *expected);
  }
  BuiltMetadata old = sample();
  old.old = true;
  ASSERT_TRUE(decode(old).ok());
  EXPECT_EQ(decode(old)->version, "");
  BuiltMetadata paths = sample();
  paths.path_id = true;
  EXPECT_TRUE(decode(paths).ok());
}

TEST(Metadata, LeavesUnknownClassesAloneWhereTheyAreNotNeeded) {
  BuiltMetadata metadata = sample();
  metadata.extra_unknown = true;
  EXPECT_TRUE(decode(metadata).ok());
}

TEST(Metadata, ReadsWhatOurWriterWrites) {
  const std::string pickle = encode_metadata("__0_0.distcp", {{{"w"}, "float32", {2, 3}, {0, 100}},
                                                              {{"optimizer", "state.w.step"}, "float32", {}, {100, 50}},
                                                              {{"train_state", "step"}, "", {}, {150, 10}}});
  const Result<Metadata> metadata = decode_metadata("m", pickle);
  ASSERT_TRUE(metadata.ok()) << metadata.status().to_string();
  ASSERT_EQ(metadata->tensors.size(), 2u);
  EXPECT_EQ(metadata->tensors[0].name, "optimizer.state.w.step");
  EXPECT_EQ(metadata->tensors[1].shape, (std::vector<std::uint64_t>{2, 3}));
  EXPECT_EQ(metadata->value("train_state.step")->place, (ItemPlace{0, 150, 10}));
}

struct Malformed {
  const char* name;
  std::function<void(BuiltMetadata&)> damage;
  const char* message;
  ckpt::Code code = ckpt::Code::kCorrupt;
};

class MalformedMetadata : public ::testing::TestWithParam<Malformed> {};

TEST_P(MalformedMetadata, IsRefused) {
  BuiltMetadata metadata = sample();
  GetParam().damage(metadata);
  const Result<Metadata> read = decode(metadata);
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.status().code, GetParam().code);
  EXPECT_THAT(read.status().to_string(), HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    Table, MalformedMetadata,
    ::testing::Values(
        Malformed{"AbsolutePath", [](auto& m) { m.values[0].file = "/etc/passwd"; },
                  "path '/etc/passwd' begins with '/'"},
        Malformed{"ParentPath", [](auto& m) { m.values[0].file = "a/../../b"; }, "'.' or '..' part"},
        Malformed{"DotPath", [](auto& m) { m.values[0].file = "./b"; }, "'.' or '..' part"},
        Malformed{"SchemePath", [](auto& m) { m.values[0].file = "s3://b"; }, "character that is not allowed"},
        Malformed{"NulInPath", [](auto& m) { m.values[0].file = std::string("a\0b", 3); },
                  "character that is not allowed"},
        Malformed{"BackslashInPath", [](auto& m) { m.values[0].file = "a\\b"; }, "character that is not allowed"},
        Malformed{"EmptyPath", [](auto& m) { m.values[0].file = ""; }, "is empty"},
        Malformed{"LongPath", [](auto& m) { m.values[0].file = std::string(300, 'a'); }, "longer than 255"},
        Malformed{"NegativeOffset", [](auto& m) { m.values[0].at = -1; }, "int -1 instead of a number"},
        Malformed{"NegativeLength", [](auto& m) { m.values[0].length = -5; }, "int -5 instead of a number"},
        Malformed{"OverlappingItems", [](auto& m) { m.values[0].length = 501; },
                  "the items of train_state.step and a.weight overlap in __0_0.distcp"},
        Malformed{"OneRangeForTwoKeys", [](auto& m) { m.tensors[1].chunks[0].at = 500; }, "overlap in __0_0.distcp"},
        Malformed{"ChunkOutside",
                  [](auto& m) {
                    m.tensors[0].chunks[3].sizes = {3, 4};
                  },
                  "leaves the tensor in dimension 0"},
        Malformed{"ChunkOffsetOutside",
                  [](auto& m) {
                    m.tensors[0].chunks[3].offsets = {6, 0};
                  },
                  "leaves the tensor in dimension 0"},
        Malformed{"ChunkOfAnotherRank", [](auto& m) { m.tensors[0].chunks[3].sizes = {2}; },
                  "has 2 and 1 dimensions, the tensor has 2"},
        Malformed{"NegativeChunk",
                  [](auto& m) {
                    m.tensors[0].chunks[3].sizes = {-2, 4};
                  },
                  "int -2 instead of a number"},
        Malformed{"LostChunk", [](auto& m) { m.tensors[0].chunks.pop_back(); }, "its chunks hold 12 of 20 elements"},
        Malformed{"OverlappingChunks",
                  [](auto& m) {
                    m.tensors[0].chunks[3] = {{2, 0}, {3, 4}, true, {}, "__1_0.distcp", 0, 90};
                  },
                  "chunks [0:3, 0:4] and [2:5, 0:4] overlap"},
        Malformed{"SameChunkTwice", [](auto& m) { m.tensors[0].chunks[3] = m.tensors[0].chunks[0]; },
                  "there twice for one offset"},
        Malformed{"ChunkWithoutItem", [](auto& m) { m.tensors[0].chunks[3].stored = false; },
                  "chunk 3 has no item in storage_data"},
        Malformed{"ItemAtAnotherOffset",
                  [](auto& m) {
                    m.tensors[0].chunks[3].index = std::vector<std::int64_t>{4, 0};
                  },
                  "chunk 3 has no item in storage_data"},
        Malformed{"TensorWithoutItems",
                  [](auto& m) {
                    for (auto& c : m.tensors[0].chunks) c.stored = false;
                  },
                  "a.weight: chunk 0 has no item in storage_data"},
        Malformed{"ValueWithoutItem", [](auto& m) { m.values[0].stored = false; },
                  "train_state.step has no item in storage_data"},
        Malformed{"ValueWithTwoItems", [](auto& m) { m.values[0].twice = true; }, "there twice for one offset"},
        Malformed{"TwoScalarChunks",
                  [](auto& m) {
                    m.tensors[1].chunks.push_back({{}, {}, false});
                  },
                  "a scalar has 2 chunks"},
        Malformed{"NoScalarChunk", [](auto& m) { m.tensors[1].chunks.clear(); }, "a scalar has 0 chunks"},
        Malformed{"KeyTwice",
                  [](auto& m) {
                    m.tensors.push_back(m.tensors[1]);
                    m.tensors[2].chunks[0].stored = false;
                  },
                  "key opt.step is there twice"},
        Malformed{"KeyTwiceAsValue",
                  [](auto& m) {
                    m.values.push_back({"a.weight", "__0_0.distcp", 700, 1, false});
                  },
                  "key a.weight is there twice"},
        Malformed{"KeyOfManyBytes", [](auto& m) { m.values[0].name = std::string(5000, 'k'); },
                  "has 5000 bytes, at most 4096"},
        Malformed{"VolumeOverflows",
                  [](auto& m) {
                    m.tensors[0].shape = {std::int64_t{1} << 40, std::int64_t{1} << 40};
                  },
                  "the number of elements overflows"},
        Malformed{"TooManyDimensions", [](auto& m) { m.tensors[0].shape = std::vector<std::int64_t>(17, 1); },
                  "has 17 dimensions"},
        Malformed{"OffsetOverflows",
                  [](auto& m) {
                    m.values[0].at = INT64_MAX;
                    m.values[0].length = INT64_MAX;
                    m.tensors[0].chunks[0].at = INT64_MAX;
                    m.tensors[0].chunks[0].length = INT64_MAX;
                  },
                  "overlap"},
        Malformed{"PropertiesOfFour", [](auto& m) { m.properties = Properties::kFour; },
                  "instead of a tuple of 5 or 6"},
        Malformed{"Compressed", [](auto& m) { m.transform = "stream.zstd/1"; }, "is transformed (str 'stream.zstd/1')",
                  ckpt::Code::kUnsupported},
        Malformed{"SparseLayout", [](auto& m) { m.tensors[0].layout = "torch.sparse_coo"; },
                  "the layout is not torch.strided", ckpt::Code::kUnsupported}),
    [](const auto& info) { return std::string(info.param.name); });

TEST(Cover, AcceptsGridsAndPinwheels) {
  const auto box = [](std::vector<std::uint64_t> offsets, std::vector<std::uint64_t> sizes) {
    return Chunk{std::move(offsets), std::move(sizes), {}};
  };
  EXPECT_TRUE(
      check_cover("t", {4, 4}, {box({0, 0}, {2, 2}), box({0, 2}, {2, 2}), box({2, 0}, {2, 2}), box({2, 2}, {2, 2})})
          .ok());
  // No straight cut separates these five.
  const std::vector<Chunk> pinwheel{box({0, 0}, {1, 2}), box({0, 2}, {2, 1}), box({2, 1}, {1, 2}), box({1, 0}, {2, 1}),
                                    box({1, 1}, {1, 1})};
  EXPECT_TRUE(check_cover("t", {3, 3}, pinwheel).ok());
  std::vector<Chunk> shifted = pinwheel;
  shifted[4] = box({1, 0}, {1, 1});
  EXPECT_THAT(check_cover("t", {3, 3}, shifted).message, HasSubstr("overlap"));
}

TEST(Cover, FindsEveryShiftedBoxOfARandomGrid) {
  const std::uint32_t seed = 7;
  std::mt19937 random(seed);
  for (int round = 0; round < 200; ++round) {
    const std::uint64_t rows = 1 + random() % 6, columns = 1 + random() % 6;
    std::vector<Chunk> chunks;
    for (std::uint64_t r = 0; r < rows; ++r)
      for (std::uint64_t c = 0; c < columns; ++c) chunks.push_back({{r * 3, c * 2}, {3, 2}, {}});
    std::shuffle(chunks.begin(), chunks.end(), random);
    const std::vector<std::uint64_t> shape{rows * 3, columns * 2};
    ASSERT_TRUE(check_cover("t", shape, chunks).ok()) << "seed " << seed << " round " << round;
    if (rows == 1) continue;
    Chunk& moved = chunks[random() % chunks.size()];
    moved.offsets[0] = moved.offsets[0] == 0 ? 1 : moved.offsets[0] - 1;
    ASSERT_THAT(check_cover("t", shape, chunks).message, HasSubstr("overlap")) << "seed " << seed << " round " << round;
  }
}

TEST(Cover, TakesManyShardsWithoutComparingAllPairs) {
  std::vector<Chunk> chunks;
  for (std::uint64_t i = 0; i < 300; ++i)
    for (std::uint64_t j = 0; j < 300; ++j) chunks.push_back({{(i * 7) % 300 * 2, (j * 11) % 300 * 2}, {2, 2}, {}});
  EXPECT_TRUE(check_cover("t", {600, 600}, chunks).ok());  // all pairs of 90,000 would take minutes
}

}  // namespace
}  // namespace titan::convert::dcp::metadata_test
