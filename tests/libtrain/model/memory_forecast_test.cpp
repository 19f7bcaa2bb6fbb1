#include "libtrain/forecast/memory.h"

#include <gtest/gtest.h>
#include <malloc.h>

#include "libtrain/pipeline/stage_pass.h"
#include "tests/libtrain/support/tiny_model.h"

namespace titan::train {
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

Kept kept_by_forward(const recipe::ModelDims& dims, bool bf16, std::int64_t seq_len) {
  recipe::RunPlan plan = make_plan(dims, {}, 1, bf16);
  plan.batch.seq_len = seq_len;
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
  kept.forecast =
      static_cast<double>(count * (static_cast<std::uint64_t>(dims.n_layers) * layer_activation_bytes(dims, bf16) +
                                   head_activation_bytes(dims, bf16)));
  return kept;
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
  };
  for (const recipe::ModelDims& dims : shapes) {
    for (const bool bf16 : {false, true}) {
      const Kept kept = kept_by_forward(dims, bf16, 128);
      EXPECT_NEAR(kept.measured / kept.forecast, 1, 0.05) << "dim " << dims.dim << (bf16 ? " bf16 " : " fp32 ")
                                                          << kept.measured << " bytes, forecast " << kept.forecast;
    }
  }
}

}  // namespace
}  // namespace titan::train
