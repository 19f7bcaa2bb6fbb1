#include "libtrain/engine/train/measure_parts.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <vector>

#include "libtrain/engine/device/device.h"
#include "libtrain/engine/model/runtime.h"
#include "libtrain/engine/model/stage.h"
#include "recipe/plan/run_plan.h"

namespace titan::train {
namespace {

/// Median seconds of `work`, after two warm-up rounds.
double seconds_of(const std::function<void()>& work) {
  constexpr int kWarm = 2, kRounds = 7;
  // A GPU's work is done only when a value computed after it has been read.
  const at::Tensor after = at::zeros({1}, device().options(at::kDouble));
  std::vector<double> seconds;
  for (int round = 0; round < kWarm + kRounds; ++round) {
    const auto begin = std::chrono::steady_clock::now();
    work();
    (void)device().read({&after, 1});
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
    if (round >= kWarm) seconds.push_back(taken.count());
  }
  std::ranges::nth_element(seconds, seconds.begin() + kRounds / 2);
  return seconds[kRounds / 2];
}

}  // namespace

PartTimes measure_parts(const recipe::RunPlan& plan, int threads) {
  setup_determinism(threads);
  recipe::ModelDims dims = plan.dims;
  dims.n_layers = 1;
  recipe::RunPlan one = recipe::whole_model_plan(dims, plan.batch.seq_len);
  one.bf16 = plan.bf16;
  one.gemm = plan.gemm;
  one.loss_chunk = plan.loss_chunk;
  Stage stage(one, 0, plan.batch.seq_len);
  stage.init_weights(0);

  const at::Tensor tokens_BT = at::zeros({plan.batch.micro, plan.batch.seq_len}, device().options(at::kLong));
  const at::Tensor hidden_BTD = stage.run(0, tokens_BT, nullptr).detach();
  const at::Tensor grad_BTD = at::ones_like(hidden_BTD);
  const auto both_ways = [&](std::size_t segment, const at::Tensor& input) {
    return seconds_of([&] {
      const at::Tensor x = at::isFloatingType(input.scalar_type()) ? input.detach().requires_grad_(true) : input;
      stage.run(segment, x, nullptr).backward(grad_BTD);
    });
  };
  PartTimes times;
  times.embedding = both_ways(0, tokens_BT);
  times.layer = both_ways(1, hidden_BTD);
  times.head = both_ways(2, hidden_BTD) + seconds_of([&] { (void)stage.loss(hidden_BTD, tokens_BT, 1.0); });
  return times;
}

}  // namespace titan::train
