// Tensors that ranks saved, each with its own part.
#include "converters/torch_save/rank_tensor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ckpt/model/leaf.h"
#include "tests/converters/torch_save/spelled.h"
#include "tests/support/mem_fs.h"

namespace titan::convert::rank_tensor_test {
namespace {

using ckpt::Code;
using ckpt::Result;
using ckpt::Status;
using ckpt::testing::MemFs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::RankTensor;

class RankTensors : public ::testing::Test {
 protected:
  // The elements of the tensor of these ranks.
  Result<std::vector<float>> read(const std::vector<RankTensor>& ranks) {
    RankParts parts;
    for (const RankTensor& tensor : ranks) {
      const std::string path = "/" + std::to_string(++written_);
      EXPECT_TRUE(ckpt::testing::put_text(fs_, path, testing::state_file({{"w", tensor}})).ok());
      TITAN_ASSIGN_OR_RETURN(const TorchFile file, TorchFile::open(fs_, path));
      TITAN_ASSIGN_OR_RETURN(const NodeId node, file.at(file.pickle().root(), "w"));
      TITAN_ASSIGN_OR_RETURN(RankPart part, rank_part(file, node));
      parts.emplace_back(files_.add(path), std::move(part));
    }
    TITAN_ASSIGN_OR_RETURN(const PiecedTensor whole, joined_parts("w", parts));
    std::vector<float> out(ckpt::element_count(whole.shape));
    TITAN_RETURN_IF_ERROR(files_.read(whole, 0, std::as_writable_bytes(std::span(out))));
    return out;
  }
  Status status(const std::vector<RankTensor>& ranks) { return read(ranks).status(); }

  MemFs fs_;
  PieceFiles files_{fs_};
  int written_ = 0;
};

TEST_F(RankTensors, PartsOfDTensorsFollowEachOther) {
  const RankTensor first{{3, 2}, {2, 2}, {0, 1, 2, 3}}, second{{3, 2}, {1, 2}, {4, 5}};
  RankTensor none{{3, 2}, {0, 2}, {}};
  const auto rows = read({first, second, none});
  ASSERT_TRUE(rows.ok()) << rows.status().to_string();
  EXPECT_THAT(*rows, ElementsAre(0, 1, 2, 3, 4, 5));
  RankTensor left{{2, 3}, {2, 2}, {0, 1, 3, 4}}, right{{2, 3}, {2, 1}, {2, 5}};
  left.dim = right.dim = 1;
  EXPECT_THAT(*read({left, right}), ElementsAre(0, 1, 2, 3, 4, 5));
}

TEST_F(RankTensors, ReplicasCountOnce) {
  RankTensor first{{3, 2}, {2, 2}, {0, 1, 2, 3}}, second{{3, 2}, {1, 2}, {4, 5}};
  first.placements = second.placements = {"Replicate", "Shard"};
  EXPECT_THAT(*read({first, second, first, second}), ElementsAre(0, 1, 2, 3, 4, 5));
  RankTensor same{{2}, {2}, {7, 8}};
  same.placements = {"Replicate"};
  EXPECT_THAT(*read({same, same}), ElementsAre(7, 8));
}

TEST_F(RankTensors, PartsOfShardedTensorsLieWhereTheySay) {
  RankTensor first{{3, 2}, {2, 2}, {2, 3, 4, 5}}, second{{3, 2}, {1, 2}, {0, 1}};
  first.offsets = {1, 0};
  second.offsets = {0, 0};
  EXPECT_THAT(*read({first, second, second}), ElementsAre(0, 1, 2, 3, 4, 5));
}

TEST_F(RankTensors, WhatDoesNotFillATensorIsDamage) {
  const RankTensor first{{3, 2}, {2, 2}, {0, 1, 2, 3}}, second{{3, 2}, {1, 2}, {4, 5}};
  RankTensor outside{{3, 2}, {2, 2}, {0, 1, 2, 3}}, overlap = outside, other{{4, 2}, {2, 2}, {0, 1, 2, 3}},
                                                    placed{{3, 2}, {1, 2}, {4, 5}}, narrow{{3, 2}, {1, 1}, {4}},
                                                    wrong_dim = second, negative = second;
  outside.offsets = {2, 0};
  overlap.offsets = {0, 0};
  placed.offsets = {1, 0};
  wrong_dim.dim = 2;
  negative.dim = -1;
  const std::vector<std::pair<std::vector<RankTensor>, const char*>> cases{{{first}, ""},
                                                                           {{first, first}, "more than 3 rows"},
                                                                           {{first, other}, "another tensor"},
                                                                           {{first, placed}, "another tensor"},
                                                                           {{first, narrow}, "expected [1, 2]"},
                                                                           {{outside}, "reaches beyond"},
                                                                           {{overlap, placed}, ""},
                                                                           {{first, wrong_dim}, "is no tensor"},
                                                                           {{first, negative}, "is no tensor"},
                                                                           {{}, "in no rank's file"}};
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const Status found = status(cases[i].first);
    EXPECT_EQ(found.code, Code::kCorrupt) << i << found.to_string();
    EXPECT_THAT(found.message, HasSubstr(cases[i].second)) << i;
  }
}

TEST_F(RankTensors, ARanksFileInAnothersPlaceIsDamage) {
  RankTensor first{{4}, {2}, {0, 1}}, second{{4}, {2}, {2, 3}};
  first.coordinates = {0};
  second.coordinates = {1};
  EXPECT_THAT(*read({first, second}), ElementsAre(0, 1, 2, 3));
  for (const std::vector<RankTensor>& ranks : {std::vector{first, first}, {second, first}}) {
    const Status found = status(ranks);
    EXPECT_EQ(found.code, Code::kCorrupt) << found.to_string();
    EXPECT_THAT(found.message, HasSubstr("one rank's file is in another's place"));
  }
  // Of replicas the last dimension counts; a mesh of other dimensions than the tensor's placements says nothing.
  first.placements = second.placements = {"Replicate", "Shard"};
  first.coordinates = {1, 0};
  second.coordinates = {1, 1};
  EXPECT_THAT(*read({first, second}), ElementsAre(0, 1, 2, 3));
  first.coordinates = second.coordinates = {5};
  EXPECT_THAT(*read({first, second}), ElementsAre(0, 1, 2, 3));
}

TEST_F(RankTensors, HugeSizesAreRefusedBeforeAnythingIsTaken) {
  RankTensor huge{{std::uint64_t{1} << 40, std::uint64_t{1} << 40}, {1, 1}, {4}};
  EXPECT_EQ(status({huge}).code, Code::kCorrupt);
  huge.whole = {std::uint64_t{1} << 40, 1};
  EXPECT_EQ(status({huge}).code, Code::kCorrupt);
}

TEST_F(RankTensors, OtherPlacementsAreNamed) {
  for (const std::vector<std::string>& placements :
       {std::vector<std::string>{"Shard", "Replicate"}, {"Shard", "Shard"}, {"_StridedShard"}, {"Partial"}}) {
    RankTensor tensor{{2}, {2}, {0, 1}};
    tensor.placements = placements;
    const Status found = status({tensor});
    EXPECT_EQ(found.code, Code::kUnsupported) << found.to_string();
    EXPECT_THAT(found.hint, HasSubstr("torch.distributed.checkpoint"));
  }
  RankTensor jagged{{2}, {2}, {0, 1}};
  jagged.type = "NestedTensor";
  EXPECT_THAT(status({jagged}).message, HasSubstr("holds a NestedTensor"));
}

}  // namespace
}  // namespace titan::convert::rank_tensor_test
