#include "libtrain/job/forecast/memory.h"

#include <gtest/gtest.h>

#include "recipe/keys/config.h"
#include "recipe/plan/run_plan.h"

namespace titan::train::memory_test {
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

/// Of the row that the rank has in the plan's schedule.
RankMemory memory_of(const recipe::RunPlan& plan, std::uint32_t pp_rank) {
  const auto table = make_schedule(plan.schedule, plan.pipeline(share_of(plan, plan.mesh.dp - 1).count)).value();
  return rank_memory(plan, pp_rank, table.at(pp_rank), 0);
}

/// Of a row with so many forwards before the first backward.
RankMemory memory_with(const recipe::RunPlan& plan, std::uint32_t stage, std::uint32_t in_flight) {
  std::vector<Action> row;
  for (const ActionKind kind : {ActionKind::kForward, ActionKind::kBackward})
    for (std::uint32_t i = 0; i < in_flight; ++i) row.push_back({kind, stage, i});
  return rank_memory(plan, stage, row, 0);
}

TEST(Memory, WeightsAndOptimizerOfOneRankAreExact) {
  const recipe::RunPlan plan = plan_of(small_config(), 1);
  const RankMemory memory = memory_of(plan, 0);
  EXPECT_EQ(memory.weights, 4 * elements(plan, 0));
  EXPECT_EQ(memory.optimizer, 8 * elements(plan, 0));
}

TEST(Memory, Bfloat16AddsCopiesOfAllButTheEmbedding) {
  recipe::Config config = small_config();
  config.training.mixed_precision_param = "bfloat16";
  const recipe::RunPlan plan = plan_of(config, 1);
  EXPECT_EQ(memory_of(plan, 0).weights, 4 * elements(plan, 0) + 2 * (elements(plan, 0) - 256 * 64));
}

TEST(Memory, TiedHeadOnAnotherStageHoldsACopyAndAGradient) {
  recipe::Config config = small_config();
  config.model.tied_embeddings = true;
  config.parallelism.pipeline_parallel_degree = 2;
  const recipe::RunPlan plan = plan_of(config, 2);
  const std::uint64_t table = 256 * 64;
  EXPECT_EQ(memory_of(plan, 0).weights, 4 * elements(plan, 0));
  EXPECT_EQ(memory_of(plan, 1).weights, 4 * (elements(plan, 1) + table));
  const std::uint32_t sums = peak_gradient_sums(8, {0, 8});
  for (const std::uint32_t rank : {0, 1}) {
    const std::uint64_t summed = elements(plan, rank) + rank * table;
    EXPECT_GE(memory_of(plan, rank).gradients, 4 * summed * (sums - 2)) << rank;
    EXPECT_LE(memory_of(plan, rank).gradients, 4 * summed * sums) << rank;
  }
}

TEST(Memory, OptimizerStateIsDividedAmongDataParallelRanks) {
  recipe::Config config = small_config();
  config.model.dim = 512;  // several leaves
  config.model.vocab_size = 4096;
  const std::uint64_t alone = memory_of(plan_of(config, 1), 0).optimizer;
  const std::uint64_t quarter = memory_of(plan_of(config, 4), 0).optimizer;
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
  const std::uint64_t weights = memory_of(plan, 0).weights, copies = 4 * table + 2 * (all - table);
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
  const std::uint32_t of_block = peak_gradient_sums(32, {0, 4});
  EXPECT_GE(memory_of(late, 0).gradients, 4 * all * (of_block - 1));
  EXPECT_LE(memory_of(late, 0).gradients, 4 * all * of_block);
  EXPECT_GE(memory_of(turns, 0).gradients, 4 * (all / 8 * 2 + all / 2));
  EXPECT_LE(memory_of(turns, 0).gradients,
            4 * ((all / 8 + ckpt::kDefaultLeafElements) * peak_gradient_sums(32, {0, 32}) + all));
  EXPECT_LT(memory_of(turns, 0).total(), memory_of(late, 0).total());
}

// The gradients of a layer leave while those of the next are computed.
TEST(Memory, InPartsNoGradientOfAMicroBatchIsThereWhole) {
  recipe::Config config = small_config();
  config.model.dim = 256;
  config.model.n_layers = 12;
  config.training.global_batch_size = 64;
  config.parallelism.data_parallel_sharding = "zero2";
  const recipe::RunPlan whole = plan_of(config, 8);
  config.parallelism.exchange_parts = 14;
  const recipe::RunPlan parts = plan_of(config, 8);
  EXPECT_GT(memory_of(whole, 0).gradients, 4 * elements(whole, 0));
  EXPECT_LT(memory_of(parts, 0).gradients, memory_of(whole, 0).gradients - 4 * elements(whole, 0) / 2);
  config.parallelism.data_parallel_sharding = "zero1";
  const recipe::RunPlan late = plan_of(config, 8);
  EXPECT_GT(memory_of(late, 0).gradients, 4 * elements(late, 0)) << "sums stay until the end";
}

TEST(Memory, BuffersAreThoseOfTheExchangeAndOfTransfers) {
  recipe::Config config = small_config();
  const recipe::RunPlan alone = plan_of(config, 1), four = plan_of(config, 4);
  EXPECT_EQ(memory_of(alone, 0).exchange, 0u);
  EXPECT_EQ(memory_of(alone, 0).transfers, 0u);
  recipe::RunPlan small = four;
  small.exchange_bytes = 4096;
  EXPECT_EQ(memory_of(small, 0).exchange, 4096u);
  EXPECT_LE(memory_of(four, 0).exchange, 4 * 4 * elements(four, 0)) << "no more than there is to exchange";
  config.parallelism.pipeline_parallel_degree = 3;
  const recipe::RunPlan piped = plan_of(config, 3);
  const std::uint64_t hidden = 2 * 32 * 64 * 4;
  EXPECT_EQ(memory_of(piped, 0).transfers, hidden);
  EXPECT_EQ(memory_of(piped, 1).transfers, 4 * hidden);
  EXPECT_EQ(memory_of(piped, 2).transfers, 3 * hidden);
  config.training.global_batch_size = 2;
  EXPECT_EQ(memory_of(plan_of(config, 3), 1).transfers, 0u) << "of one micro-batch nothing waits";
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
    const std::uint64_t three = memory_with(plan, stage, 3).total(), four = memory_with(plan, stage, 4).total();
    const std::uint64_t layers = static_cast<std::uint64_t>(parts.end_layer - parts.first_layer);
    EXPECT_GE(four - three, tokens * layers * layer_activation_bytes(plan.dims, false)) << stage;
  }
}

