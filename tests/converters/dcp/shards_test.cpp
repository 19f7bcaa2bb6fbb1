#include "converters/dcp/shards.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "ckpt/base/files.h"
#include "converters/dcp/dcp_checkpoint.h"
#include "converters/hf/safetensors.h"
#include "tests/converters/dcp/dcp_builder.h"
#include "tests/support/mem_fs.h"

namespace titan::convert::dcp::shards_test {
namespace {

using ::testing::HasSubstr;

struct Part {
  std::string name;
  std::vector<std::uint64_t> shape;
  float first = 0;  ///< elements count on from here
};

// Two ranks' files: `sharding` is what their headers say.
void write_shard(ckpt::testing::MemFs& fs, int rank, const std::vector<Part>& parts, const std::string& sharding) {
  std::vector<SafetensorsEntry> entries;
  for (const Part& part : parts) entries.push_back({part.name, ckpt::DType::kF32, part.shape});
  std::string file = encode_safetensors_header(
      entries, sharding.empty() ? std::vector<std::pair<std::string, std::string>>{}
                                : std::vector<std::pair<std::string, std::string>>{{"DCP_SHARDING_INFO", sharding}});
  for (const SafetensorsEntry& entry : entries) {
    const auto part = std::ranges::find(parts, entry.name, &Part::name);
    for (std::uint64_t i = 0; i < ckpt::element_count(entry.shape); ++i) {
      const float value = part->first + static_cast<float>(i);
      file.append(reinterpret_cast<const char*>(&value), sizeof value);
    }
  }
  const std::string name = "/m/shard-0000" + std::to_string(rank) + "-model-00001-of-00001.safetensors";
  ASSERT_TRUE(ckpt::write_new_file(fs, name, std::as_bytes(std::span(file))).ok());
}

Result<std::unique_ptr<DcpReader>> opened(ckpt::testing::MemFs& fs, const std::string& second) {
  EXPECT_TRUE(fs.make_dir("/m").ok());
  write_shard(fs, 1, {{"w", {2, 3}, 0}, {"norm", {3}, 100}},
              R"({"w":{"saved_offsets":[0,0]},"norm":{"saved_offsets":[0]}})");
  write_shard(fs, 2, {{"w", {1, 3}, 6}}, second);
  return DcpReader::open(fs, "/m");
}

TEST(Shards, AreOneModelWhateverRankHadWhat) {
  ckpt::testing::MemFs fs;
  const auto reader = opened(fs, R"({"w":{"saved_offsets":[2,0]}})");
  ASSERT_TRUE(reader.ok()) << reader.status().to_string();
  const TensorEntry* w = (*reader)->metadata().tensor("w");
  ASSERT_NE(w, nullptr);
  EXPECT_EQ(w->shape, (std::vector<std::uint64_t>{3, 3}));
  float elements[7] = {};
  ASSERT_TRUE((*reader)->read(*w, 2, std::as_writable_bytes(std::span(elements))).ok());
  EXPECT_THAT(elements, ::testing::ElementsAre(2, 3, 4, 5, 6, 7, 8));
  const auto report = (*reader)->verify({});
  ASSERT_TRUE(report.ok());
  EXPECT_TRUE(report->damage.empty());
  EXPECT_THAT(report->note, HasSubstr("no checksums"));
}

TEST(Shards, ThatOverlapLeaveAHoleOrSayNothingAreDamage) {
  for (const char* second : {R"({"w":{"saved_offsets":[1,0]}})", R"({"w":{"saved_offsets":[3,0]}})", R"({"w":{}})",
                             R"({"w":{"saved_offsets":[2]}})", R"({"w":{"saved_offsets":[18446744073709551615,0]}})"}) {
    ckpt::testing::MemFs fs;
    const auto reader = opened(fs, second);
    ASSERT_FALSE(reader.ok()) << second;
    EXPECT_EQ(reader.status().code, ckpt::Code::kCorrupt) << second;
  }
  ckpt::testing::MemFs fs;
  EXPECT_THAT(opened(fs, R"({"w":{}})").status().message, HasSubstr("does not say where 'w' begins"));
}

TEST(Shards, HaveTheirOptimizerInAFolderBelow) {
  ckpt::testing::MemFs fs;
  for (const char* folder : {"/m", "/m/optimizer"}) ASSERT_TRUE(fs.make_dir(folder).ok());
  write_shard(fs, 1, {{"w", {2, 3}, 0}}, "");
  ASSERT_TRUE(testing::write_sharded(fs, "/m/optimizer", {{"optimizer.state.w.exp_avg", {2, 3}, {}}}, {}).ok());
  EXPECT_TRUE(*dcp_format().probe(fs, "/m"));
  const auto reader = DcpReader::open(fs, "/m");
  ASSERT_TRUE(reader.ok()) << reader.status().to_string();
  EXPECT_EQ((*reader)->metadata().tensors.size(), 2u);
  float elements[6] = {};
  const TensorEntry* moment = (*reader)->metadata().tensor("optimizer.state.w.exp_avg");
  ASSERT_TRUE((*reader)->read(*moment, 0, std::as_writable_bytes(std::span(elements))).ok());
  EXPECT_THAT(elements, ::testing::ElementsAre(0, 1, 2, 3, 4, 5));
}

TEST(Shards, ThatWaitForAConsolidationAreRead) {
  ckpt::testing::MemFs fs;
  for (const char* folder : {"/m", "/step-3", "/step-3/sharded"}) ASSERT_TRUE(fs.make_dir(folder).ok());
  write_shard(fs, 1, {{"w", {2, 3}, 0}}, "");
  const std::string name = "shard-00001-model-00001-of-00001.safetensors";
  ASSERT_TRUE(fs.rename("/m/" + name, "/step-3/sharded/" + name).ok());
  EXPECT_TRUE(*dcp_format().probe(fs, "/step-3"));
  EXPECT_FALSE(*dcp_format().probe(fs, "/m"));
  const auto reader = DcpReader::open(fs, "/step-3");
  ASSERT_TRUE(reader.ok()) << reader.status().to_string();
  EXPECT_EQ((*reader)->metadata().files, std::vector<std::string>{"sharded/" + name});
}

TEST(Shards, AreKnownByTheirNames) {
  EXPECT_TRUE(is_shard("shard-00001-model-00001-of-00001.safetensors"));
  EXPECT_FALSE(is_shard("model-00001-of-00001.safetensors"));
  EXPECT_FALSE(is_shard("shard-00001-model-00001-of-00001.bin"));
}

}  // namespace
}  // namespace titan::convert::dcp::shards_test
