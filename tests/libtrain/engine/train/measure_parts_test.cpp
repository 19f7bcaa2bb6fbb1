#include "libtrain/engine/train/measure_parts.h"

#include <gtest/gtest.h>

#include "recipe/model/dims.h"
#include "recipe/plan/run_plan.h"

namespace titan::train::measure_parts_test {
namespace {

TEST(MeasureParts, TimesEachPartInBothPrecisions) {
  recipe::ModelDims dims;
  dims.dim = 32;
  dims.n_layers = 3;
  dims.n_heads = dims.n_kv_heads = 2;
  dims.head_dim = 16;
  dims.ffn_dim = 64;
  dims.vocab_size = 256;
  for (const bool bf16 : {false, true}) {
    recipe::RunPlan plan = recipe::whole_model_plan(dims, 16);
    plan.bf16 = bf16;
    const PartTimes times = measure_parts(plan, 1);
    EXPECT_GT(times.embedding, 0);
    EXPECT_GT(times.layer, 0);
    EXPECT_GT(times.head, 0);
  }
}

}  // namespace
}  // namespace titan::train::measure_parts_test
