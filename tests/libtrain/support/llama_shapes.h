#pragma once
// Llama 3 models as plans: shapes, no tensors.
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include "libtrain/job/reduction/exchange_plan.h"
#include "recipe/model/parameters.h"
#include "recipe/plan/run_plan.h"

namespace titan::test {

inline recipe::ModelDims llama_dims(const std::string& model, bool tied = false) {
  const auto dims = [&](std::int64_t dim, std::int64_t layers, std::int64_t heads, std::int64_t ffn) {
    return recipe::ModelDims{.dim = dim,
                             .n_layers = layers,
                             .n_heads = heads,
                             .n_kv_heads = 8,
                             .head_dim = dim / heads,
                             .ffn_dim = ffn,
                             .vocab_size = 128256,
                             .tied = tied};
  };
  if (model == "1B") return dims(2048, 16, 32, 8192);
  if (model == "8B") return dims(4096, 32, 32, 14336);
  if (model == "70B") return dims(8192, 80, 64, 28672);
  throw std::invalid_argument("no such model: " + model);
}

/// One stage that `dp` ranks share, with `count` micro-batches.
inline recipe::RunPlan llama_plan(const std::string& model, std::uint32_t dp, std::int64_t count, bool tied = false) {
  recipe::RunPlan plan;
  plan.dims = llama_dims(model, tied);
  plan.mesh = {.pp = 1, .dp = dp};
  plan.batch = {.micro = 1, .global = count, .count = count, .seq_len = 8192};
  plan.parameters = recipe::model_parameters(plan.dims);
  return plan;
}

/// The rows of the plan's owners; with a tied head's slot if there is one.
inline std::vector<train::SegmentRow> llama_rows(const recipe::RunPlan& plan) {
  std::vector<std::uint32_t> slots(plan.parameters.size());
  std::iota(slots.begin(), slots.end(), 0u);
  if (plan.dims.tied) slots.push_back(0);
  return train::owner_rows(plan, recipe::owners_of(plan), 0, slots);
}

}  // namespace titan::test
