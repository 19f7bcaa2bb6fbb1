#include "libtrain/engine/train/evaluation.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include "libtrain/engine/checkpoint/load_weights.h"
#include "libtrain/engine/device/device.h"
#include "libtrain/engine/device/host_values.h"
#include "libtrain/engine/model/rank_stages.h"
#include "libtrain/engine/model/runtime.h"
#include "libtrain/engine/train/spin_guard.h"
#include "libtrain/job/start/init_map.h"
#include "recipe/plan/run_plan.h"

namespace titan::train {

ckpt::Result<EvaluationReport> evaluate(const ckpt::WeightSource& source, const recipe::ModelDims& dims,
                                        const TokenRows& rows, int threads, const LogitsSink& sink,
                                        const recipe::NameRules& rules) {
  setup_determinism(threads);
  const at::NoGradGuard no_grad;
  const auto length = static_cast<std::int64_t>(rows.length());
  const recipe::RunPlan plan = recipe::whole_model_plan(dims, length);
  // Every weight that no rule skips must be a parameter, and every parameter a weight.
  TITAN_ASSIGN_OR_RETURN(const recipe::NameRules own, rules_for_ours(source, rules));
  TITAN_ASSIGN_OR_RETURN(const WeightMatch match, match_weights(source.tensors(), plan.parameters, own));
  RankStages stages(plan, 0, length);
  TITAN_RETURN_IF_ERROR(load_weights(source, match, stages));
  stages.refresh();
  const Stage& stage = *stages.stages().front();

  EvaluationReport report;
  report.rows = rows.rows();
  report.tokens = report.rows * rows.length();
  report.predictions = report.rows * (rows.length() - 1);
  double sum = 0;
  SpinGuard spin;
  for (std::uint64_t row = 0; row < report.rows; ++row) {
    const at::Tensor host_BT = device().host_tensor({1, length}, at::kLong);
    TITAN_RETURN_IF_ERROR(
        rows.read(row, static_cast<std::uint64_t>(dims.vocab_size), mutable_host_values<std::int64_t>(host_BT)));
    const at::Tensor tokens_BT = device().from_host(host_BT);
    const at::Tensor logits_BTV = stage.forward(tokens_BT).contiguous();
    if (length > 1) {
      const at::Tensor losses =
          kernels().exact_losses(logits_BTV.narrow(1, 0, length - 1), tokens_BT.narrow(1, 1, length - 1));
      sum += device().read(std::vector{kernels().loss_sum(losses)}).front();
    }
    if (sink) TITAN_RETURN_IF_ERROR(sink(host_values<float>(device().to_host(logits_BTV))));
    spin.update();
  }
  report.loss = sum / static_cast<double>(report.predictions);
  return report;
}

}  // namespace titan::train
