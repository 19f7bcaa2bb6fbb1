// A run of another trainer: the groups of its optimizer that do not say whose they are.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ckpt/plan/lr_settings.h"
#include "converters/torch_save/trained_source.h"
#include "tests/support/mem_fs.h"

namespace titan::convert::trained_run_test {
namespace {

using ckpt::testing::MemFs;
using ::testing::HasSubstr;

class Source final : public TrainedSource {
 public:
  explicit Source(Fs& fs) : TrainedSource(fs, "/s") {}
  Result<ImportPlan> plan(const ImportOptions&) const override { return ckpt::unsupported("no plan"); }
  Status take(const std::set<GroupValues>& groups, const std::string& rules) const {
    Settings run{{"lr_scheduler.min_lr_factor", "1.0"}, {"lr_scheduler.warmup_steps", "1"}, {"optimizer.lr", "0.5"},
                 {"training.global_batch_size", "2"},   {"training.seq_len", "7"},          {"training.steps", "9"}};
    if (!rules.empty()) run = ckpt::with_rows(run, {{"optimizer.rules", rules}});
    ImportPlan plan;
    plan.parameters = {{"layers.0.attention.wq.weight", {4, 4}, 0}, {"norm.weight", {4}, 0}};
    plan.step = 3;
    plan.optimizer_steps = {3, 3};
    RunFacts facts;
    facts.groups = groups;
    return take_run(run, facts, plan);
  }
};

TEST(TrainedRun, AGroupWithoutNamesIsThatOfSomeParameter) {
  MemFs fs;
  const Source source(fs);
  const GroupValues decayed{0.5, 0.9, 0.95, 1e-8, 0.1, {}}, undecayed{0.5, 0.9, 0.95, 1e-8, 0, {}};
  EXPECT_TRUE(source.take({decayed}, "").ok()) << source.take({decayed}, "").to_string();
  const Status refused = source.take({decayed, undecayed}, "");
  EXPECT_EQ(refused.code, ckpt::Code::kIncompatible);
  EXPECT_THAT(refused.hint, HasSubstr("optimizer.rules="));
  EXPECT_TRUE(source.take({decayed, undecayed}, "[\"*norm* weight_decay=0\"]").ok()) << "what the hint says";
  EXPECT_FALSE(source.take({decayed, undecayed}, "[\"*norm* weight_decay=0.2\"]").ok());
}

}  // namespace
}  // namespace titan::convert::trained_run_test