// Of a layer that is computed again only its input stays, and one of them is whole at a time.
TEST(Memory, RecomputationAndChunksTakeLess) {
  recipe::RunPlan plan = plan_of(small_config(), 1);
  const std::uint64_t tokens = 2 * 32, hidden = 4 * static_cast<std::uint64_t>(plan.dims.dim),
                      layer = layer_activation_bytes(plan.dims, false);
  plan.dims.vocab_size = 1024;
  const std::uint64_t kept = memory_with(plan, 0, 3).total();
  plan.loss_chunk = 1000;
  EXPECT_EQ(memory_with(plan, 0, 3).total(), kept) << "never more than there are";
  plan.loss_chunk = 8;
  const std::uint64_t chunked = memory_with(plan, 0, 3).total();
  EXPECT_LT(chunked, kept);
  std::uint64_t before = 0;
  for (const std::int64_t each : {1, 2, 4}) {
    plan.recompute_each = each;
    const std::uint64_t recomputed = memory_with(plan, 0, 3).total();
    EXPECT_LT(recomputed, chunked) << each;
    EXPECT_GT(recomputed, before) << each;
    EXPECT_LE(chunked - recomputed, 3 * tokens * 6 / static_cast<std::uint64_t>(each) * (layer - hidden) * 33 / 32);
    before = recomputed;
  }
}

TEST(Memory, ARowThatIsTooLongIsBounded) {
  for (const std::int64_t pp : {1, 2}) {
    recipe::Config config = small_config();
    config.parallelism.pipeline_parallel_degree = pp;
    for (const char* schedule : {"1F1B", "GPipe"}) {
      config.parallelism.pipeline_parallel_schedule = schedule;
      const recipe::RunPlan plan = plan_of(config, static_cast<std::uint32_t>(pp));
      const std::uint32_t in_flight = schedule == std::string("GPipe") ? 8 : static_cast<std::uint32_t>(pp);
      EXPECT_GE(rank_memory(plan, 0, {}, in_flight).total(), memory_of(plan, 0).total()) << schedule << " " << pp;
      EXPECT_LE(rank_memory(plan, 0, {}, in_flight).total(), 2 * memory_of(plan, 0).total()) << schedule << " " << pp;
    }
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
}  // namespace titan::train::memory_test
