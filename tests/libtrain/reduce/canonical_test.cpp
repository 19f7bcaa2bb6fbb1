#include "libtrain/reduce/canonical.h"

#include <cmath>
#include <random>

#include <gtest/gtest.h>

#include "libtrain/model/init.h"
#include "tests/libtrain/support/tiny_model.h"

namespace titan::train {
namespace {

using namespace titan::test;

// The gradient of one slot and micro-batch: a pure function of its key, of very different sizes.
at::Tensor synthetic_gradient(const std::string& slot, std::uint32_t micro_batch, at::IntArrayRef shape) {
  at::Tensor grad = at::empty(shape, at::kFloat);
  draw({InitKind::kNormal, std::exp2(static_cast<double>(micro_batch % 5))}, micro_batch, slot,
       {grad.mutable_data_ptr<float>(), static_cast<std::size_t>(grad.numel())});
  return grad;
}

at::Tensor recursive_sum(const std::vector<at::Tensor>& x, Node node) {
  if (node.hi - node.lo == 1) return x[node.lo].clone();
  return recursive_sum(x, node.left()) + recursive_sum(x, node.right());
}

TEST(TreeSum, EqualsTheRecursionInAnyOrderOfArrival) {
  use_one_thread();
  for (const std::uint32_t count : {1u, 2u, 3u, 7u, 8u, 12u, 31u}) {
    std::vector<at::Tensor> grads;
    for (std::uint32_t i = 0; i < count; ++i) grads.push_back(synthetic_gradient("x", i, {13, 5}));
    const std::vector<float> expected = floats(recursive_sum(grads, {0, count}));
    for (std::uint32_t seed = 0; seed < 4; ++seed) {
      std::vector<std::uint32_t> order(count);
      std::iota(order.begin(), order.end(), 0u);
      if (seed > 0) std::shuffle(order.begin(), order.end(), std::mt19937(seed));
      TreeSum sum(count, {0, count});
      for (const std::uint32_t i : order) sum.insert(i, grads[i].clone());
      EXPECT_EQ(sum.held(), 1u);
      EXPECT_TRUE(same_bits(floats(sum.finish().at(0)), expected)) << "M " << count << ", seed " << seed;
      EXPECT_EQ(sum.held(), 0u);
    }
  }
}

TEST(TreeSum, DiffersFromAddingUpFromTheLeft) {
  std::vector<at::Tensor> grads;
  for (std::uint32_t i = 0; i < 8; ++i) grads.push_back(synthetic_gradient("x", i, {1000}));
  at::Tensor fold = grads[0].clone();
  for (std::uint32_t i = 1; i < 8; ++i) fold.add_(grads[i]);
  EXPECT_GT((fold != recursive_sum(grads, {0, 8})).sum().item<std::int64_t>(), 200);
}

TEST(TreeSum, ConvertsBfloat16BeforeTheFirstAddition) {
  TreeSum sum(2, {0, 2});
  sum.insert(0, at::full({1}, 256, at::kBFloat16));
  sum.insert(1, at::full({1}, 1, at::kBFloat16));
  const at::Tensor root = sum.finish().at(0);
  EXPECT_EQ(root.scalar_type(), at::kFloat);
  EXPECT_EQ(root.item<float>(), 257);
}

TEST(TreeSum, KeepsFewSumsWhenMicroBatchesFinishInOrder) {
  TreeSum sum(64, {0, 64});
  std::size_t most = 0;
  for (std::uint32_t i = 0; i < 64; ++i) {
    sum.insert(i, at::ones({1}));
    most = std::max(most, sum.held());
  }
  EXPECT_LE(most, 6u);
}

TEST(TreeSum, RefusesStrangersRepetitionsAndGaps) {
  TreeSum sum(8, {2, 6});
  sum.insert(3, at::ones({1}));
  EXPECT_THROW(sum.insert(3, at::ones({1})), std::logic_error);
  EXPECT_THROW(sum.insert(6, at::ones({1})), std::logic_error);
  sum.insert(2, at::ones({1}));
  EXPECT_THROW(sum.insert(2, at::ones({1})), std::logic_error) << "merged into [2,4)";
  sum.insert(4, at::ones({1}));
  EXPECT_THROW(sum.finish(), std::logic_error) << "micro-batch 5 is missing";
}

// Every parameter's gradient after the reduction, assembled from the pieces of all ranks, and the norm.
struct Reduced {
  std::map<std::string, std::vector<float>> grads;
  double norm = 0;
};

Reduced reduce(const recipe::RunPlan& plan) {
  Reduced result;
  std::mutex mutex;
  run_ranks(plan.mesh, [&](World& world) {
    Stage stage(plan, world.stage, kSeqLen);
    const auto count = static_cast<std::uint32_t>(plan.batch.count);
    const Node block = dp_block(count, plan.mesh.dp, world.dp_rank);
    std::vector<TreeSum> sums = make_sums(world, plan, stage);
    for (std::size_t i = 0; i < sums.size(); ++i) {
      const StageParameter& p = stage.parameters()[i];
      for (std::uint32_t m = block.hi; m-- > block.lo;)
        sums[i].insert(m, synthetic_gradient(p.name + (p.tied_head ? "/head" : ""), m, p.master.sizes()));
    }
    const std::vector<OwnedGradient> owned = reduce_gradients(world, plan, owners_of(plan), stage, sums);
    const double norm = global_grad_norm(world, plan, owned);
    const std::lock_guard lock(mutex);
    if (world.rank == 0) result.norm = norm;
    EXPECT_TRUE(same_bits<double>({result.norm}, {norm}) || result.norm == 0) << "rank " << world.rank;
    for (const OwnedGradient& g : owned) {
      const ckpt::ParameterMeta& meta = plan.parameters[g.piece.parameter];
      const ckpt::LeafGrid grid = meta.grid(kLeaf);
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(g.grad.const_data_ptr()) % 64, 0u) << meta.name;
      EXPECT_EQ(g.grad.numel(),
                static_cast<std::int64_t>(grid.begin(g.piece.leaves.end()) - grid.begin(g.piece.leaves.first)));
      std::vector<float>& whole = result.grads[meta.name];
      whole.resize(grid.elements);
      const std::vector<float> part = floats(g.grad);
      std::copy(part.begin(), part.end(),
                whole.begin() + static_cast<std::ptrdiff_t>(grid.begin(g.piece.leaves.first)));
    }
  });
  return result;
}

// Leaves in order per tensor, tensors in name order (a std::map has it).
double norm_of(const std::map<std::string, std::vector<float>>& grads) {
  double total = 0;
  for (const auto& [name, grad] : grads) {
    double tensor = 0;
    for (std::size_t i = 0; i < grad.size(); i += kLeaf)
      tensor += leaf_sum_of_squares(&grad[i], static_cast<std::int64_t>(std::min<std::size_t>(kLeaf, grad.size() - i)));
    total += tensor;
  }
  return std::sqrt(total);
}

TEST(ReduceGradients, GivesTheSameBitsOnEveryLayout) {
  use_one_thread();
  for (const bool tied : {false, true}) {
    for (const std::int64_t count : {7, 8, 12}) {
      const Reduced expected = reduce(make_plan(tiny_dims(tied), {}, count));
      ASSERT_EQ(expected.grads.size(), make_plan(tiny_dims(tied), {}, count).parameters.size());
      EXPECT_EQ(expected.norm, norm_of(expected.grads));
      for (const std::vector<std::uint32_t>& cuts : {std::vector<std::uint32_t>{}, {2}, {1, 4}}) {
        for (std::uint32_t dp = 1; dp <= 4; ++dp) {
          const Reduced got = reduce(make_plan(tiny_dims(tied), {dp, cuts}, count));
          const std::string where =
              "M " + std::to_string(count) + ", dp " + std::to_string(dp) + ", pp " + std::to_string(cuts.size() + 1);
          for (const auto& [name, grad] : expected.grads)
            EXPECT_TRUE(same_bits(got.grads.at(name), grad)) << name << ", " << where;
          EXPECT_TRUE(same_bits<double>({got.norm}, {expected.norm})) << where;
        }
      }
    }
  }
}

TEST(ReduceGradients, AddsTheHeadsTreeToTheEmbeddingsTreeOnce) {
  const recipe::RunPlan plan = make_plan(tiny_dims(true), {3, {2}}, 7);
  std::vector<at::Tensor> embedding, head;
  for (std::uint32_t m = 0; m < 7; ++m) {
    embedding.push_back(synthetic_gradient("tok_embeddings.weight", m, {83, 40}));
    head.push_back(synthetic_gradient("tok_embeddings.weight/head", m, {83, 40}));
  }
  const at::Tensor expected = recursive_sum(embedding, {0, 7}) + recursive_sum(head, {0, 7});
  EXPECT_TRUE(same_bits(reduce(plan).grads.at("tok_embeddings.weight"), floats(expected)));
}

TEST(ShareWeights, BringsEveryPieceToEveryRankAndTheEmbeddingToTheHead) {
  for (const bool bf16 : {false, true}) {
    for (const Layout& layout : {Layout{3, {}}, Layout{4, {2}}, Layout{2, {1, 4}}}) {
      const recipe::RunPlan plan = make_plan(tiny_dims(true), layout, 12, bf16);
      run_ranks(plan.mesh, [&](World& world) {
        Stage expected(plan, world.stage, kSeqLen), stage(plan, world.stage, kSeqLen);
        expected.init_weights(5);
        for (StageParameter& p : stage.parameters()) p.master.zero_();
        stage.refresh();
        ShardedAdamW pieces(plan, owners_of(plan), world, stage, {}),
            values(plan, owners_of(plan), world, expected, {});
        for (std::size_t i = 0; i < pieces.states().size(); ++i)
          pieces.states()[i].param.copy_(values.states()[i].param);
        share_weights(world, plan, owners_of(plan), stage);
        for (std::size_t i = 0; i < stage.parameters().size(); ++i) {
          const StageParameter &got = stage.parameters()[i], &want = expected.parameters()[i];
          EXPECT_TRUE(same_bits(floats(got.master), floats(want.master))) << got.name << " on rank " << world.rank;
          EXPECT_TRUE(same_bits(floats(got.compute), floats(want.compute))) << got.name << " on rank " << world.rank;
        }
      });
    }
  }
}

}  // namespace
}  // namespace titan::train
