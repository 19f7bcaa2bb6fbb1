#include "libtrain/engine/exchange/gradient_exchange.h"

#include <atomic>
#include <cmath>

#include <gtest/gtest.h>

#include "libtrain/engine/model/init.h"
#include "tests/libtrain/support/counting_communicator.h"
#include "tests/libtrain/support/synthetic_gradient.h"
#include "tests/libtrain/support/tiny_model.h"

namespace titan::train::gradient_exchange_test {
namespace {

using namespace titan::test;

// Every parameter's gradient after the reduction, assembled from the pieces of all ranks, and the norm.
struct Reduced {
  std::map<std::string, std::vector<float>> grads;
  double norm = 0;
};

Reduced reduce(const recipe::RunPlan& plan) {
  Reduced result;
  std::mutex mutex;
  run_ranks(plan.mesh, [&](World& world) {
    RankStages stage(plan, world.stage, kSeqLen);
    const auto count = static_cast<std::uint32_t>(plan.batch.count);
    const Node block = dp_block(count, plan.mesh.dp, world.dp_rank);
    std::vector<TreeSum> sums = make_sums(world, plan, stage);
    for (std::size_t i = 0; i < sums.size(); ++i) {
      const StageParameter& p = *stage.parameters()[i];
      for (std::uint32_t m = block.hi; m-- > block.lo;)
        sums[i].insert(m, synthetic_gradient(p.name + (p.tied_head ? "/head" : ""), m, p.master.sizes()));
    }
    GradientExchange exchange(world, plan, owners_of(plan), stage);
    EXPECT_LE(exchange.buffer_bytes(), static_cast<std::int64_t>(plan.exchange_bytes));
    const std::vector<OwnedGradient> owned = exchange.reduce(sums);
    const double norm = global_norm(world, plan, owned);
    const std::lock_guard lock(mutex);
    if (world.rank == 0) result.norm = norm;
    EXPECT_TRUE(same_bits<double>({result.norm}, {norm}) || result.norm == 0) << "rank " << world.rank;
    for (const OwnedGradient& g : owned) {
      const ckpt::ParameterMeta& meta = plan.parameters[g.piece.parameter];
      const ckpt::LeafGrid grid = meta.grid(kLeaf);
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(g.grad.const_data_ptr()) % 64, 0u) << meta.name;
      EXPECT_EQ(g.grad.numel(),
                static_cast<std::int64_t>(grid.begin(g.piece.leaves.end()) - grid.begin(g.piece.leaves.first)));
      place(plan, g.piece, g.grad, result.grads[meta.name]);
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

TEST(GradientExchange, GivesTheSameBitsOnEveryLayout) {
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

TEST(GradientExchange, AddsTheHeadsTreeToTheEmbeddingsTreeOnce) {
  const recipe::RunPlan plan = make_plan(tiny_dims(true), {3, {2}}, 7);
  std::vector<at::Tensor> embedding, head;
  for (std::uint32_t m = 0; m < 7; ++m) {
    embedding.push_back(synthetic_gradient("tok_embeddings.weight", m, {83, 40}));
    head.push_back(synthetic_gradient("tok_embeddings.weight/head", m, {83, 40}));
  }
  const at::Tensor expected = recursive_sum(embedding, {0, 7}) + recursive_sum(head, {0, 7});
  EXPECT_TRUE(same_bits(reduce(plan).grads.at("tok_embeddings.weight"), floats(expected)));
}

TEST(GradientExchange, BringsEveryPieceToEveryRankAndTheEmbeddingToTheHead) {
  for (const bool bf16 : {false, true}) {
    for (const Layout& layout : {Layout{3, {}}, Layout{4, {2}}, Layout{2, {1, 4}}, Layout{6, {}}, Layout{17, {}}}) {
      const recipe::RunPlan plan = make_plan(tiny_dims(true), layout, 17, bf16);
      run_ranks(plan.mesh, [&](World& world) {
        RankStages expected(plan, world.stage, kSeqLen), stage(plan, world.stage, kSeqLen);
        expected.init_weights(5);
        for (auto* p : stage.parameters()) p->master.zero_();
        stage.refresh();
        ShardedAdamW pieces(plan, owners_of(plan), world, stage, {}),
            values(plan, owners_of(plan), world, expected, {});
        for (std::size_t i = 0; i < pieces.states().size(); ++i)
          pieces.states()[i].param.copy_(values.states()[i].param);
        pieces.own_masters(stage);
        GradientExchange(world, plan, owners_of(plan), stage).send_weights(pieces.params());
        for (std::size_t i = 0; i < stage.parameters().size(); ++i) {
          const StageParameter &got = *stage.parameters()[i], &want = *expected.parameters()[i];
          EXPECT_TRUE(same_bits(floats(got.compute), floats(want.compute))) << got.name << " on rank " << world.rank;
        }
      });
    }
  }
}

TEST(GradientExchange, GivesTheSameBitsOnEightRanksAndWithAnyBuffers) {
  use_one_thread();
  for (const std::int64_t count : {8, 9, 12, 16}) {
    const Reduced expected = reduce(make_plan(tiny_dims(true), {}, count));
    for (const std::uint32_t dp : {5u, 6u, 8u}) {
      for (const std::uint64_t bytes : {4096, 40'000, 256 << 20}) {
        recipe::RunPlan plan = make_plan(tiny_dims(true), {dp, {}}, count);
        plan.exchange_bytes = bytes;
        const Reduced got = reduce(plan);
        for (const auto& [name, grad] : expected.grads)
          EXPECT_TRUE(same_bits(got.grads.at(name), grad)) << name << ", M " << count << ", dp " << dp;
      }
    }
  }
}

// 17 ranks are groups of 8 and 9: one rank holds nothing, another gives to both.
TEST(GradientExchange, GivesTheSameBitsInGroupsOfDifferentSizes) {
  use_one_thread();
  for (const std::int64_t count : {17, 27}) {
    const Reduced expected = reduce(make_plan(tiny_dims(true), {}, count));
    for (const std::uint64_t bytes : {40'000, 256 << 20}) {
      recipe::RunPlan plan = make_plan(tiny_dims(true), {17, {}}, count);
      plan.exchange_bytes = bytes;
      const Reduced got = reduce(plan);
      for (const auto& [name, grad] : expected.grads)
        EXPECT_TRUE(same_bits(got.grads.at(name), grad)) << name << ", M " << count;
    }
  }
}

// Within nodes each micro-batch, between them each sum once.
TEST(GradientExchange, BetweenNodesSumsTravelOnce) {
  recipe::RunPlan plan = make_plan(tiny_dims(), {8, {}}, 32);
  plan.exchange = recipe::ExchangeDomain::kNode;
  plan.node_ranks = 4;
  std::int64_t elements = 0;
  for (const ckpt::ParameterMeta& parameter : plan.parameters)
    elements += static_cast<std::int64_t>(ckpt::element_count(parameter.shape));
  std::atomic<std::int64_t> within = 0, between = 0, others = 0;
  const auto body = [&](World& world) {
    const auto count = [](std::unique_ptr<Fabric>& group) {
      auto counting = std::make_unique<CountingCommunicator>(std::move(group));
      const CountingCommunicator* counted = counting.get();
      group = std::move(counting);
      return counted;
    };
    const CountingCommunicator *node = count(world.node), *outside = count(world.between_nodes), *dp = count(world.dp);
    RankStages stage(plan, world.stage, kSeqLen);
    GradientExchange exchange(world, plan, owners_of(plan), stage);
    const Share share = share_of(plan, static_cast<std::uint32_t>(world.dp_rank));
    std::vector<TreeSum> sums(stage.parameters().size(), TreeSum(32, share.block));
    for (std::uint32_t i = 0; i < share.count; ++i) {
      for (std::size_t p = 0; p < sums.size(); ++p)
        sums[p].insert(share.at(i), at::ones(stage.parameters()[p]->compute.sizes()));
      exchange.collect(0, i, sums);
    }
    for (const OwnedGradient& owned : exchange.reduce(sums))
      EXPECT_TRUE(same_bits(floats(owned.grad), std::vector<float>(owned.grad.numel(), 32.0F)));
    within += node->sent();
    between += outside->sent();
    others += dp->sent();
  };
  run_ranks(plan.mesh, body, domain_size(plan));
  // Of each of 32 micro-batches three of four parts go to others; of two nodes each sends the other's half of its sums.
  EXPECT_EQ(within, 4 * 32 * elements * 3 / 4);
  EXPECT_EQ(between, 4 * elements);
  EXPECT_EQ(others, 0);
}

TEST(GradientExchange, WireCarriesWhatThePlanSays) {
  for (const std::uint32_t dp : {2u, 3u, 4u, 8u}) {
    for (const bool bf16 : {false, true}) {
      const recipe::RunPlan plan = make_plan(tiny_dims(), {dp, {}}, 2 * dp, bf16);
      std::int64_t elements = 0, embedding = 0;
      for (const ckpt::ParameterMeta& parameter : plan.parameters)
        elements += static_cast<std::int64_t>(ckpt::element_count(parameter.shape));
      embedding = static_cast<std::int64_t>(ckpt::element_count(plan.parameters.front().shape));
      run_ranks(plan.mesh, [&](World& world) {
        auto counting = std::make_unique<CountingCommunicator>(std::move(world.dp));
        const CountingCommunicator& counted = *counting;
        world.dp = std::move(counting);
        RankStages stage(plan, world.stage, kSeqLen);
        stage.init_weights(5);
        ShardedAdamW optimizer(plan, owners_of(plan), world, stage, {});
        optimizer.own_masters(stage);
        GradientExchange exchange(world, plan, owners_of(plan), stage);
        std::vector<TreeSum> sums = make_sums(world, plan, stage);
        const Node block = dp_block(static_cast<std::uint32_t>(plan.batch.count), dp, world.dp_rank);
        for (std::size_t i = 0; i < sums.size(); ++i)
          for (std::uint32_t m = block.lo; m < block.hi; ++m)
            sums[i].insert(m, at::ones(stage.parameters()[i]->compute.sizes()));
        (void)exchange.reduce(sums);
        std::int64_t owned = 0;
        for (const at::Tensor& param : optimizer.params()) owned += param.numel();
        const auto nodes = [&](std::uint32_t rank) {
          const auto count = static_cast<std::uint32_t>(plan.batch.count);
          return static_cast<std::int64_t>(maximal_nodes(count, dp_block(count, dp, rank)).size());
        };
        EXPECT_EQ(counted.sent(), 4 * (elements - owned) * nodes(world.dp_rank)) << "rank " << world.rank;
        const std::int64_t before = counted.received();
        exchange.send_weights(optimizer.params());
        const std::int64_t whole = bf16 ? 2 * elements + 2 * embedding : 4 * elements;
        std::int64_t own = 0;
        for (const ShardedAdamW::State& state : optimizer.states())
          own += state.param.numel() * (bf16 && state.piece.parameter != 0 ? 2 : 4);
        EXPECT_EQ(counted.received() - before, whole - own) << "rank " << world.rank;
      });
    }
  }
}

}  // namespace
}  // namespace titan::train::gradient_exchange_test
