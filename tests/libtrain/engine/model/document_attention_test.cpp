#include "libtrain/engine/model/document_attention.h"

#include <gmock/gmock.h>
#include <torch/csrc/autograd/autograd.h>

#include "libtrain/engine/device/cpu/cpu_kernels.h"
#include "libtrain/engine/pipeline/executor.h"
#include "tests/libtrain/support/composite.h"
#include "tests/libtrain/support/tiny_model.h"

namespace titan::train::document_attention_test {
namespace {

using namespace titan::test;
using ::testing::ElementsAre;

const std::vector<std::vector<std::int64_t>> kStarts = {{1, 8, 9, 19}, {5}};  // of rows of 20 tokens

std::vector<SampleMarks> marks_of_rows(std::int64_t rows) {
  std::vector<SampleMarks> marks;
  for (std::int64_t row = 0; row < rows; ++row) {
    const std::vector<std::int64_t>& starts = kStarts[static_cast<std::size_t>(row)];
    marks.push_back({.starts = starts, .untrained = starts});
  }
  return marks;
}

at::Tensor run_all(const Stage& stage, const at::Tensor& tokens_BT, const Documents& documents) {
  at::Tensor x = tokens_BT;
  for (std::size_t i = 0; i < stage.segments(); ++i) x = stage.run(i, x, nullptr, documents);
  return linear(x, {stage.parameters()[stage.head_parameter()].compute, stage.head_parameter()}, {});
}

std::vector<at::Tensor> leaves_of(Stage& stage) {
  std::vector<at::Tensor> leaves;
  for (const StageParameter& p : stage.parameters()) leaves.push_back(p.compute);
  return leaves;
}

TEST(Documents, PiecesAndPlacesFollowFromTheStarts) {
  const Documents documents = documents_of(kStarts, kSeqLen, at::arange(kSeqLen).unsqueeze(1));
  EXPECT_THAT(documents.lengths, ElementsAre(1, 7, 1, 10, 5, 14));
  EXPECT_TRUE(documents.apart());
  const at::Tensor places = documents.rope_BTK.squeeze(2);
  EXPECT_EQ(places.size(0), 2);
  EXPECT_EQ(places[0][7].item<std::int64_t>(), 6);
  EXPECT_EQ(places[0][8].item<std::int64_t>(), 0);
  EXPECT_EQ(places[1][18].item<std::int64_t>(), 13);
  EXPECT_FALSE(Documents{}.apart());
}

TEST(Documents, ATargetThatBeginsADocumentIsNotTrainedOn) {
  const at::Tensor tokens = at::arange(40).reshape({2, 20});
  for (const std::int64_t rows : {2, 1}) {
    const MicroBatch batch = micro_batch_of(tokens.narrow(0, 0, rows), marks_of_rows(rows));
    EXPECT_TRUE(at::equal(batch.tokens, tokens.narrow(0, 0, rows).narrow(1, 0, 19))) << "tokens stay";
    at::Tensor expected = tokens.narrow(0, 0, rows).narrow(1, 1, 19).clone();
    for (std::int64_t row = 0; row < rows; ++row)
      for (const std::int64_t start : kStarts[static_cast<std::size_t>(row)]) expected[row][start - 1] = kNoTarget;
    EXPECT_TRUE(at::equal(batch.targets, expected));
  }
}

// The logits of packed rows and the gradients of their losses are those of the documents, each alone in a batch.
TEST(Documents, APackedRowEqualsItsDocumentsAlone) {
  use_one_thread();
  for (const bool other : {false, true}) {
    recipe::ModelDims dims = tiny_dims(other);
    dims.qkv_bias = dims.qk_norm = other;
    const recipe::RunPlan plan = make_plan(dims, {}, 1);
    Stage stage(plan, 0, kSeqLen);
    stage.init_weights(11);
    const MicroBatch batch = micro_batch_of(tokens_of(plan, 1, 0), marks_of_rows(2));
    const Documents documents = documents_of(kStarts, kSeqLen, stage.rope());
    const at::Tensor logits = run_all(stage, batch.tokens, documents);
    const HeadLoss head = [&] {
      at::Tensor x = batch.tokens;
      for (std::size_t i = 0; i < stage.segments(); ++i) x = stage.run(i, x, nullptr, documents);
      return stage.loss(x, batch.targets, 1);
    }();

    const at::Tensor flat_logits = logits.flatten(0, 1), tokens = batch.tokens.flatten(),
                     targets = batch.targets.flatten();
    std::vector<at::Tensor> alone, losses;
    std::int64_t begin = 0;
    for (const std::int64_t length : documents.lengths) {
      const at::Tensor of_one = run_all(stage, tokens.narrow(0, begin, length).unsqueeze(0), {});
      EXPECT_TRUE(at::allclose(flat_logits.narrow(0, begin, length), of_one[0], 0, 1e-5)) << begin;
      const at::Tensor kept = targets.narrow(0, begin, length) != kNoTarget;
      alone.push_back(of_one[0].masked_select(kept.unsqueeze(1)).view({-1, of_one.size(2)}));
      begin += length;
    }
    const at::Tensor all = at::cat(alone), wanted = targets.masked_select(targets != kNoTarget);
    EXPECT_EQ(wanted.size(0), 2 * kSeqLen - 5);
    const at::Tensor expected_losses = composite::token_losses(all.unsqueeze(0), wanted.unsqueeze(0));
    EXPECT_NEAR(ordered_sum(head.losses), ordered_sum(expected_losses), 1e-4);
    EXPECT_NEAR(ordered_sum(stage.exact_losses(
                    [&] {
                      const at::NoGradGuard no_grad;
                      at::Tensor x = batch.tokens;
                      for (std::size_t i = 0; i < stage.segments(); ++i) x = stage.run(i, x, nullptr, documents);
                      return x;
                    }(),
                    batch.targets, true)),
                ordered_sum(expected_losses), 1e-4);

    const std::vector<at::Tensor> leaves = leaves_of(stage);
    const at::Tensor packed = at::nll_loss(at::log_softmax(flat_logits, 1), targets, {}, at::Reduction::Sum, kNoTarget);
    const auto grads = torch::autograd::grad({packed}, leaves, {}, {}, false, true);
    const auto expected = torch::autograd::grad({expected_losses.sum()}, leaves, {}, {}, false, true);
    for (std::size_t i = 0; i < leaves.size(); ++i) {
      ASSERT_EQ(grads[i].defined(), expected[i].defined()) << stage.parameters()[i].name;
      if (!grads[i].defined()) continue;
      EXPECT_TRUE(at::allclose(grads[i], expected[i], 1e-4, 1e-5)) << stage.parameters()[i].name;
    }
  }
}

// What one document of a row is has no effect on the bits of another.
TEST(Documents, NothingOfADocumentReachesAnother) {
  use_one_thread();
  const recipe::RunPlan plan = make_plan(tiny_dims(), {}, 1);
  Stage stage(plan, 0, kSeqLen);
  stage.init_weights(3);
  const at::NoGradGuard no_grad;
  const at::Tensor tokens = tokens_of(plan, 1, 0).narrow(1, 0, kSeqLen).contiguous();
  at::Tensor other = tokens.clone();
  other[0].narrow(0, 1, 7).fill_(5);
  const Documents documents = documents_of(kStarts, kSeqLen, stage.rope());
  const at::Tensor a = run_all(stage, tokens, documents), b = run_all(stage, other, documents);
  EXPECT_TRUE(at::equal(a[0].narrow(0, 8, 11), b[0].narrow(0, 8, 11)));
  EXPECT_TRUE(at::equal(a[1], b[1]));
  EXPECT_FALSE(at::equal(a[0], b[0]));
}

}  // namespace
}  // namespace titan::train::document_attention_test
