#include "libtrain/job/forecast/memory.h"

#include <gtest/gtest.h>
#include <malloc.h>

#include <ATen/Context.h>

#include "libtrain/engine/pipeline/stage_pass.h"
#include "tests/libtrain/support/counting_allocator.h"
#include "tests/libtrain/support/two_steps.h"

namespace titan::train::memory_forecast_test {
namespace {

using namespace titan::test;

std::uint64_t allocated() {
  const struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

/// Bytes that the autograd graph of one forward keeps, and what the forecast says.
struct Kept {
  double measured = 0, forecast = 0;
};

Kept kept_by_forward(const recipe::ModelDims& dims, bool bf16, std::int64_t seq_len, bool recompute = false,
                     bool scores = false) {
  recipe::RunPlan plan = make_plan(dims, {}, 1, bf16);
  plan.batch.seq_len = seq_len;
  plan.recompute_each = recompute ? 1 : 0;
  Stage stage(plan, 0, seq_len);
  stage.init_weights(1);
  const at::Tensor tokens = (at::arange(kMicro * seq_len, at::kLong) % dims.vocab_size).view({kMicro, seq_len});
  StageGradients gradients;
  const auto forward = [&] {
    StagePass pass(stage, gradients);
    HeadLoss loss = stage.loss(pass.forward(tokens), tokens, 1);
    return std::pair{std::move(pass), std::move(loss.grad_x)};
  };
  forward();  // what libraries allocate once
  const std::uint64_t before = allocated();
  const auto in_flight = forward();
  Kept kept;
  kept.measured = static_cast<double>(allocated() - before);
  const auto count = static_cast<std::uint64_t>(kMicro * seq_len);
  const std::uint64_t hidden = (bf16 ? 2 : 4) * static_cast<std::uint64_t>(dims.dim),
                      layer = recompute ? hidden
                                        : layer_activation_bytes(dims, bf16) +
                                              (scores ? score_bytes(dims, seq_len, bf16) : 0);
  kept.forecast = static_cast<double>(
      count * (static_cast<std::uint64_t>(dims.n_layers) * layer + head_activation_bytes(dims, bf16)));
  return kept;
}

TEST(Memory, OfARecomputedLayerTheInputStays) {
  use_one_thread();
  const recipe::ModelDims dims{
      .dim = 128, .n_layers = 8, .n_heads = 4, .n_kv_heads = 4, .head_dim = 32, .ffn_dim = 352, .vocab_size = 512};
  for (const bool bf16 : {false, true}) {
    const Kept kept = kept_by_forward(dims, bf16, 256, /*recompute=*/true);
    EXPECT_NEAR(kept.measured / kept.forecast, 1, 0.05) << kept.measured << " bytes, forecast " << kept.forecast;
  }
}

TEST(Memory, ActivationsAreWhatAForwardLeavesAllocated) {
  use_one_thread();
  const recipe::ModelDims shapes[] = {
      {.dim = 128, .n_layers = 3, .n_heads = 4, .n_kv_heads = 4, .head_dim = 32, .ffn_dim = 352, .vocab_size = 512},
      {.dim = 128, .n_layers = 2, .n_heads = 8, .n_kv_heads = 2, .head_dim = 32, .ffn_dim = 256, .vocab_size = 4096},
      {.dim = 256,
       .n_layers = 2,
       .n_heads = 4,
       .n_kv_heads = 2,
       .head_dim = 64,
       .ffn_dim = 1024,
       .vocab_size = 256,
       .tied = true,
       .qkv_bias = true},
      {.dim = 128,
       .n_layers = 3,
       .n_heads = 4,
       .n_kv_heads = 2,
       .head_dim = 64,
       .ffn_dim = 352,
       .vocab_size = 512,
       .qk_norm = true},
      {.dim = 128,
       .n_layers = 3,
       .n_heads = 4,
       .n_kv_heads = 2,
       .head_dim = 32,
       .ffn_dim = 352,
       .vocab_size = 512,
       .qk_norm = true,
       .whole_qk_norm = true,
       .post_norm = true},
      {.dim = 128,
       .n_layers = 3,
       .n_heads = 4,
       .n_kv_heads = 2,
       .head_dim = 32,
       .ffn_dim = 96,
       .vocab_size = 512,
       .experts = true,
       .n_experts = 8,
       .experts_per_token = 3,
       .route_norm = true},
      {.dim = 128,
       .n_layers = 3,
       .n_heads = 4,
       .n_kv_heads = 2,
       .head_dim = 32,
       .ffn_dim = 352,
       .vocab_size = 512,
       .window = {50, {}}},
  };
  for (const recipe::ModelDims& dims : shapes) {
    for (const bool bf16 : {false, true}) {
      const Kept kept = kept_by_forward(dims, bf16, 128);
      EXPECT_NEAR(kept.measured / kept.forecast, 1, dims.experts ? 0.12 : 0.05)
          << "dim " << dims.dim << (bf16 ? " bf16 " : " fp32 ") << kept.measured << " bytes, forecast "
          << kept.forecast;
    }
  }
}

/// SDPA takes its way without a fused kernel while this lives.
struct MathAttention {
  MathAttention() { set(true); }
  ~MathAttention() { set(false); }
  static void set(bool math) {
    at::globalContext().setSDPUseMath(math);
    at::globalContext().setSDPUseFlash(!math);
  }
};

// As on a GPU in float32.
TEST(Memory, ProbabilitiesStayWhereAttentionIsNotFused) {
  use_one_thread();
  const MathAttention math;
  for (const std::int64_t kv_heads : {4, 2}) {
    const recipe::ModelDims dims{.dim = 128,
                                 .n_layers = 3,
                                 .n_heads = 4,
                                 .n_kv_heads = kv_heads,
                                 .head_dim = 32,
                                 .ffn_dim = 352,
                                 .vocab_size = 512};
    for (const bool bf16 : {false, true}) {
      const Kept kept = kept_by_forward(dims, bf16, 512, /*recompute=*/false, /*scores=*/true);
      EXPECT_NEAR(kept.measured / kept.forecast, 1, 0.05)
          << kv_heads << (bf16 ? " bf16 " : " fp32 ") << kept.measured << " bytes, forecast " << kept.forecast;
    }
  }
}

constexpr std::int64_t kTokens = 128;  // of a sequence: activations are as large as the sums

/// The most that the tensors of each rank of a pipeline hold in two steps.
std::vector<double> measured_peaks(const recipe::RunPlan& plan, std::int64_t tokens = kTokens) {
  CountingAllocator allocator;
  run_ranks(plan.mesh, [&](World& world) {
    allocator.count_for(world.rank);
    train_two_steps(plan, world, tokens);
  });
  std::vector<double> peaks;
  for (std::uint32_t rank = 0; rank < plan.mesh.world(); ++rank)
    peaks.push_back(static_cast<double>(allocator.peak_of(static_cast<int>(rank))));
  return peaks;
}

constexpr recipe::ModelDims kModel{
    .dim = 128, .n_layers = 4, .n_heads = 4, .n_kv_heads = 4, .head_dim = 32, .ffn_dim = 352, .vocab_size = 512};

/// How far the estimate of each rank is from what its tensors held at most.
void expect_near(recipe::RunPlan plan, double off, const std::string& where, std::int64_t tokens = kTokens) {
  plan.batch.seq_len = tokens;
  const std::vector<double> peaks = measured_peaks(plan, tokens);
  const ScheduleTable table =
      make_schedule(plan.schedule, plan.pipeline(static_cast<std::uint32_t>(plan.batch.count))).value();
  for (std::uint32_t rank = 0; rank < plan.mesh.pp; ++rank) {
    const RankMemory forecast = rank_memory(plan, rank, table.at(rank), 0);
    EXPECT_NEAR(static_cast<double>(forecast.tensors()) / peaks[rank], 1, off)
        << where << ", rank " << rank << ": measured " << peaks[rank] << ", weights " << forecast.weights << ", sums "
        << forecast.gradients << ", optimizer " << forecast.optimizer << ", activations " << forecast.activations
        << ", transfers " << forecast.transfers;
  }
}

TEST(Memory, TheEstimateIsNearTheMeasuredPeak) {
  use_one_thread();
  for (const bool bf16 : {false, true})
    for (const std::uint32_t pp : {1u, 2u})
      for (const std::int64_t count : {1, 8})
        for (const bool recompute : {false, true}) {
          if (bf16 && recompute) continue;
          recipe::RunPlan plan = make_plan(
              kModel, {1, pp == 1 ? std::vector<std::uint32_t>{} : std::vector<std::uint32_t>{3}}, count, bf16);
          plan.recompute_each = recompute ? 1 : 0;
          expect_near(plan, 0.07,
                      std::string(bf16 ? "bf16" : "fp32") + ", PP " + std::to_string(pp) + ", M " +
                          std::to_string(count) + (recompute ? ", recomputed" : ""));
        }
}

TEST(Memory, TheEstimateIsNearThePeakWhereAttentionIsNotFused) {
  use_one_thread();
  const MathAttention math;
  for (const bool bf16 : {false, true})
    for (const bool recompute : {false, true}) {
      recipe::RunPlan plan = make_plan(kModel, {1, {}}, 4, bf16);
      plan.recompute_each = recompute ? 1 : 0;
      plan.keeps_scores = true;
      expect_near(plan, 0.1, std::string(bf16 ? "bf16" : "fp32") + (recompute ? ", recomputed" : ""), 4 * kTokens);
    }
}

TEST(Memory, TheEstimateIsNearThePeakOfOtherSchedules) {
  use_one_thread();
  const std::vector<std::uint32_t> halves{3}, quarters{2, 3, 5};
  const struct {
    recipe::ScheduleKind kind;
    std::vector<std::uint32_t> cuts;
    std::uint32_t chunks;
  } cases[] = {{recipe::ScheduleKind::kGPipe, halves, 1},
               {recipe::ScheduleKind::kZbH1, halves, 1},
               {recipe::ScheduleKind::kInterleaved1F1B, quarters, 2},
               {recipe::ScheduleKind::kZbvZeroBubble, quarters, 2}};
  for (const auto& c : cases)
    expect_near(make_plan(kModel, {1, c.cuts, c.kind, c.chunks}, 8), 0.1, recipe::facts_of(c.kind).name);
}

TEST(Memory, LessItsSumsAStepNeedsTheSameWithAnyNumberOfMicroBatches) {
  use_one_thread();
  const recipe::ModelDims dims{
      .dim = 64, .n_layers = 4, .n_heads = 2, .n_kv_heads = 2, .head_dim = 32, .ffn_dim = 176, .vocab_size = 128};
  const auto rest_of = [&](std::int64_t count) {
    recipe::RunPlan plan = make_plan(dims, {1, {3}}, count);
    plan.batch.seq_len = kTokens;
    std::vector<double> rest = measured_peaks(plan);
    const ScheduleTable table = make_schedule(plan.schedule, plan.pipeline(static_cast<std::uint32_t>(count))).value();
    for (std::uint32_t rank = 0; rank < plan.mesh.pp; ++rank)
      rest[rank] -= static_cast<double>(rank_memory(plan, rank, table.at(rank), 0).gradients);
    return rest;
  };
  const std::vector<double> few = rest_of(8);
  for (const std::int64_t count : {64, 128}) {
    const std::vector<double> many = rest_of(count);
    for (std::size_t rank = 0; rank < few.size(); ++rank)
      EXPECT_NEAR(many[rank] / few[rank], 1, 0.05) << "M " << count << ", rank " << rank;
  }
}

}  // namespace
}  // namespace titan::train::memory_forecast_test
