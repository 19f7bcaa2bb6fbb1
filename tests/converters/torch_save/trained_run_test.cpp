// A run of another trainer: whose settings the groups of its optimizer are.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ckpt/plan/lr_settings.h"
#include "converters/torch_save/trained_source.h"
#include "tests/converters/torch_save/spelled.h"
#include "tests/support/mem_fs.h"

namespace titan::convert::trained_run_test {
namespace {

using ckpt::Code;
using ckpt::testing::MemFs;
using ::testing::HasSubstr;

const GroupValues kDecayed{0.5, 0.9, 0.95, 1e-8, 0.1, {}}, kUndecayed{0.5, 0.9, 0.95, 1e-8, 0, {}};

// Two parameters, "a" and "n" in the trainer's files.
class Source final : public TrainedSource {
 public:
  explicit Source(Fs& fs) : TrainedSource(fs, "/s") {
    add_part("a", add_pieced({"a", DType::kF32, {4, 4}, {}}), 0, {4, 4});
    add_part("n", add_pieced({"n", DType::kF32, {4}, {}}), 0, {4});
    end_of_model();
  }
  Result<ImportPlan> plan(const ImportOptions&) const override { return ckpt::unsupported("no plan"); }
  Status take(std::map<std::string, GroupValues> of, const std::string& rules, std::optional<double> clip = {},
              std::optional<std::uint64_t> length = {}) const {
    Settings run{{"lr_scheduler.min_lr_factor", "1.0"}, {"lr_scheduler.warmup_steps", "1"}, {"optimizer.lr", "0.5"},
                 {"training.global_batch_size", "2"},   {"training.seq_len", "7"},          {"training.steps", "9"}};
    if (!rules.empty()) run = ckpt::with_rows(run, {{"optimizer.rules", rules}});
    ImportPlan plan;
    plan.parameters = {{"layers.0.attention.wq.weight", {4, 4}, 0}, {"norm.weight", {4}, 0}};
    plan.tensors = {{{0, ""}, 0}, {{1, ""}, 1}};
    plan.step = 3;
    plan.optimizer_steps = {3, 3};
    RunFacts facts;
    facts.of = std::move(of);
    facts.clip = clip;
    facts.length = length;
    return take_run(run, facts, plan);
  }
};

TEST(TrainedRun, EachParameterHasTheSettingsOfItsGroup) {
  MemFs fs;
  const Source source(fs);
  const auto all = source.take({{"a", kDecayed}, {"n", kDecayed}}, "");
  EXPECT_TRUE(all.ok()) << all.to_string();
  const Status refused = source.take({{"a", kDecayed}, {"n", kUndecayed}}, "");
  EXPECT_EQ(refused.code, Code::kIncompatible);
  EXPECT_THAT(refused.message, HasSubstr("the optimizer's weight_decay of norm.weight is 0.0"));
  EXPECT_THAT(refused.hint, HasSubstr("optimizer.rules="));
  const std::string rules = "[\"*norm* weight_decay=0\"]";
  EXPECT_TRUE(source.take({{"a", kDecayed}, {"n", kUndecayed}}, rules).ok()) << "what the hint says";
  EXPECT_FALSE(source.take({{"a", kUndecayed}, {"n", kDecayed}}, rules).ok()) << "the other way round";
  EXPECT_THAT(source.take({{"a", kDecayed}}, "").message, HasSubstr("no group of the optimizer has 'n'"));
  GroupValues uncorrected = kDecayed;
  uncorrected.bias_correction = false;
  EXPECT_THAT(source.take({{"a", uncorrected}, {"n", kDecayed}}, "").message, HasSubstr("no bias correction"));
}

TEST(TrainedRun, ClippingAndSequencesAreThoseOfTheConfiguration) {
  MemFs fs;
  const Source source(fs);
  const std::map<std::string, GroupValues> of{{"a", kDecayed}, {"n", kDecayed}};
  EXPECT_TRUE(source.take(of, "", 1.0, 7).ok());
  const Status clip = source.take(of, "", 0.5);
  EXPECT_THAT(clip.message, HasSubstr("clips gradients to the 2-norm 0.5, but training.max_norm"));
  EXPECT_EQ(clip.hint, "add: --set training.max_norm=0.5");
  const Status length = source.take(of, "", {}, 8);
  EXPECT_EQ(length.code, Code::kIncompatible);
  EXPECT_EQ(length.hint, "add: --set training.seq_len=8");
}

// The decay of each of `count` parameters; `members`: what each group numbers, nothing for one without numbers.
Result<std::vector<double>> decays(const std::vector<std::pair<double, std::vector<ItemValue>>>& groups,
                                   std::size_t count) {
  testing::Spelled file;
  std::vector<ItemValue> list;
  for (const auto& [decay, members] : groups) {
    ItemValue group{ItemValue::Kind::kDict, 0, 0, {}, {}};
    const auto put = [&](const std::string& key, const ItemValue& value) {
      group.parts.push_back(ItemValue::of(key));
      group.parts.push_back(value);
    };
    put("lr", ItemValue::of(0.5));
    put("eps", ItemValue::of(1e-8));
    put("weight_decay", ItemValue::of(decay));
    put("betas", ItemValue::tuple({ItemValue::of(0.9), ItemValue::of(0.95)}));
    if (!members.empty()) put("params", ItemValue::list(members));
    list.push_back(group);
  }
  file.out.value(ItemValue::list(list));
  MemFs fs;
  EXPECT_TRUE(ckpt::testing::put_text(fs, "/g.pt", std::move(file).file()).ok());
  TITAN_ASSIGN_OR_RETURN(const TorchFile opened, TorchFile::open(fs, "/g.pt"));
  TITAN_ASSIGN_OR_RETURN(const std::vector<GroupValues> values, read_groups(opened, opened.pickle().root(), count));
  std::vector<double> out;
  for (const GroupValues& one : values) out.push_back(one.weight_decay);
  return out;
}

TEST(TrainedRun, GroupsNumberTheirParameters) {
  const auto number = [](std::int64_t value) { return ItemValue::of(value); };
  EXPECT_EQ(*decays({{0.1, {number(0), number(2)}}, {0, {number(1)}}}, 3), (std::vector<double>{0.1, 0, 0.1}));
  EXPECT_EQ(*decays({{0.1, {}}, {0, {}}}, 2), (std::vector<double>{0.1, 0}));
  EXPECT_EQ(*decays({{0.1, {}}}, 3), (std::vector<double>{0.1, 0.1, 0.1})) << "one for all";
  EXPECT_EQ(decays({{0.1, {}}, {0, {}}}, 3).status().code, Code::kIncompatible);
  EXPECT_EQ(decays({{0.1, {number(0)}}, {0, {number(2)}}}, 2).status().code, Code::kIncompatible);
  EXPECT_EQ(decays({{0.1, {number(0)}}, {0, {number(0)}}}, 2).status().code, Code::kCorrupt);
  EXPECT_EQ(decays({{0.1, {number(-1)}}}, 1).status().code, Code::kCorrupt);
}

}  // namespace
}  // namespace titan::convert::trained_run_test
