#include "recipe/keys/rows.h"

#include <gmock/gmock.h>

#include "ckpt/base/fs_posix.h"
#include "ckpt/plan/lr_settings.h"
#include "recipe/plan/plan_values.h"
#include "tests/recipe/support/config_support.h"
#include "tests/support/scratch_dir.h"

namespace titan::recipe::rows_test {
namespace {

using ckpt::Settings;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

TEST(Rows, AFileIsRowsWhateverItsKeysAre) {
  const train::ScratchDir dir;
  dir.write("c.toml", "[b]\nx = 1_000\nlist = [1, \"a\"]\n[b.empty]\n[a]\ny = 1e-3\nz = 'q\"'\n");
  const auto rows = read_rows(ckpt::posix_fs(), dir / "c.toml");
  ASSERT_TRUE(rows.ok()) << rows.status().to_string();
  EXPECT_THAT(*rows, ElementsAre(Pair("a.y", "0.001"), Pair("a.z", "\"q\\\"\""), Pair("b.list", "[1, \"a\"]"),
                                 Pair("b.x", "1000")));
  EXPECT_EQ(read_rows(ckpt::posix_fs(), dir / "none.toml").status().code, ckpt::Code::kInvalid);
}

TEST(Rows, AnOverrideIsTomlOrAPlainWord) {
  EXPECT_THAT(*parse_row("a.b=1e-3"), Pair("a.b", "0.001"));
  EXPECT_THAT(*parse_row("a.b=llama3:8"), Pair("a.b", "\"llama3:8\""));
  EXPECT_THAT(*parse_row("a.b-c=1\nx = 2"), Pair("a.b_c", "\"1\\nx = 2\""));
  for (const char* bad : {"a.b", "a.b=", "b=1", "=1"})
    EXPECT_EQ(parse_row(bad).status().message, "`--set " + std::string(bad) + "`: expected section.key=value");
}

// What `run`, `plan`, `lr show --config` and `convert --config` make of one file.
TEST(Rows, ACurveIsThatOfTheStrictReader) {
  const char* text =
      "[training]\nsteps = 70\nwarmup_steps = 7\n[optimizer]\nlr = 3e-4\n[lr_scheduler]\nlr_min = 0.1\n"
      "decay_type = \"cosine\"\ndecay_ratio = 0.5\n";
  const train::ScratchDir dir;
  dir.write("c.toml", text);
  const auto rows = read_rows(ckpt::posix_fs(), dir / "c.toml");
  const auto config = config_of_rows(*rows, lr_keys());
  ASSERT_TRUE(config.ok()) << config.status().to_string();
  EXPECT_EQ(lr_settings(*config), lr_settings(load_ok(text).config));
  EXPECT_EQ(lr_settings(*config).total_steps, 70u);
  EXPECT_EQ(lr_settings(*config).min_lr_factor, 0.1);
}

TEST(Rows, TheKeysOfTheCurveAreThoseThatAreCompared) {
  std::vector<std::string> rows;
  for (const auto& [key, value] : ckpt::lr_rows({})) rows.push_back(key);
  std::vector<std::string> keys = lr_keys();
  std::erase(keys, "training.steps");  // acts through lr_scheduler.total_steps
  EXPECT_THAT(keys, testing::UnorderedElementsAreArray(rows));
}

TEST(Rows, OtherProgramsKnowOtherWordsButNoOtherCurve) {
  const Settings theirs{{"model.flavor", "\"mine\""}, {"optimizer.name", "\"Adam\""}, {"training.compile", "true"}};
  const auto config = config_of_rows(theirs, {"model.flavor", "optimizer.name"});
  ASSERT_TRUE(config.ok()) << config.status().to_string();
  EXPECT_EQ(config->model.flavor, "mine");
  EXPECT_EQ(config->optimizer.name, "Adam");
  const auto refused = [](const char* key, const char* value) {
    return config_of_rows({{key, value}}, {key}).status().message;
  };
  EXPECT_THAT(refused("lr_scheduler.decay_type", "\"stairs\""), HasSubstr("expected one of \"linear\""));
  EXPECT_THAT(refused("optimizer.lr", "-1.0"), HasSubstr("optimizer.lr: expected a float from 0"));
  EXPECT_THAT(refused("training.seq_len", "\"long\""), HasSubstr("expected an integer from 1"));
}

TEST(Rows, AKeyIsSaidByItsNameByAnAliasOrByTheKeyItFollows) {
  EXPECT_EQ(stored_key({{"lr_scheduler.lr_min", "0.1"}}, "lr_scheduler.min_lr_factor"), "lr_scheduler.lr_min");
  EXPECT_EQ(stored_key({{"training.steps", "5"}}, "lr_scheduler.total_steps"), "training.steps");
  EXPECT_EQ(stored_key({{"lr_scheduler.total_steps", "9"}, {"training.steps", "5"}}, "lr_scheduler.total_steps"),
            "lr_scheduler.total_steps");
  EXPECT_EQ(stored_key({{"optimizer.lr", "not set"}}, "optimizer.lr"), "");
}

}  // namespace
}  // namespace titan::recipe::rows_test
