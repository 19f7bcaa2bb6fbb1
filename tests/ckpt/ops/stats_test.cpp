#include "ckpt/ops/stats.h"

#include <gtest/gtest.h>

#include "tests/support/make_checkpoint.h"
#include "tests/support/mem_fs.h"

namespace titan::ckpt::stats_test {
namespace {

using testing::make_checkpoint;
using testing::MemFs;
using testing::Synthetic;

std::vector<TensorStats> statistics(MemFs& fs, const Synthetic& options, unsigned threads) {
  const auto published = make_checkpoint(fs, "/run/checkpoint", options);
  EXPECT_TRUE(published.ok()) << published.status().to_string();
  const Result<InspectReport> report = inspect_checkpoint(fs, published->path);
  const auto stats = tensor_statistics(fs, report->path, tensor_rows(report->manifest), {.threads = threads});
  EXPECT_TRUE(stats.ok()) << stats.status().to_string();
  return stats.ok() ? *stats : std::vector<TensorStats>{};
}

TEST(TensorStatistics, AreTheSameBitsOnEveryLayoutWithAnyNumberOfThreads) {
  MemFs first;
  const std::vector<TensorStats> one = statistics(first, {}, 1);
  ASSERT_EQ(one.size(), 63u);
  for (const auto& [dp, pp, threads] :
       std::vector<std::tuple<std::uint32_t, std::uint32_t, unsigned>>{{1, 1, 5}, {3, 2, 1}, {4, 3, 8}}) {
    MemFs fs;
    EXPECT_EQ(statistics(fs, {.dp = dp, .pp = pp}, threads), one) << dp << "x" << pp << ", " << threads << " threads";
  }
}

TEST(TensorStatistics, CoverEveryElementOnce) {
  MemFs fs;
  const std::vector<TensorStats> stats = statistics(fs, {.changes = {{"norm.weight", 3, 7.0}}}, 3);
  const Result<InspectReport> report = inspect_checkpoint(fs, "/run@10");
  const std::vector<TensorRow> rows = tensor_rows(report->manifest);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(stats[i].elements, element_count(rows[i].shape)) << rows[i].name;
    if (rows[i].name == "norm.weight") {
      EXPECT_GT(stats[i].max, 6);
    } else {
      EXPECT_LT(stats[i].max, 1) << rows[i].name;
    }
  }
}

TEST(TensorStatistics, FailsOnADamagedLeafAndNamesIt) {
  MemFs fs;
  (void)statistics(fs, {}, 1);
  const std::string shard = "/run/checkpoint/step-00000010/model/shard-00000.h5";
  ASSERT_TRUE(fs.overwrite(shard, fs.stat(shard)->size / 2, std::vector<std::byte>(4096)).ok());
  const Result<InspectReport> report = inspect_checkpoint(fs, "/run@10");
  const auto stats = tensor_statistics(fs, report->path, tensor_rows(report->manifest));
  EXPECT_EQ(stats.status().code, Code::kCorrupt);
  EXPECT_NE(stats.status().message.find("leaf"), std::string::npos) << stats.status().message;
}

}  // namespace
}  // namespace titan::ckpt::stats_test
