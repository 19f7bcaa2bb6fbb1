// Where the rows of nanotron's shards lie.
#include "converters/nanotron/shards.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/converters/hf/folder.h"
#include "tests/support/files.h"
#include "tests/support/mem_fs.h"

namespace titan::convert::nanotron::shards_test {
namespace {

using ckpt::Code;
using ckpt::testing::MemFs;
using Shape = std::vector<std::uint64_t>;
using ::testing::HasSubstr;

TEST(NanotronShards, ReadsShapesAsPythonPrintsThem) {
  EXPECT_EQ(*parse_shape("f", "(128, 64)"), (Shape{128, 64}));
  EXPECT_EQ(*parse_shape("f", "(np.int64(128), 64)"), (Shape{128, 64}));
  EXPECT_EQ(*parse_shape("f", "(64,)"), (Shape{64}));
  for (const char* text : {"", "64", "()", "(a,)", "(-1,)", "(,)", "(18446744073709551615, 2)", "(1,1,1,1,1,1,1,1,1)"})
    EXPECT_EQ(parse_shape("f", text).status().code, Code::kCorrupt) << text;
}

TEST(NanotronShards, EachChunkOfAFusedProjectionIsCutForItself) {
  const auto boxes = parse_slices(
      "f", "0,32,None|None,None,None#32,64,None|None,None,None;32,48,None|None,None,None#80,96,None|None,None,None",
      {48, 5}, {96, 5});
  ASSERT_TRUE(boxes.ok()) << boxes.status().to_string();
  EXPECT_EQ(*boxes, (std::vector<ShardBox>{{{32, 0}, {32, 5}, 0}, {{80, 0}, {16, 5}, 160}}));
  const auto columns = parse_slices("f", "None,None,None|None,None,None#None,None,None|4,8,1", {6, 4}, {6, 8});
  ASSERT_TRUE(columns.ok()) << columns.status().to_string();
  EXPECT_EQ(*columns, (std::vector<ShardBox>{{{0, 4}, {6, 4}, 0}}));
}

TEST(NanotronShards, RefusesSlicesThatCannotBe) {
  const std::vector<std::pair<const char*, const char*>> cases{
      {"0,2,None#0,2,None", "has '0,2,None#0,2,None'"},  // one dimension too few
      {"0,2,None|None,None,None", "has"},
      {"0,2,None|None,None,None#0,3,None|None,None,None", "has"},
      {"0,9,None|None,None,None#0,9,None|None,None,None", "has"},
      {"2,1,None|None,None,None#2,1,None|None,None,None", "has"},
      {"0,2,2|None,None,None#0,2,None|None,None,None", "has"},
      {"0,-2,None|None,None,None#0,2,None|None,None,None", "has"}};
  for (const auto& [text, message] : cases) {
    const Status status = parse_slices("f", text, {4, 3}, {8, 3}).status();
    EXPECT_EQ(status.code, Code::kCorrupt) << text;
    EXPECT_THAT(status.message, HasSubstr(message));
  }
  EXPECT_EQ(parse_slices("f", "None,None,None|0,2,None#0,4,None|0,2,None", {4, 3}, {8, 3}).status().code,
            Code::kUnsupported);
}

// A file of one tensor "data", with `metadata` in its header.
std::string shard_file(const std::string& shape, std::size_t elements, const std::string& metadata) {
  std::string json = "{\"__metadata__\":{" + metadata + "},\"data\":{\"dtype\":\"F32\",\"shape\":" + shape +
                     ",\"data_offsets\":[0," + std::to_string(elements * 4) + "]}}";
  std::string out;
  for (int i = 0; i < 8; ++i) out += static_cast<char>(json.size() >> (8 * i) & 0xff);
  return out + json + std::string(elements * 4, '\1');
}
std::string pairs(const std::string& slices, const std::string& shape = "(4, 2)") {
  return R"("version":"1.4","unsharded_shape":")" + shape + R"(","local_global_slices_pairs":")" + slices + "\"";
}
const std::string kFirst = "0,2,None|None,None,None#0,2,None|None,None,None",
                  kSecond = "0,2,None|None,None,None#2,4,None|None,None,None";

TEST(NanotronShards, NamesOfOldAndNewVersionsAreRead) {
  MemFs fs;
  for (const auto& [path, bytes] :
       {std::pair<std::string, std::string>{"/m/a/b/model_weight_pp-rank-0-of-1_tp-rank-1-of-2_exp-rank-0-of-1", ""},
        {"/m/a/w/model_weight_pp-rank-0-of-1_tp-rank-1-of-2.safetensors", shard_file("[2,2]", 4, pairs(kSecond))},
        {"/m/a/w/model_model_weight.safetensors_pp-rank-0-of-1_tp-rank-0-of-2.safetensors",
         shard_file("[2,2]", 4, pairs(kFirst))},
        {"/m/norm/model_weight.safetensors", shard_file("[2]", 2, "")}})
    ASSERT_TRUE(ckpt::testing::put_text(fs, path, bytes).ok());
  PieceFiles files(fs);
  const auto parameters = read_parameters(fs, "/m", files);
  ASSERT_TRUE(parameters.ok()) << parameters.status().to_string();
  ASSERT_EQ(parameters->size(), 2u);
  EXPECT_EQ((*parameters)[0].name, "a.w.weight");
  EXPECT_EQ((*parameters)[0].shape, (Shape{4, 2}));
  ASSERT_EQ((*parameters)[0].shards.size(), 2u);
  EXPECT_EQ((*parameters)[0].shards[1].boxes[0].offsets, (Shape{2, 0}));
  EXPECT_EQ((*parameters)[1].name, "norm.weight");
}

TEST(NanotronShards, RefusesFilesThatCannotBe) {
  struct Broken {
    const char* name;
    std::string bytes;
    Code code;
    const char* message;
  };
  const Broken cases[] = {
      {"model_weight_pp-rank-0-of-1_tp-rank-2-of-2.safetensors", "", Code::kCorrupt, "its name is none of nanotron's"},
      {"other.safetensors", "", Code::kCorrupt, "its name is none of nanotron's"},
      {"model_weight_pp-rank-0-of-1_tp-rank-0-of-2_exp-rank-1-of-2.safetensors", "", Code::kUnsupported,
       "of an expert"},
      {"model_weight_pp-rank-0-of-1_tp-rank-0-of-2.safetensors", shard_file("[2,2]", 4, ""), Code::kUnsupported,
       "before version 1.2"},
      {"model_weight_pp-rank-0-of-1_tp-rank-0-of-2.safetensors", shard_file("[2,2]", 4, pairs(kFirst, "4")),
       Code::kCorrupt, "unsharded_shape is '4'"},
      {"model_weight.safetensors", "xx", Code::kCorrupt, ""}};
  for (const Broken& broken : cases) {
    MemFs fs;
    ASSERT_TRUE(ckpt::testing::put_text(fs, std::string("/m/a/") + broken.name, broken.bytes).ok());
    PieceFiles files(fs);
    const Status status = read_parameters(fs, "/m", files).status();
    EXPECT_EQ(status.code, broken.code) << broken.name << status.message;
    EXPECT_THAT(status.message, HasSubstr(broken.message));
  }
  MemFs swapped;
  for (const auto& [rank, slices] : {std::pair{"0", kSecond}, {"1", kFirst}})
    ASSERT_TRUE(ckpt::testing::put_text(
                    swapped, std::string("/m/a/model_weight_pp-rank-0-of-1_tp-rank-") + rank + "-of-2.safetensors",
                    shard_file("[2,2]", 4, pairs(slices)))
                    .ok());
  PieceFiles of_swapped(swapped);
  const Status order = read_parameters(swapped, "/m", of_swapped).status();
  EXPECT_EQ(order.code, Code::kCorrupt);
  EXPECT_THAT(order.message, HasSubstr("tp-rank-1-of-2.safetensors: its header has the slice of a lower rank"));
  MemFs deep;
  std::string path = "/m";
  for (int i = 0; i < 14; ++i) path += "/d";
  ASSERT_TRUE(ckpt::testing::put_text(deep, path + "/model_weight.safetensors", "").ok());
  PieceFiles files(deep);
  EXPECT_THAT(read_parameters(deep, "/m", files).status().message, HasSubstr("deeper than 12"));
}

}  // namespace
}  // namespace titan::convert::nanotron::shards_test
