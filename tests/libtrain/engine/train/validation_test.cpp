#include "libtrain/engine/train/validation.h"

#include <gtest/gtest.h>

#include "recipe/keys/config.h"
#include "tests/libtrain/support/tiny_model.h"
#include "tests/support/scratch_dir.h"

namespace titan::test::validation_test {
namespace {

constexpr std::int64_t kSamples = 5;

/// A stop that one rank hears of at its `ask`-th look, from 0 on.
struct StopAt {
  int rank = -1;
  int ask = 0;
};

/// The mean loss of kSamples validation samples, computed `rows` at a time on `layout`. Where a rank is to stop, first
/// a validation is left by all ranks.
double mean_loss(const std::string& text, const Layout& layout, std::int64_t rows, std::int64_t steps = -1,
                 StopAt stop = {}) {
  recipe::ModelDims dims = tiny_dims();
  dims.vocab_size = 256;
  recipe::RunPlan plan = make_plan(dims, layout, 4);
  recipe::Config config;
  config.training.dataset = "text";
  config.training.dataset_path = text;
  config.training.seq_len = kSeqLen;
  config.validation.enable = true;
  config.validation.dataset_path = text;
  config.validation.local_batch_size = rows;
  config.validation.steps = steps;
  std::mutex mutex;
  double loss = 0;
  run_ranks(plan.mesh, [&](train::World& world) {
    const auto dataset = train::Dataset::open(config, 1, 256);
    if (!dataset.ok()) throw std::runtime_error(dataset.status().to_string());
    if ((*dataset)->validation_samples() != kSamples) throw std::runtime_error("not five samples");
    train::Stage stage(plan, world.stage, kSeqLen);
    stage.init_weights(7);
    train::Executor executor(world, plan, {&stage}, table_of(plan, world));
    if (stop.rank >= 0) {
      int asked = 0;
      const auto left = train::run_validation(world, executor, **dataset, config,
                                              [&] { return world.rank == stop.rank && asked++ == stop.ask; });
      EXPECT_FALSE(left) << "rank " << world.rank << " of a stop at look " << stop.ask << " of rank " << stop.rank;
    }
    const train::ValidationResult result =
        train::run_validation(world, executor, **dataset, config, [] { return false; }).value();
    const std::lock_guard lock(mutex);
    if (world.rank != 0) return;
    loss = result.loss;
    EXPECT_EQ(result.tokens,
              static_cast<std::uint64_t>((steps < 0 ? kSamples : std::min(kSamples, steps * rows)) * kSeqLen));
  });
  return loss;
}

TEST(Validation, IsTheMeanOfAllSamplesHoweverTheyFillTheBatches) {
  use_one_thread();
  const train::ScratchDir dir;
  std::string content;
  for (std::int64_t i = 0; i < kSamples * kSeqLen + 1; ++i) content += static_cast<char>('a' + i * i % 23);
  const std::string text = dir.write("text.txt", content);
  const double one_by_one = mean_loss(text, {}, 1);
  EXPECT_GT(one_by_one, 1);
  // The last batch of 2, 3 and 4 is not full: what fills it up does not count.
  for (const std::int64_t rows : {2, 3, 4, 5, 8})
    EXPECT_NEAR(mean_loss(text, {}, rows), one_by_one, 1e-6) << rows << " rows";
  EXPECT_NEAR(mean_loss(text, {2, {}}, 2), one_by_one, 1e-6) << "two ranks";
  EXPECT_NEAR(mean_loss(text, {1, {2}}, 4), one_by_one, 1e-6) << "two stages";
  EXPECT_NE(mean_loss(text, {}, 2, 1), one_by_one) << "validation.steps = 1: two samples of the five";
}

TEST(Validation, IsLeftByAllRanksOnceOneIsToStop) {
  use_one_thread();
  const train::ScratchDir dir;
  std::string content;
  for (std::int64_t i = 0; i < kSamples * kSeqLen + 1; ++i) content += static_cast<char>('a' + i * i % 23);
  const std::string text = dir.write("text.txt", content);
  const double whole = mean_loss(text, {}, 1);
  // What was under way is gone: the validation after it has its loss. Ranks have 3 and 2 batches, or 5 each.
  for (const Layout& layout : {Layout{2, {}}, Layout{1, {2}}})
    for (const int rank : {0, 1})
      for (const int ask : {0, 1}) EXPECT_NEAR(mean_loss(text, layout, 1, -1, {rank, ask}), whole, 1e-6);
}

}  // namespace
}  // namespace titan::test::validation_test
