#include "libtrain/engine/pipeline/stage_pass.h"

#include <ATen/record_function.h>

#include <atomic>
#include <map>
#include <string_view>

#include "libtrain/engine/model/blocks.h"
#include "libtrain/engine/model/functions/rope.h"
#include "recipe/plan/plan_values.h"
#include "tests/libtrain/support/composite.h"
#include "tests/libtrain/support/same_gradients.h"
#include "tests/libtrain/support/tiny_model.h"

namespace titan::train::stage_pass_test {
namespace {

using namespace titan::test;

recipe::RunPlan with_options(recipe::RunPlan plan, Gemm gemm, std::int64_t recompute_each) {
  plan.gemm = gemm;
  plan.recompute_each = recompute_each;
  return plan;
}

struct Model {
  recipe::RunPlan plan;
  Stage stage;
  at::Tensor tokens, targets;

  Model(const recipe::ModelDims& dims, bool bf16, Gemm gemm = Gemm::kMkl, std::int64_t recompute_each = 0)
      : plan(with_options(make_plan(dims, {}, 1, bf16), gemm, recompute_each)), stage(plan, 0, kSeqLen) {
    stage.init_weights(3);
    // Biases and norms begin as zeros and ones; other values show more.
    for (StageParameter& p : stage.parameters())
      if (p.master.dim() == 1) p.master.add_(random_tensor(p.master.numel(), p.index, 0.3));
    stage.refresh();
    const at::Tensor both = tokens_of(plan, 1, 0);
    tokens = both.narrow(1, 0, kSeqLen).contiguous();
    targets = both.narrow(1, 1, kSeqLen).contiguous();
  }
};

constexpr double kScale = 1.0 / 38;

/// The gradients of all parameters, segment by segment, and the losses last.
std::vector<at::Tensor> by_segments(Model& model) {
  std::vector<TreeSum> sums(model.stage.parameters().size(), TreeSum(1, {0, 1}));
  StageGradients gradients;
  gradients.begin(sums, 0);
  StagePass pass(model.stage, gradients);
  HeadLoss loss = model.stage.loss(pass.forward(model.tokens), model.targets, kScale);
  gradients.insert(model.stage.head_parameter(), loss.grad_weight);
  EXPECT_FALSE(pass.backward(loss.grad_x).defined()) << "tokens have no gradient";
  std::vector<at::Tensor> result;
  for (TreeSum& sum : sums) result.push_back(sum.finish().at(0));
  result.push_back(loss.losses);
  return result;
}

std::vector<at::Tensor> in_one_graph(const Model& model) {
  const recipe::ModelDims& dims = model.plan.dims;
  const at::Tensor losses =
      composite::token_losses(composite::logits(model.stage, dims, model.plan.bf16, model.tokens,
                                                rope_table(kSeqLen, dims.head_dim, dims.rope_theta)),
                              model.targets);
  std::vector<at::Tensor> leaves;
  for (const StageParameter& p : model.stage.parameters()) leaves.push_back(p.compute);
  auto result = torch::autograd::grad({losses}, leaves, {at::full_like(losses, kScale)});
  for (at::Tensor& grad : result) grad = grad.to(at::kFloat);
  result.push_back(losses);
  return result;
}

void expect_equal(const std::vector<at::Tensor>& got, const std::vector<at::Tensor>& expected, const Model& model,
                  const std::string& where) {
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i)
    EXPECT_TRUE(equal_bits(got[i], expected[i]))
        << (i < model.stage.parameters().size() ? model.stage.parameters()[i].name : "losses") << ", " << where;
}

TEST(StagePass, HasTheBitsOfOneGraphOverTheWholeModel) {
  use_one_thread();
  for (const bool tied : {false, true}) {
    for (const bool normed : {false, true}) {  // heads; a tied one with biases is of no family that we know by name
      for (const bool bf16 : {false, true}) {
        recipe::ModelDims dims = tiny_dims(tied);
        dims.qkv_bias = tied;
        dims.qk_norm = normed;
        Model model(dims, bf16);
        expect_equal(by_segments(model), in_one_graph(model), model,
                     std::string(tied ? "tied with biases" : "untied") + (normed ? ", normed heads" : "") +
                         (bf16 ? ", bf16" : ", fp32"));
      }
    }
  }
}

TEST(StagePass, RecomputationChangesNoBit) {
  use_one_thread();
  for (const Gemm gemm : {Gemm::kMkl, Gemm::kOneDnn}) {
    for (const bool bf16 : {false, true}) {
      recipe::ModelDims dims = tiny_dims();
      dims.qk_norm = true;
      Model kept(dims, bf16, gemm);
      const std::vector<at::Tensor> expected = by_segments(kept);
      for (const std::int64_t every : {1, 2, 3}) {
        Model again(dims, bf16, gemm, every);
        expect_equal(by_segments(again), expected, kept,
                     "every " + std::to_string(every) + (bf16 ? ", bf16" : ", fp32"));
      }
    }
  }
}

std::atomic<int> products_seen;

std::unique_ptr<at::ObserverContext> count_products(const at::RecordFunction& call) {
  const std::string_view name = call.name();
  if (name == "aten::mm" || name == "aten::addmm" || name == "aten::linear") ++products_seen;
  return nullptr;
}

// Of seven products of a layer the backward does not read the last one's output.
TEST(StagePass, RecomputationStopsBeforeWhatNobodyReads) {
  use_one_thread();
  const Model model(tiny_dims(), false);
  const at::Tensor hidden = at::zeros({1, kSeqLen, tiny_dims().dim});
  const auto products = [&](const auto& pass) {
    products_seen = 0;
    const at::CallbackHandle handle =
        at::addThreadLocalCallback(at::RecordFunctionCallback(count_products).scopes({at::RecordScope::FUNCTION}));
    EXPECT_EQ(pass().sizes(), hidden.sizes());
    at::removeCallback(handle);
    return products_seen.load();
  };
  const int first = products([&] { return model.stage.run(1, hidden, nullptr); });
  ASSERT_GT(first, 0);
  ASSERT_EQ(first % 7, 0) << "each product is seen equally often";
  EXPECT_EQ(products([&] { return model.stage.run_again(1, hidden, nullptr); }), first / 7 * 6);
}

}  // namespace
}  // namespace titan::train::stage_pass_test
