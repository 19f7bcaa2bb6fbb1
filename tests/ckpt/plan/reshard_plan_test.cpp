#include "ckpt/plan/reshard_plan.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

#include "ckpt/plan/ownership.h"
#include "tests/support/make_checkpoint.h"

namespace titan::ckpt::reshard_plan_test {
namespace {

using testing::Synthetic;

/// A manifest of one raw file per component on one rank, as a plan sees it.
Manifest one_rank(std::vector<ParameterMeta> parameters, std::uint64_t leaf_elements,
                  std::vector<std::string> slots = {kExpAvg, kExpAvgSq}) {
  Manifest manifest;
  manifest.leaf_elements = leaf_elements;
  manifest.components.push_back({kModel});
  if (!slots.empty()) manifest.components.push_back({kOptimizer});
  manifest.files = {{"model/shard-00000.h5"}, {"optimizer/shard-00000.h5"}};
  for (const ParameterMeta& meta : parameters) {
    const LeafGrid grid = meta.grid(leaf_elements);
    const auto stored = [&](std::uint32_t file) {
      FileEntry& entry = manifest.files[file];
      StoredTensor tensor{DType::kF32, grid.chunk_extent(), {}, {}};
      if (grid.count() > 0) tensor.pieces.push_back({file, 0, grid.count(), entry.bytes, entry.table_rows});
      entry.bytes += grid.elements * 4;
      entry.table_rows += grid.count();
      return tensor;
    };
    ParameterRecord record{meta};
    record.model = stored(0);
    for (const std::string& slot : slots) record.slots.push_back({slot, stored(1)});
    manifest.parameters.push_back(std::move(record));
  }
  return manifest;
}

Manifest llama(std::uint32_t layers) { return one_rank(testing::synthetic_parameters({.layers = layers}), 64); }

/// Every leaf of every stored tensor is moved exactly once, to the rank that the partition names.
void expect_complete(const Manifest& manifest, const ReshardPlan& plan) {
  std::map<std::pair<std::uint32_t, std::string>, std::uint64_t> next;
  std::set<std::string> paths;
  std::uint64_t leaves = 0, bytes = 0, ranges = 0;
  std::vector<ParameterMeta> parameters;
  for (std::size_t i = 0; i < manifest.parameters.size(); ++i) {
    parameters.push_back(manifest.parameters[i].meta);
    parameters.back().stage = plan.stages[i];
  }
  const Ownership ownership(parameters, manifest.leaf_elements, plan.mesh);
  for (const ReshardFile& file : plan.files) {
    EXPECT_TRUE(paths.insert(file.path).second) << file.path;
    EXPECT_FALSE(file.pieces.empty()) << file.path;
    const std::string digits = file.path.substr(file.path.find("shard-") + 6);
    const auto rank = static_cast<std::uint32_t>(std::stoul(digits));
    const auto owned = ownership.of(rank);
    std::uint64_t row = 0;
    for (const ReshardPiece& piece : file.pieces) {
      EXPECT_EQ(piece.row, row);
      row += piece.shard.leaves.count;
      EXPECT_EQ(piece.shard.tensor, manifest.stored_name(piece.ref));
      std::uint64_t at = piece.shard.leaves.first;
      EXPECT_EQ(next[std::make_pair(piece.ref.index, piece.ref.slot)], at);
      for (const LeafMove& move : piece.moves) {
        EXPECT_EQ(move.leaves.first, at);
        at = move.leaves.end();
        const Piece& from = manifest.stored(piece.ref)->pieces[0];
        EXPECT_EQ(move.file, from.file);
        EXPECT_EQ(move.row, from.row + move.leaves.first);
        ++ranges;
      }
      EXPECT_EQ(at, piece.shard.leaves.end());
      next[std::make_pair(piece.ref.index, piece.ref.slot)] = at;
      leaves += piece.shard.leaves.count;
      bytes += piece.shard.bytes();
      EXPECT_EQ(std::count_if(owned.begin(), owned.end(),
                              [&](const OwnedPiece& o) {
                                return o.parameter == piece.ref.index && o.leaves == piece.shard.leaves;
                              }),
                1);
    }
    EXPECT_EQ(row, file.leaves);
  }
  for (std::uint32_t i = 0; i < manifest.parameters.size(); ++i) {
    const std::uint64_t count = manifest.parameters[i].meta.grid(manifest.leaf_elements).count();
    EXPECT_EQ((next[std::make_pair(i, std::string())]), count);
    for (const SlotTensor& slot : manifest.parameters[i].slots) EXPECT_EQ((next[std::make_pair(i, slot.name)]), count);
  }
  EXPECT_EQ(plan.leaves, leaves);
  EXPECT_EQ(plan.bytes, bytes);
  EXPECT_EQ(plan.ranges, ranges);
}

TEST(ReshardPlan, MovesEveryLeafOnceToItsOwner) {
  const Manifest manifest = llama(4);
  for (std::uint32_t pp = 1; pp <= 6; ++pp) {
    for (const std::uint32_t dp : {1u, 2u, 3u, 8u, 40u}) {
      const ReshardTarget target{dp, pp};
      const auto plan = plan_reshard(manifest, target);
      ASSERT_TRUE(plan.ok()) << plan.status().to_string();
      EXPECT_EQ(plan->mesh, (Mesh{pp, dp, 1}));
      EXPECT_EQ(plan->stage_cuts.size(), pp - 1);
      expect_complete(manifest, *plan);
    }
  }
}

TEST(ReshardPlan, RanksThatOwnNothingHaveNoFile) {
  const Manifest manifest = one_rank({{"norm.weight", {3}}}, 64);
  const auto plan = plan_reshard(manifest, {8, 1});
  ASSERT_TRUE(plan.ok());
  ASSERT_EQ(plan->files.size(), 2u);
  EXPECT_EQ(plan->files[0].path, "model/shard-00000.h5");
  EXPECT_EQ(plan->files[1].path, "optimizer/shard-00000.h5");
}

TEST(ReshardPlan, LeavesOutComponentsThatAreNotThere) {
  const auto plan = plan_reshard(one_rank(testing::synthetic_parameters({}), 64, {}), {2, 2});
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->files.size(), 4u);
}

TEST(ReshardPlan, NamesTheLargestFeasibleDegree) {
  struct Row {
    Manifest manifest;
    std::uint32_t pp;
    const char* largest;
  };
  const Row rows[] = {
      {llama(4), 7, "--pp 6"},
      {llama(1), 60'000, "--pp 3"},
      {one_rank({{"odd", {3}}}, 64), 2, "--pp 1"},
      // A tied head without a norm would be a stage that holds nothing.
      {one_rank({{"tok_embeddings.weight", {8, 8}}, {"layers.0.w", {8, 8}}}, 64), 3, "--pp 1"},
  };
  for (const Row& row : rows) {
    const auto plan = plan_reshard(row.manifest, {1, row.pp});
    ASSERT_FALSE(plan.ok());
    EXPECT_EQ(plan.status().code, Code::kIncompatible);
    EXPECT_NE(plan.status().hint.find(row.largest), std::string::npos) << plan.status().to_string();
  }
}

TEST(ReshardPlan, DealsTheStagesOfALayoutOut) {
  const Manifest manifest = llama(4);
  const ReshardTarget interleaved{2, 2, "E|t*2|t*2|L"};
  const auto plan = plan_reshard(manifest, interleaved);
  ASSERT_TRUE(plan.ok()) << plan.status().to_string();
  EXPECT_EQ(plan->stage_cuts, (std::vector<std::uint32_t>{1, 3, 5}));
  for (std::size_t i = 0; i < manifest.parameters.size(); ++i) {
    const std::string& name = manifest.parameters[i].meta.name;
    const bool first = name.starts_with("tok_") || name.starts_with("layers.2.") || name.starts_with("layers.3.");
    EXPECT_EQ(plan->stages[i], first ? 0u : 1u) << name;
  }
  expect_complete(manifest, *plan);
}

TEST(ReshardPlan, KeepsWhatIsNotAskedFor) {
  Manifest manifest = llama(4);
  manifest.mesh = {2, 3, 1};
  manifest.stage_cuts = {2};
  for (ParameterRecord& record : manifest.parameters)
    record.meta.stage = record.meta.name.starts_with("tok_") || record.meta.name.starts_with("layers.0.") ? 0 : 1;
  const auto other_dp = plan_reshard(manifest, {.dp = 5});
  ASSERT_TRUE(other_dp.ok());
  EXPECT_EQ(other_dp->mesh, (Mesh{2, 5, 1}));
  EXPECT_EQ(other_dp->stage_cuts, manifest.stage_cuts);
  for (std::size_t i = 0; i < manifest.parameters.size(); ++i)
    EXPECT_EQ(other_dp->stages[i], manifest.parameters[i].meta.stage);
  expect_complete(manifest, *other_dp);
  const auto other_pp = plan_reshard(manifest, {.pp = 2});
  ASSERT_TRUE(other_pp.ok());
  EXPECT_EQ(other_pp->mesh, manifest.mesh);
  EXPECT_EQ(other_pp->stage_cuts, (std::vector<std::uint32_t>{3}));
}

TEST(ReshardPlan, RefusesWhatCannotBe) {
  const Manifest manifest = llama(2);
  struct Row {
    ReshardTarget target;
    const char* says;
    Code code = Code::kInvalid;
  };
  const Row rows[] = {
      {{0, 1}, "begin at 1"},
      {{1, 0}, "begin at 1"},
      {{65'536, 2}, "more than 65536 ranks", Code::kIncompatible},
      {{65'536, 65'536}, "more than 65536 ranks", Code::kIncompatible},
      {{1, 2, "Et|t|L"}, "no multiple of 2"},
      {{1, 2, "Et|L"}, "it has 1 layers, the model has 2"},
  };
  for (const Row& row : rows) {
    const auto plan = plan_reshard(manifest, row.target);
    ASSERT_FALSE(plan.ok()) << row.says;
    EXPECT_EQ(plan.status().code, row.code);
    EXPECT_NE(plan.status().message.find(row.says), std::string::npos) << plan.status().message;
  }
  Manifest sliced = manifest;
  sliced.mesh.tp = 2;
  EXPECT_EQ(plan_reshard(sliced, {1, 1}).status().code, Code::kUnsupported);
}

TEST(ReshardPlan, CountsLeavesWhoseFormChanges) {
  Manifest manifest = one_rank({{"tok_embeddings.weight", {10, 64}}, {"norm.weight", {64}}}, 64);
  // The tail of one tensor is compressed already.
  Piece& piece = manifest.parameters[0].model->pieces[0];
  Piece tail = piece;
  tail.first_leaf += 6;
  tail.row += 6;
  tail.offset += 6 * 256;
  tail.leaf_count -= 6;
  tail.codec = Codec::kZstd;
  piece.leaf_count = 6;
  manifest.parameters[0].model->pieces.push_back(tail);

  struct Row {
    std::optional<Codec> codec;
    std::uint64_t encode, decode;
    std::size_t datasets;
  };
  for (const Row& row : {Row{std::nullopt, 0, 0, 3}, Row{Codec::kRaw, 0, 4, 2}, Row{Codec::kZstd, 29, 0, 2}}) {
    const auto plan = plan_reshard(manifest, {1, 1, "", row.codec});
    ASSERT_TRUE(plan.ok());
    EXPECT_EQ(plan->to_encode, row.encode);
    EXPECT_EQ(plan->to_decode, row.decode);
    EXPECT_EQ(plan->files[0].pieces.size(), row.datasets);
    EXPECT_EQ(plan->leaves, 33u);
  }
}

TEST(ReshardMoves, StayWithinTheLimit) {
  const Manifest manifest =
      one_rank(testing::synthetic_parameters({.layers = 8, .dim = 512, .ffn = 1024, .vocab = 4096}), 4096);
  const auto plan = plan_reshard(manifest, {64, 4});
  ASSERT_TRUE(plan.ok());
  std::uint64_t needed = 0;
  for (std::uint64_t limit = 1; limit < std::uint64_t{1} << 32; limit += limit / 3 + 1) {
    const auto moves = plan_moves(manifest, *plan, limit);
    if (!moves.ok()) {
      EXPECT_EQ(moves.status().code, Code::kInvalid);
      EXPECT_EQ(needed, 0u) << "a larger limit was refused: " << limit;
      continue;
    }
    needed = needed == 0 ? limit : needed;
    EXPECT_LE(moves->memory, limit);
    EXPECT_GE(moves->threads, 1u);
    EXPECT_GE(moves->buffer_bytes, 4096u * 4);
    ASSERT_FALSE(moves->groups.empty());
    EXPECT_EQ(moves->groups[0], 0u);
    EXPECT_TRUE(std::is_sorted(moves->groups.begin(), moves->groups.end()));
    EXPECT_LT(moves->groups.back(), plan->files.size());
    for (std::size_t i = 1; i < moves->groups.size(); ++i) EXPECT_LE(moves->groups[i] - moves->groups[i - 1], 128u);
  }
  EXPECT_GT(needed, 64u << 10);
  EXPECT_LT(needed, 8u << 20);
  EXPECT_EQ(plan_moves(manifest, *plan, 256u << 20)->threads, 4u);
  EXPECT_EQ(plan_moves(manifest, *plan, 256u << 20, 1)->threads, 1u);
  EXPECT_EQ(plan_moves(manifest, *plan, 256u << 20, 7)->threads, 7u);
}

TEST(ReshardMoves, ABufferHoldsTheLargestLeaf) {
  constexpr std::uint64_t kMiB = std::uint64_t{1} << 20, kDefault = 256 * kMiB;
  struct Row {
    std::uint64_t leaf_bytes, limit;
    std::uint32_t threads;  // 0: too little
  };
  for (const Row& row :
       {Row{8 * kMiB, kDefault, 4}, Row{60 * kMiB, kDefault, 4}, Row{100 * kMiB, kDefault, 2},
        Row{200 * kMiB, kDefault, 1}, Row{256 * kMiB, kDefault, 0}, Row{kMiB, 4 * kMiB, 3}, Row{kMiB, kMiB, 0}}) {
    SCOPED_TRACE(std::to_string(row.leaf_bytes) + " bytes within " + std::to_string(row.limit));
    const Manifest manifest =
        one_rank({{"tok_embeddings.weight", {row.leaf_bytes}}, {"norm.weight", {64}}}, row.leaf_bytes / 4);
    const auto plan = plan_reshard(manifest, {.dp = 2});
    ASSERT_TRUE(plan.ok());
    const auto moves = plan_moves(manifest, *plan, row.limit);
    ASSERT_EQ(moves.ok(), row.threads > 0);
    if (!moves.ok()) {
      EXPECT_EQ(moves.status().code, Code::kInvalid);
      EXPECT_NE(moves.status().message.find("too little"), std::string::npos) << moves.status().message;
      continue;
    }
    EXPECT_EQ(moves->threads, row.threads);
    EXPECT_GE(moves->buffer_bytes, row.leaf_bytes);
    EXPECT_LE(moves->memory, row.limit);
    EXPECT_GE(moves->memory, moves->threads * moves->buffer_bytes);
  }
}

}  // namespace
}  // namespace titan::ckpt::reshard_plan_test
