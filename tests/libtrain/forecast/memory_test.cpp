#include "libtrain/forecast/memory.h"

#include <gtest/gtest.h>

#include "recipe/keys/config.h"

namespace titan::train {
namespace {

recipe::Config small_config() {
  recipe::Config config;
  config.model.dim = 64;
  config.model.n_layers = 6;
  config.model.n_heads = 4;
  config.model.ffn_dim = 100;
  config.model.vocab_size = 256;
  config.training.local_batch_size = 2;
  config.training.global_batch_size = 16;
  config.training.seq_len = 32;
  config.training.mixed_precision_param = "float32";
  return config;
}

recipe::RunPlan plan_of(const recipe::Config& config, std::uint32_t world) {
  auto plan = recipe::make_run_plan(config, world);
  EXPECT_TRUE(plan.ok()) << plan.status().to_string();
  return *plan;
}

std::uint64_t elements(const recipe::RunPlan& plan, std::uint32_t stage) {
  std::uint64_t sum = 0;
  for (const ckpt::ParameterMeta& p : plan.parameters)
    if (p.stage == stage) sum += ckpt::element_count(p.shape);
  return sum;
}

TEST(Memory, WeightsAndOptimizerOfOneRankAreExact) {
  const recipe::RunPlan plan = plan_of(small_config(), 1);
  const RankMemory memory = rank_memory(plan, 0, 1);
  EXPECT_EQ(memory.weights, 4 * elements(plan, 0));
  EXPECT_EQ(memory.optimizer, 8 * elements(plan, 0));
}

TEST(Memory, Bfloat16AddsCopiesOfAllButTheEmbedding) {
  recipe::Config config = small_config();
  config.training.mixed_precision_param = "bfloat16";
  const recipe::RunPlan plan = plan_of(config, 1);
  EXPECT_EQ(rank_memory(plan, 0, 1).weights, 4 * elements(plan, 0) + 2 * (elements(plan, 0) - 256 * 64));
}

TEST(Memory, TiedHeadOnAnotherStageHoldsACopyAndAGradient) {
  recipe::Config config = small_config();
  config.model.tied_embeddings = true;
  config.parallelism.pipeline_parallel_degree = 2;
  const recipe::RunPlan plan = plan_of(config, 2);
  const std::uint64_t table = 256 * 64;
  EXPECT_EQ(rank_memory(plan, 0, 1).weights, 4 * elements(plan, 0));
  EXPECT_EQ(rank_memory(plan, 1, 1).weights, 4 * (elements(plan, 1) + table));
  const std::uint32_t sums = peak_gradient_sums(8, {0, 8});
  EXPECT_EQ(rank_memory(plan, 0, 1).gradients, 4 * elements(plan, 0) * sums);
  EXPECT_EQ(rank_memory(plan, 1, 1).gradients, 4 * (elements(plan, 1) + table) * sums);
}

TEST(Memory, OptimizerStateIsDividedAmongDataParallelRanks) {
  recipe::Config config = small_config();
  config.model.dim = 512;  // several leaves
  config.model.vocab_size = 4096;
  const std::uint64_t alone = rank_memory(plan_of(config, 1), 0, 1).optimizer;
  const std::uint64_t quarter = rank_memory(plan_of(config, 4), 0, 1).optimizer;
  EXPECT_GE(4 * quarter, alone);
  EXPECT_LT(4 * quarter, alone + 4 * 8 * ckpt::kDefaultLeafElements);  // whole leaves
}

TEST(Memory, Fp32MastersOfBfloat16CopiesAreDividedAsWell) {
  recipe::Config config = small_config();
  config.model.dim = 512;
  config.model.vocab_size = 4096;
  config.training.mixed_precision_param = "bfloat16";
  const recipe::RunPlan plan = plan_of(config, 4);
  const std::uint64_t all = elements(plan, 0), table = 512 * 4096, leaf = ckpt::kDefaultLeafElements;
  const std::uint64_t weights = rank_memory(plan, 0, 1).weights, copies = 4 * table + 2 * (all - table);
  EXPECT_GE(weights, copies + 4 * (all - table) / 4);
  EXPECT_LE(weights, copies + 4 * (all / 4 + leaf));
}

TEST(Memory, ExchangeAfterEachMicroBatchHoldsSumsOfWhatARankOwns) {
  recipe::Config config = small_config();
  config.model.dim = 512;
  config.model.vocab_size = 4096;
  config.training.global_batch_size = 64;
  const recipe::RunPlan late = plan_of(config, 8);
  config.parallelism.data_parallel_sharding = "zero2";
  const recipe::RunPlan turns = plan_of(config, 8);
  const std::uint64_t all = elements(late, 0);
  EXPECT_EQ(rank_memory(late, 0, 1).gradients, 4 * all * peak_gradient_sums(32, {0, 4}));
  EXPECT_GE(rank_memory(turns, 0, 1).gradients, 4 * (all / 8 * peak_gradient_sums(32, {0, 32}) + all));
  EXPECT_LE(rank_memory(turns, 0, 1).gradients,
            4 * ((all / 8 + ckpt::kDefaultLeafElements) * peak_gradient_sums(32, {0, 32}) + all));
  EXPECT_LT(rank_memory(turns, 0, 1).total(), rank_memory(late, 0, 1).total());
}

TEST(Memory, BuffersAreThoseOfTheExchangeAndOfTransfers) {
  recipe::Config config = small_config();
  const recipe::RunPlan alone = plan_of(config, 1), four = plan_of(config, 4);
  EXPECT_EQ(rank_memory(alone, 0, 1).exchange, 0u);
  EXPECT_EQ(rank_memory(alone, 0, 1).transfers, 0u);
  recipe::RunPlan small = four;
  small.exchange_bytes = 4096;
  EXPECT_EQ(rank_memory(small, 0, 1).exchange, 4096u);
  EXPECT_LE(rank_memory(four, 0, 1).exchange, 4 * 4 * elements(four, 0)) << "no more than there is to exchange";
  config.parallelism.pipeline_parallel_degree = 3;
  const recipe::RunPlan piped = plan_of(config, 3);
  const std::uint64_t hidden = 2 * 32 * 64 * 4;
  EXPECT_EQ(rank_memory(piped, 0, 1).transfers, hidden);
  EXPECT_EQ(rank_memory(piped, 1, 1).transfers, 4 * hidden);
  EXPECT_EQ(rank_memory(piped, 2, 1).transfers, 3 * hidden);
}

TEST(Memory, GradientSumsAreThoseAliveInTheTree) {
  // Of 0..n-1: while the last micro-batch of a half is added, every finished half above it waits.
  const struct {
    std::uint32_t count;
    Node block;
    std::uint32_t peak;
  } cases[] = {{1, {0, 1}, 1}, {2, {0, 2}, 2}, {4, {0, 4}, 3}, {8, {0, 8}, 4},       {8, {0, 4}, 3},
               {8, {5, 6}, 1}, {3, {0, 3}, 3}, {6, {2, 4}, 2}, {1024, {0, 1024}, 11}};
  for (const auto& c : cases)
    EXPECT_EQ(peak_gradient_sums(c.count, c.block), c.peak)
        << c.count << " [" << c.block.lo << ", " << c.block.hi << ")";
}

TEST(Memory, LongBlocksAreBoundedNotCounted) {
  const std::uint32_t counted = peak_gradient_sums(1 << 16, {0, 1 << 16}),
                      bound = peak_gradient_sums(1 << 17, {0, 1 << 17});
  EXPECT_EQ(counted, 17u);
  EXPECT_GE(bound, 18u);
  EXPECT_LE(bound, 20u);
}

TEST(Memory, ActivationsGrowWithLayersAndMicroBatchesInFlight) {
  recipe::Config config = small_config();
  config.parallelism.pipeline_parallel_degree = 4;
  const recipe::RunPlan plan = plan_of(config, 4);
  const std::uint64_t tokens = 2 * 32;
  for (std::uint32_t stage = 0; stage < 4; ++stage) {
    const StageParts parts = stage_parts(plan, stage);
    const std::uint64_t one = rank_memory(plan, stage, 1).activations, three = rank_memory(plan, stage, 3).activations;
    const std::uint64_t logits = parts.head ? tokens * logits_bytes(plan.dims, false) : 0;
    EXPECT_EQ(three - logits, 3 * (one - logits)) << stage;
    EXPECT_GE(one, tokens * static_cast<std::uint64_t>(parts.end_layer - parts.first_layer) *
                       layer_activation_bytes(plan.dims, false));
  }
}

// Of a layer that is computed again only its input stays, and one of them is whole at a time.
TEST(Memory, RecomputationAndChunksTakeLess) {
  recipe::RunPlan plan = plan_of(small_config(), 1);
  const std::uint64_t tokens = 2 * 32, hidden = 4 * static_cast<std::uint64_t>(plan.dims.dim),
                      layer = layer_activation_bytes(plan.dims, false), logits = logits_bytes(plan.dims, false);
  const std::uint64_t kept = rank_memory(plan, 0, 3).activations;
  plan.loss_chunk = 8;
  EXPECT_EQ(kept - rank_memory(plan, 0, 3).activations, (tokens - 8) * logits);
  plan.loss_chunk = 1000;
  EXPECT_EQ(rank_memory(plan, 0, 3).activations, kept) << "never more than there are";
  plan.loss_chunk = 8;
  for (const std::int64_t each : {1, 2, 4}) {
    plan.recompute_each = each;
    const std::uint64_t recomputed = 6 / static_cast<std::uint64_t>(each);
    const std::uint64_t rest = rank_memory(plan, 0, 3).activations - std::max(tokens * (layer - hidden), 8 * logits);
    EXPECT_EQ(kept - tokens * logits - rest, 3 * tokens * recomputed * (layer - hidden)) << each;
  }
}

TEST(Memory, StagePartsCoverTheModelInOrder) {
  for (const std::int64_t pp : {1, 2, 3, 5, 8}) {
    recipe::Config config = small_config();
    config.parallelism.pipeline_parallel_degree = pp;
    const recipe::RunPlan plan = plan_of(config, static_cast<std::uint32_t>(pp));
    std::int64_t next = 0;
    for (std::uint32_t stage = 0; stage < pp; ++stage) {
      const StageParts parts = stage_parts(plan, stage);
      EXPECT_EQ(parts.first_layer, next);
      next = parts.end_layer;
      EXPECT_EQ(parts.embedding, stage == 0);
      EXPECT_EQ(parts.head, stage + 1 == pp);
    }
    EXPECT_EQ(next, 6);
  }
}

}  // namespace
}  // namespace titan::train
