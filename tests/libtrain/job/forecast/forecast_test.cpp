#include "libtrain/job/forecast/forecast.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "recipe/keys/config.h"
#include "recipe/plan/run_plan.h"

namespace titan::train::forecast_test {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

recipe::Config small_config(std::int64_t pp = 1) {
  recipe::Config config;
  config.model.dim = 64;
  config.model.n_layers = 6;
  config.model.n_heads = 4;
  config.model.vocab_size = 256;
  config.training.local_batch_size = 2;
  config.training.global_batch_size = 14;
  config.training.seq_len = 32;
  config.training.steps = 100;
  config.checkpoint.interval.steps = 30;
  config.parallelism.pipeline_parallel_degree = pp;
  return config;
}

Forecast forecast_of(const recipe::Config& config, std::uint32_t world, std::uint64_t start = 0,
                     std::uint64_t tokens = 0) {
  const auto plan = recipe::make_run_plan(config, world);
  EXPECT_TRUE(plan.ok()) << plan.status().to_string();
  auto forecast = make_forecast(config, *plan, start, tokens);
  EXPECT_TRUE(forecast.ok()) << forecast.status().to_string();
  return *forecast;
}

TEST(Forecast, SharesOfStagesAddUpToTheModel) {
  const Forecast forecast = forecast_of(small_config(3), 6);
  ASSERT_EQ(forecast.stages.size(), 3u);
  double cost = 0;
  std::uint64_t parameters = 0;
  for (const StageForecast& stage : forecast.stages) {
    cost += stage.cost_share;
    parameters += stage.parameters;
  }
  EXPECT_NEAR(cost, 1, 1e-12);
  EXPECT_EQ(parameters, forecast.parameters);
}

TEST(Forecast, SaysWhatExchangeAfterEachMicroBatchWouldTake) {
  recipe::Config config = small_config();
  EXPECT_EQ(forecast_of(config, 1).rank_bytes_in_turns, 0u) << "one rank exchanges nothing";
  config.model.dim = 512;
  config.model.vocab_size = 4096;
  config.training.global_batch_size = 128;
  const Forecast late = forecast_of(config, 4);
  EXPECT_EQ(late.rank_bytes, late.stages[0].memory.total());
  config.parallelism.gradient_exchange = "always";
  const Forecast turns = forecast_of(config, 4);
  EXPECT_EQ(late.rank_bytes_in_turns, turns.rank_bytes);
  EXPECT_LT(turns.rank_bytes, late.rank_bytes);
  EXPECT_EQ(turns.rank_bytes_in_turns, 0u) << "it is set";
}

TEST(Forecast, SaysWhatExchangeWithinNodesWouldTake) {
  recipe::Config config = small_config();
  config.model.dim = 512;
  config.model.vocab_size = 4096;
  config.training.global_batch_size = 128;
  const auto on_nodes_of = [&](std::uint32_t ranks, const char* exchange) {
    config.parallelism.gradient_exchange = exchange;
    recipe::RunPlan plan = recipe::make_run_plan(config, 8).value();
    plan.node_ranks = ranks;
    return make_forecast(config, plan, 0, 0).value();
  };
  const Forecast late = on_nodes_of(4, "late"), node = on_nodes_of(4, "node");
  EXPECT_EQ(late.rank_bytes_in_nodes, node.rank_bytes);
  EXPECT_LT(late.rank_bytes_in_turns, node.rank_bytes);
  EXPECT_LT(node.rank_bytes, late.rank_bytes);
  EXPECT_EQ(node.rank_bytes_in_nodes, 0u) << "it is set";
  EXPECT_EQ(node.rank_bytes_in_turns, late.rank_bytes_in_turns);
  // Of four ranks each holds a quarter of the sums, of eight an eighth.
  EXPECT_GT(node.stages[0].memory.gradients, on_nodes_of(8, "node").stages[0].memory.gradients);
  EXPECT_EQ(on_nodes_of(8, "node").rank_bytes, on_nodes_of(8, "always").rank_bytes);
  EXPECT_EQ(on_nodes_of(3, "node").rank_bytes, late.rank_bytes);
  EXPECT_EQ(on_nodes_of(3, "late").rank_bytes_in_nodes, 0u);
}

TEST(Forecast, MicroBatchesOfRanksAreThoseOfTheTrainer) {
  EXPECT_THAT(forecast_of(small_config(2), 4).rank_micro_batches, ElementsAre(3, 4));
  EXPECT_THAT(forecast_of(small_config(), 4).rank_micro_batches, ElementsAre(1, 2, 2, 2));
}

TEST(Forecast, BubbleOfEqualStagesIsTheFormula) {
  for (const char* schedule : {"1F1B", "GPipe"}) {
    recipe::Config config = small_config(4);
    config.parallelism.pipeline_parallel_schedule = schedule;
    const Forecast forecast = forecast_of(config, 4);
    EXPECT_NEAR(forecast.bubble.equal, 3.0 / (7 + 3), 1e-12) << schedule;
    EXPECT_GT(forecast.bubble.with_costs, forecast.bubble.equal) << schedule;
    EXPECT_EQ(forecast.stages[0].in_flight, schedule == std::string("GPipe") ? 7u : 4u);
    EXPECT_EQ(forecast.stages[3].in_flight, schedule == std::string("GPipe") ? 7u : 1u);
  }
}

TEST(Forecast, OneStageHasNoBubble) {
  EXPECT_EQ(forecast_of(small_config(), 1).bubble.equal, 0);
  EXPECT_EQ(forecast_of(small_config(), 1).bubble.with_costs, 0);
}

TEST(Forecast, HugeStepsAreExtrapolated) {
  for (const char* schedule : {"1F1B", "GPipe"}) {
    recipe::Config config = small_config(4);
    config.parallelism.pipeline_parallel_schedule = schedule;
    config.training.global_batch_size = 2'000'000;  // 8 million actions
    const Forecast forecast = forecast_of(config, 4);
    EXPECT_NEAR(forecast.bubble.equal, 3.0 / (1e6 + 3), 1e-12);
    const double worst = *std::max_element(forecast.plan.stage_share.begin(), forecast.plan.stage_share.end());
    EXPECT_NEAR(forecast.bubble.with_costs, 1 - 1 / (4 * worst), 1e-3);
    EXPECT_EQ(forecast.stages[0].in_flight, schedule == std::string("GPipe") ? 1'000'000u : 4u);
  }
}

TEST(Forecast, ExtrapolationAgreesWithTheSimulationWhereBothCanBeDone) {
  recipe::Config config = small_config(8);
  config.training.global_batch_size = 2 * 62'500;  // exactly a million actions: simulated
  const double simulated = forecast_of(config, 8).bubble.with_costs;
  config.training.global_batch_size += 2;
  EXPECT_NEAR(forecast_of(config, 8).bubble.with_costs, simulated, 1e-5);
}

TEST(Forecast, TokensAndStepsFollowTheStart) {
  const Forecast fresh = forecast_of(small_config(), 1);
  EXPECT_EQ(fresh.first_step, 1u);
  EXPECT_EQ(fresh.tokens_per_step, 14u * 32);
  EXPECT_EQ(fresh.tokens_after, 100u * 14 * 32);
  const Forecast resumed = forecast_of(small_config(), 1, 40, 12345);
  EXPECT_EQ(resumed.first_step, 41u);
  EXPECT_EQ(resumed.tokens_after, 12345u + 60 * 14 * 32);
  EXPECT_EQ(forecast_of(small_config(), 1, 100, 7).tokens_after, 7u);
}

TEST(Forecast, SavesAreThoseOfTheTrainersRule) {
  const auto saves = [](std::uint64_t start, auto change) {
    recipe::Config config = small_config();
    change(config.checkpoint, config);
    return forecast_of(config, 1, start).saves;
  };
  const auto plain = [](recipe::Config::Checkpoint&, recipe::Config&) {};
  EXPECT_EQ(saves(0, plain).count, 4u);   // 30 60 90 100
  EXPECT_EQ(saves(60, plain).count, 2u);  // 90 100
  EXPECT_EQ(saves(59, plain).count, 3u);
  EXPECT_EQ(saves(100, plain).count, 0u);
  EXPECT_EQ(saves(0, [](auto& c, recipe::Config&) { c.interval.steps = 50; }).count, 2u);
  EXPECT_EQ(saves(0, [](auto& c, recipe::Config&) { c.interval.steps = 1000; }).count, 1u);
  EXPECT_EQ(saves(0, [](auto& c, recipe::Config&) { c.enable_first_step_checkpoint = true; }).count, 5u);
  EXPECT_EQ(saves(1, [](auto& c, recipe::Config&) { c.enable_first_step_checkpoint = true; }).count, 4u);
  EXPECT_EQ(saves(0,
                  [](auto& c, recipe::Config&) {
                    c.interval.steps = 1;
                    c.enable_first_step_checkpoint = true;
                  })
                .count,
            100u);
  EXPECT_EQ(saves(0, [](auto&, recipe::Config& config) { config.debug.stop_at_step = 45; }).count, 2u);  // 30 45
  EXPECT_EQ(saves(0, [](auto& c, recipe::Config&) { c.enable = false; }).count, 0u);
}

TEST(Forecast, AnIntervalThatTheRunFindsOutHasNoCount) {
  recipe::Config config = small_config();
  config.checkpoint.interval = recipe::parse_save_interval("10min").value();
  config.checkpoint.keep_latest_k = 3;
  EXPECT_EQ(forecast_of(config, 1).saves.count, 0u);
  EXPECT_EQ(forecast_of(config, 1).saves.peak_count, 4u);
  EXPECT_EQ(forecast_of(config, 1, 99).saves.peak_count, 1u) << "one step is left";
  config.checkpoint.keep_latest_k = 0;
  EXPECT_EQ(forecast_of(config, 1).saves.peak_count, 1u) << "more is not certain";
}

TEST(Forecast, RetentionBoundsTheCheckpointsThatAreThereAtOnce) {
  recipe::Config config = small_config();
  config.checkpoint.keep_latest_k = 2;
  EXPECT_EQ(forecast_of(config, 1).saves.peak_count, 3u);
  config.checkpoint.keep_best = 1;
  EXPECT_EQ(forecast_of(config, 1).saves.peak_count, 4u);
  config.checkpoint.keep_best = 0;
  config.checkpoint.keep_every = 60;
  EXPECT_EQ(forecast_of(config, 1).saves.peak_count, 4u);
  config.checkpoint.keep_every = 0;
  config.checkpoint.keep_latest_k = 0;
  EXPECT_EQ(forecast_of(config, 1).saves.peak_count, 4u);
  const Forecast forecast = forecast_of(config, 1);
  // What is there already stays until the save that makes it one too many.
  config.checkpoint.keep_latest_k = 3;
  const auto added = [&](std::uint64_t there) { return forecast_saves(config, forecast.plan, 0, there).peak_count; };
  EXPECT_EQ(added(0), 4u);
  EXPECT_EQ(added(1), 3u);
  EXPECT_EQ(added(3), 1u);
  EXPECT_EQ(added(9), 1u);
  EXPECT_EQ(forecast.saves.model_bytes, 4 * forecast.parameters);
  EXPECT_EQ(forecast.saves.optimizer_bytes, 8 * forecast.parameters);
  EXPECT_GT(forecast.saves.one_save, forecast.saves.each()) << "tables and JSON come on top";
  EXPECT_EQ(forecast.saves.disk_bytes(), 3 * forecast.saves.each() + forecast.saves.one_save);
}

TEST(Forecast, CountsTheCopiesOfASaveBesideTraining) {
  recipe::Config config = small_config();
  const auto staged = [&] { return forecast_of(config, 1).saves.staged_bytes; };
  EXPECT_EQ(staged(), 12 * forecast_of(config, 1).parameters) << "one rank: weights and moments of all";
  config.checkpoint.staging_bytes = 1000;
  EXPECT_EQ(staged(), 1000u);
  config.checkpoint.async_mode = "disabled";
  EXPECT_EQ(staged(), 0u);
}

TEST(Forecast, WarnsOfAHeadThatCannotBeBalanced) {
  recipe::Config config = small_config(4);
  config.model.vocab_size = 128256;
  EXPECT_THAT(forecast_of(config, 4).warnings, Contains(HasSubstr("it holds the head alone")));
  recipe::Config even = small_config(2);
  even.model.vocab_size = 256;
  EXPECT_THAT(forecast_of(even, 2).warnings, Not(Contains(HasSubstr("times the average"))));
}

TEST(Forecast, WarnsWhenNothingIsSaved) {
  recipe::Config config = small_config();
  config.checkpoint.enable = false;
  EXPECT_THAT(forecast_of(config, 1).warnings, Contains(HasSubstr("nothing is saved")));
}

TEST(Forecast, DataCountsEpochsFromThePosition) {
  ckpt::DataPosition position;
  position.kind = "tokens";
  position.files = {{"a", 100, {}}, {"b", 50, {}}};
  position.samples_per_epoch = 200;
  DataForecast fresh = forecast_data(position, 7, 500);
  EXPECT_EQ(fresh.bytes, 150u);
  EXPECT_EQ(fresh.held_back, 7u);
  EXPECT_EQ(fresh.end_sample, 500u);
  EXPECT_DOUBLE_EQ(fresh.end_epoch, 2.5);
  // A dataset that changed in mid-run began epoch 4 at sample 1000.
  position.samples = 1100;
  position.epoch_base = 1000;
  position.first_epoch = 4;
  const DataForecast later = forecast_data(position, 0, 300);
  EXPECT_DOUBLE_EQ(later.first_epoch, 4.5);
  EXPECT_DOUBLE_EQ(later.end_epoch, 6);
}

}  // namespace
}  // namespace titan::train::forecast_test
