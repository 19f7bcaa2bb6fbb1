#include "libtrain/engine/train/generation.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include "libtrain/engine/checkpoint/load_weights.h"
#include "libtrain/engine/device/device.h"
#include "libtrain/engine/device/host_values.h"
#include "libtrain/engine/model/rank_stages.h"
#include "libtrain/engine/model/runtime.h"
#include "libtrain/engine/train/spin_guard.h"
#include "libtrain/job/host/gemm.h"
#include "libtrain/job/metrics/step_clock.h"
#include "libtrain/job/start/init_map.h"
#include "recipe/plan/run_plan.h"

namespace titan::train {
namespace {

using Clock = std::chrono::steady_clock;

/// A model and the text that it has read so far.
class Writer {
 public:
  Writer(const Stage& stage, std::int64_t layers, bool kv_cache)
      : stage_(stage), cache_(static_cast<std::size_t>(layers)), kv_cache_(kv_cache) {}

  /// Appends `more` to the text and returns the logits of the next token, fp32 [V], on the host.
  at::Tensor next(const std::vector<std::int64_t>& more) {
    if (kv_cache_) return logits_of(stage_.extend(tokens_of(more), cache_));
    text_.insert(text_.end(), more.begin(), more.end());
    return logits_of(stage_.next_logits(tokens_of(text_)));
  }

 private:
  static at::Tensor tokens_of(const std::vector<std::int64_t>& text) {
    return device().from_host(at::tensor(text, at::kLong));
  }
  static at::Tensor logits_of(const at::Tensor& logits) { return device().to_host(logits.to(at::kFloat)); }

  const Stage& stage_;
  KvCache cache_;
  bool kv_cache_;
  std::vector<std::int64_t> text_;
};

bool can_be_drawn_from(std::span<const float> logits) {
  return std::ranges::none_of(logits, [](float x) { return std::isnan(x) || x == INFINITY; }) &&
         std::ranges::any_of(logits, [](float x) { return std::isfinite(x); });
}

}  // namespace

ckpt::Result<GenerationReport> generate(const ckpt::WeightSource& source, const recipe::ModelDims& dims,
                                        const GenerationOptions& options, const TokenListener& listener,
                                        const TokenGate& gate, const recipe::NameRules& rules) {
  GenerationReport report;
  Clock::time_point begin = Clock::now();
  setup_determinism(options.threads);
  const at::NoGradGuard no_grad;
  recipe::RunPlan plan =
      recipe::whole_model_plan(dims, static_cast<std::int64_t>(options.prompt.size() + options.most));
  plan.bf16 = options.bf16;
  plan.gemm = gemm_of(processor_name());
  TITAN_ASSIGN_OR_RETURN(const recipe::NameRules own, rules_for_ours(source, rules));
  TITAN_ASSIGN_OR_RETURN(const WeightMatch match, match_weights(source.tensors(), plan.parameters, own));
  RankStages stages(plan, 0, plan.batch.seq_len);
  TITAN_RETURN_IF_ERROR(load_weights(source, match, stages));
  Stage& stage = *stages.stages().front();
  stage.refresh();
  stage.drop_masters();
  report.load_s = seconds_since(begin);

  const ckpt::CancelToken cancel = gate ? gate() : ckpt::CancelToken();
  SpinGuard spin;
  Writer writer(stage, dims.n_layers, options.kv_cache);
  std::vector<std::int64_t> more = options.prompt;
  begin = Clock::now();
  while (report.tokens.size() < options.most) {
    TITAN_RETURN_IF_ERROR(cancel.check());
    const at::Tensor logits_V = writer.next(more);
    const std::span logits = host_values<float>(logits_V);
    if (!can_be_drawn_from(logits))
      return ckpt::failed(source.path() + ": the logits of token " +
                          std::to_string(options.prompt.size() + report.tokens.size()) + " are not finite");
    const std::int64_t token = next_token(logits, options.sampling, report.tokens.size());
    (report.tokens.empty() ? report.first_s : report.rest_s) = seconds_since(begin);
    if (report.tokens.empty()) begin = Clock::now();
    if (std::ranges::find(options.ends, token) != options.ends.end()) {
      report.end = GenerationEnd::kEndToken;
      break;
    }
    report.tokens.push_back(token);
    if (!listener(token)) {
      report.end = GenerationEnd::kListener;
      break;
    }
    more = {token};
    spin.update();
  }
  return report;
}

}  // namespace titan::train
