#include "recipe/plan/flops.h"

#include "recipe/model/family.h"
#include "recipe/plan/plan_values.h"

namespace titan::recipe {

double flops_per_token(const RunPlan& plan) {
  const ModelDims& dims = plan.dims;
  std::uint64_t total = 0;
  for (const ckpt::ParameterMeta& parameter : plan.parameters) {
    if (dims.tied || parameter.name != kEmbeddingName) total += ckpt::element_count(parameter.shape);
  }
  total -= inactive_elements(dims);
  return 6.0 * static_cast<double>(total) +
         6.0 * static_cast<double>(dims.n_layers * dims.n_heads) * 2.0 *
             static_cast<double>(dims.head_dim * mean_seen(dims, plan.batch.seq_len));
}

}  // namespace titan::recipe
