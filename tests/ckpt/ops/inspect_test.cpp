#include "ckpt/ops/inspect.h"

#include <gmock/gmock.h>

#include "tests/support/make_checkpoint.h"
#include "tests/support/mem_fs.h"

namespace titan::ckpt::inspect_test {
namespace {

using ::testing::ElementsAre;
using testing::make_checkpoint;
using testing::MemFs;

std::vector<std::string> names(const std::vector<TensorRow>& rows) {
  std::vector<std::string> out;
  for (const TensorRow& row : rows) out.push_back(row.name);
  return out;
}

class InspectTest : public ::testing::Test {
 protected:
  InspectReport inspect(const testing::Synthetic& options) {
    const Result<Published> published = make_checkpoint(fs_, "/run/checkpoint", options);
    EXPECT_TRUE(published.ok()) << published.status().to_string();
    const Result<InspectReport> report = inspect_checkpoint(fs_, "/run@" + std::to_string(options.step));
    EXPECT_TRUE(report.ok()) << report.status().to_string();
    return *report;
  }
  MemFs fs_;
};

TEST_F(InspectTest, ListsModelThenOptimizerInModelOrder) {
  const InspectReport report = inspect({.dp = 2, .pp = 2, .layers = 1});
  const std::vector<TensorRow> rows = tensor_rows(report.manifest);
  ASSERT_EQ(rows.size(), 3 * report.manifest.parameters.size());
  EXPECT_EQ(rows.front().name, "tok_embeddings.weight");
  EXPECT_EQ(rows.front().component, "model");
  EXPECT_EQ(rows.front().leaves, 5u);
  EXPECT_EQ(rows.front().bytes, 67u * 16 * 4);
  EXPECT_EQ(rows.back().name, "output.weight.exp_avg_sq");
  EXPECT_EQ(rows.back().component, "optimizer");
  EXPECT_EQ(rows.back().stage, 1u);
}

TEST_F(InspectTest, MatchesShellPatternsAcrossDots) {
  const std::vector<TensorRow> rows = tensor_rows(inspect({.layers = 1}).manifest);
  EXPECT_THAT(names(matching_rows(rows, "norm.weight")), ElementsAre("norm.weight"));
  EXPECT_THAT(names(matching_rows(rows, "layers.0.*w[12].weight")),
              ElementsAre("layers.0.feed_forward.w1.weight", "layers.0.feed_forward.w2.weight"));
  EXPECT_THAT(names(matching_rows(rows, "norm.weight.exp_av?")), ElementsAre("norm.weight.exp_avg"));
  EXPECT_EQ(matching_rows(rows, "*").size(), rows.size());
  EXPECT_TRUE(matching_rows(rows, "norm").empty());
}

TEST_F(InspectTest, SumsUpEveryStage) {
  const std::vector<StageSummary> stages = stage_summaries(inspect({.pp = 4}).manifest);
  ASSERT_EQ(stages.size(), 4u);
  std::uint64_t elements = 0;
  for (const StageSummary& stage : stages) elements += stage.elements;
  EXPECT_EQ(elements, 6576u);
  EXPECT_EQ(stages[0].first, "tok_embeddings.weight");
  EXPECT_EQ(stages[3].last, "output.weight");
}

TEST_F(InspectTest, NeedsNoTensorByte) {
  const InspectReport before = inspect({});
  for (const FileEntry& file : before.manifest.files)
    if (file.role == FileRole::kShard) {
      const std::vector<std::byte> zeros(file.bytes);
      ASSERT_TRUE(fs_.overwrite(before.path + "/" + file.path, 0, zeros).ok());
    }
  const Result<InspectReport> after = inspect_checkpoint(fs_, "/run@latest");
  ASSERT_TRUE(after.ok()) << after.status().to_string();
  EXPECT_EQ(after->manifest, before.manifest);
  EXPECT_EQ(after->lr, before.lr);
  EXPECT_EQ(after->data, before.data);
  EXPECT_EQ(after->train, before.train);
}

TEST_F(InspectTest, RefusesMissingAndDamagedCheckpoints) {
  EXPECT_EQ(inspect_checkpoint(fs_, "/run@10").status().code, Code::kNotFound);
  const InspectReport report = inspect({});
  ASSERT_TRUE(fs_.overwrite(report.path + "/lr_scheduler.json", 3, std::vector<std::byte>(1)).ok());
  EXPECT_EQ(inspect_checkpoint(fs_, report.path).status().code, Code::kCorrupt);
}

}  // namespace
}  // namespace titan::ckpt::inspect_test
