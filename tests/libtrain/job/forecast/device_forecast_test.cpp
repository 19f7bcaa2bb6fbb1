#include "libtrain/job/forecast/device_forecast.h"

#include <gtest/gtest.h>

#include "libtrain/job/metrics/device_use.h"
#include "recipe/keys/config.h"
#include "recipe/plan/run_plan.h"

namespace titan::train::device_forecast_test {
namespace {

constexpr double kLeaf = 4.0 * static_cast<double>(ckpt::kDefaultLeafElements);

recipe::DeviceFigures plain_device() {
  recipe::DeviceFigures device;
  device.memory_bytes = std::uint64_t{80} << 30;
  device.bf16_tflops = 2;
  device.compute_share = 0.5;  // 1e12 operations a second
  device.memory_gb_s = device.nvlink_gb_s = 1;
  device.nic_gb_s = 0.1;
  device.link_share = 1;
  return device;
}

/// 134,226,944 parameters, of which embedding and head have 33,554,432 each. Per token a layer's forward is 35,651,584
/// operations, the head's 67,108,864.
recipe::Config small_config() {
  recipe::Config config;
  config.model.dim = 1024;
  config.model.n_layers = 4;
  config.model.n_heads = 8;
  config.model.ffn_dim = 4096;
  config.model.vocab_size = 32768;
  config.training.seq_len = 1024;
  config.training.local_batch_size = 1;
  config.training.global_batch_size = 4;
  return config;
}

DeviceForecast forecast_of(const recipe::Config& config, std::uint32_t world, const recipe::DeviceFigures& device) {
  const auto plan = recipe::make_run_plan(config, world);
  EXPECT_TRUE(plan.ok()) << plan.status().to_string();
  auto forecast = forecast_device(*plan, device);
  EXPECT_TRUE(forecast.ok()) << forecast.status().to_string();
  return *forecast;
}

TEST(DeviceForecast, StagesTakeTheirOperationsOverTheRate) {
  recipe::Config config = small_config();
  const double layers = 4 * 35'651'584e-12 * 1024, head = 67'108'864e-12 * 1024;
  DeviceForecast forecast = forecast_of(config, 1, plain_device());
  EXPECT_DOUBLE_EQ(forecast.stages.at(0).forward, layers + 3 * head) << "head and loss are done in the forward";
  EXPECT_DOUBLE_EQ(forecast.stages[0].backward, 2 * layers);
  EXPECT_NEAR(forecast.step.pipeline, 4 * 3 * (layers + head), 1e-9);
  EXPECT_EQ(forecast.gradients.total(), 0u) << "one rank exchanges nothing";

  config.activation_checkpoint.mode = "full";
  forecast = forecast_of(config, 1, plain_device());
  // A layer is computed again but for its last product, from 4,096 to 1,024 values of a token.
  EXPECT_NEAR(forecast.stages[0].backward, 3 * layers - 4 * 2 * 4096 * 1024e-12 * 1024, 1e-9);
}

// 8 heads x 1,024 x 1,024 probabilities of 4 bytes, at 1 GB/s: 33.6 ms.
TEST(DeviceForecast, UnfusedAttentionMovesItsProbabilities) {
  recipe::Config config = small_config();
  config.training.device = "cuda";
  const DeviceForecast fused = forecast_of(config, 1, plain_device());
  config.training.attention = "math";
  const DeviceForecast unfused = forecast_of(config, 1, plain_device());
  const double pass = 8 * 1024 * 1024 * 4e-9;
  EXPECT_NEAR(unfused.stages.at(0).forward - fused.stages.at(0).forward, 4 * 4 * pass, 1e-9);
  EXPECT_NEAR(unfused.stages[0].backward - fused.stages[0].backward, 4 * 8 * pass, 1e-9);
}

TEST(DeviceForecast, ExchangeMovesHalfOfTheGradientsOnTwoRanks) {
  const DeviceForecast forecast = forecast_of(small_config(), 2, plain_device());
  EXPECT_NEAR(forecast.step.gradients, 4 * 134'226'944e-9 / 2, kLeaf * 1e-9);
  EXPECT_EQ(forecast.gradients.between_nodes, 0u);
  // Each has half of the embedding, which it sends in fp32, and half of the rest in bf16.
  EXPECT_NEAR(forecast.step.weights, (2 * 33'554'432e-9 + 2 * 134'226'944e-9) / 2, 2 * kLeaf * 1e-9);
  // Each updates half of them.
  EXPECT_NEAR(forecast.step.optimizer, 134'226'944e-9 / 2 * 34, 34 * kLeaf * 1e-9);
}

TEST(DeviceForecast, MicroBatchesThatAreExchangedAtOnceCostAnExchangeEach) {
  recipe::Config config = small_config();
  const DeviceForecast late = forecast_of(config, 2, plain_device());
  config.parallelism.data_parallel_sharding = "zero2";
  const DeviceForecast turns = forecast_of(config, 2, plain_device());
  // Gradients of a micro-batch are as wide as compute copies.
  EXPECT_NEAR(turns.step.gradients, 2 * late.step.weights, 4 * kLeaf * 1e-9);
}

TEST(DeviceForecast, StagesOnAnotherNodeWaitForTheNetwork) {
  recipe::Config config = small_config();
  config.parallelism.pipeline_parallel_degree = 2;
  recipe::DeviceFigures device = plain_device();
  const double hidden = 2.0 * 1024 * 1024;
  const DeviceForecast near = forecast_of(config, 2, device);
  EXPECT_DOUBLE_EQ(near.hop_seconds, hidden / 1e9);
  device.per_node = 1;
  const DeviceForecast far = forecast_of(config, 2, device);
  EXPECT_DOUBLE_EQ(far.hop_seconds, hidden / 1e8);
  EXPECT_GT(far.step.pipeline, near.step.pipeline);
}

TEST(DeviceForecast, SpeedAndMfuFollowFromTheStep) {
  const DeviceForecast forecast = forecast_of(small_config(), 2, plain_device());
  const StepSeconds& step = forecast.step;
  EXPECT_DOUBLE_EQ(step.total(), step.pipeline + step.gradients + step.optimizer + step.weights);
  EXPECT_DOUBLE_EQ(forecast.tokens_per_second, 4096 / step.total());
  // 6 (N - embedding) + 12 x layers x heads x head_dim x tokens.
  const double flops = 6.0 * (134'226'944 - 33'554'432) + 12.0 * 4 * 1024 * 1024;
  EXPECT_DOUBLE_EQ(forecast.mfu, forecast.tokens_per_second * flops / (2 * 2e12));
}

TEST(DeviceForecast, MemoryIsThePlansAndTheReserve) {
  recipe::DeviceFigures device = plain_device();
  device.reserve_bytes = 1 << 30;
  const recipe::RunPlan plan = recipe::make_run_plan(small_config(), 1).value();
  DeviceForecast forecast = *forecast_device(plan, device);
  EXPECT_EQ(forecast.rank_bytes(), forecast.memory.at(0).total() + device.reserve_bytes);
  EXPECT_EQ(*device_bytes(plan, device), forecast.rank_bytes());
  EXPECT_TRUE(forecast.fits());
  forecast.device.memory_bytes = forecast.rank_bytes();
  EXPECT_TRUE(forecast.fits());
  --forecast.device.memory_bytes;
  EXPECT_FALSE(forecast.fits());
}

TEST(DeviceForecast, PeaksAreThoseThatMfuIsMeasuredBy) {
  for (const auto& [figures, device] : {std::pair{"h100", "NVIDIA H100 80GB HBM3"},
                                        {"h200", "NVIDIA H200"},
                                        {"a100", "NVIDIA A100-SXM4-80GB"},
                                        {"b200", "NVIDIA B200"}})
    EXPECT_EQ(recipe::device_figures(figures)->bf16_tflops, known_peak_tflops(device)) << figures;
}

// 8,030,261,248 parameters: a layer's forward is 503,316,480 operations a token, the head's 1,050,673,152.
TEST(DeviceForecast, Llama8BOnEightGpus) {
  recipe::Config config;
  config.model.flavor = "8B";
  config.training.seq_len = 8192;
  config.training.local_batch_size = 1;
  config.training.global_batch_size = 16;
  config.parallelism.data_parallel_sharding = "zero2";
  config.activation_checkpoint.mode = "full";
  const DeviceForecast forecast = forecast_of(config, 8, *recipe::device_figures("h100"));
  const double rate = 989e12 * 0.42, layers = 32 * 503'316'480.0 * 8192, head = 1'050'673'152.0 * 8192;
  EXPECT_NEAR(forecast.stages.at(0).forward, (layers + 3 * head) / rate, 1e-9);
  // What is computed again lacks the layers' last products.
  const double again = layers - 32 * 2.0 * 4096 * 14336 * 8192;
  EXPECT_NEAR(forecast.stages[0].backward, (2 * layers + again) / rate, 1e-9);
  EXPECT_NEAR(forecast.step.pipeline, 2 * (3 * layers + again + 3 * head) / rate, 1e-9);
  // Seven eighths of the gradients, twice, over 80 % of 450 GB/s: bf16, and the embedding's in fp32.
  EXPECT_NEAR(forecast.step.gradients, 2 * (2 * 8'030'261'248.0 + 2 * 525'336'576.0) * 7 / 8 / 360e9, 1e-3);
  EXPECT_EQ(forecast.gradients.between_nodes, 0u);
  EXPECT_NEAR(forecast.step.optimizer, 8'030'261'248.0 / 8 * 34 / (0.8 * 3350e9), 1e-4);
  // bf16 weights, the embedding, an eighth of the others' masters and of all moments in fp32.
  const RankMemory& memory = forecast.memory.at(0);
  const double embedding = 525'336'576, rest = 8'030'261'248.0 - embedding, eighth = 8'030'261'248.0 / 8;
  EXPECT_NEAR(static_cast<double>(memory.weights), 2 * rest + 4 * embedding + 4 * rest / 8, 2 * kLeaf);
  EXPECT_NEAR(static_cast<double>(memory.optimizer), 8 * eighth, 4 * kLeaf);
}

}  // namespace
}  // namespace titan::train::device_forecast_test
