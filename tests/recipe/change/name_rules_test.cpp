#include "recipe/change/name_rules.h"

#include <gmock/gmock.h>

#include "recipe/keys/config.h"
#include "tests/support/files.h"
#include "tests/support/mem_fs.h"

namespace titan::recipe::name_rules_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

NameRules parsed(std::string_view text) {
  const auto rules = parse_name_rules(text, "rules.toml");
  EXPECT_TRUE(rules.ok()) << rules.status().to_string();
  return rules.ok() ? *rules : NameRules{};
}

TEST(NameRules, ReadsEveryKindOfRule) {
  const NameRules rules = parsed(
      "skip = [\"teacher.*\"]\ncreate = [\"output.weight\"]\nrows = \"hf\"\n[rename]\n\"a.*.wq\" = "
      "\"b.*.attention.wq\"\n");
  EXPECT_THAT(rules.skip, ElementsAre("teacher.*"));
  EXPECT_THAT(rules.create, ElementsAre("output.weight"));
  EXPECT_EQ(rules.rows, HeadRows::kRotateHalf);
  EXPECT_EQ(renamed("a.7.wq", rules), "b.7.attention.wq");
  EXPECT_EQ(renamed("a.7.8.wq", rules), "a.7.8.wq") << "* of a rename stops at dots";
  EXPECT_TRUE(any_match(rules.skip, "teacher.layers.0.wq"));
  EXPECT_EQ(parsed("rows = \"interleaved\"").rows, HeadRows::kInterleaved);
  EXPECT_TRUE(NameRules{}.empty());
}

TEST(NameRules, FlagsGiveRulesAndStandBeforeThoseOfTheFile) {
  ckpt::testing::MemFs fs;
  ASSERT_TRUE(ckpt::testing::put_text(fs, "/rules.toml",
                                      "skip = [\"a.*\"]\ncreate = [\"c\"]\nrows = \"hf\"\n[rename]\nx = \"file\"\n")
                  .ok());
  Config config;
  EXPECT_FALSE(gives_rules(config));
  EXPECT_TRUE(given_rules(fs, config)->empty());
  config.checkpoint.initial_load_rename = {"x=flag", "l.*.q=l.*.w=1"};
  config.checkpoint.initial_load_skip = {"b.*"};
  EXPECT_TRUE(gives_rules(config));
  config.checkpoint.initial_load_map = "/rules.toml";
  const auto rules = given_rules(fs, config);
  ASSERT_TRUE(rules.ok()) << rules.status().to_string();
  EXPECT_EQ(renamed("x", *rules), "flag");
  EXPECT_EQ(renamed("l.0.q", *rules), "l.0.w=1") << "the first sign divides";
  EXPECT_THAT(rules->skip, ElementsAre("b.*", "a.*"));
  EXPECT_THAT(rules->create, ElementsAre("c"));
  EXPECT_EQ(rules->rows, HeadRows::kRotateHalf);
  config.checkpoint.initial_load_rows = "interleaved";
  EXPECT_EQ(given_rules(fs, config)->rows, HeadRows::kInterleaved);
  for (const char* rule : {"x", "=x", "x=", "a.*=b"}) {
    config.checkpoint.initial_load_rename = {rule};
    EXPECT_EQ(given_rules(fs, config).status().code, ckpt::Code::kInvalid) << rule;
  }
}

TEST(NameRules, RefusesAFileThatHasNone) {
  for (const char* text : {"skip = \"x\"", "skip = [1]", "rows = \"halves\"", "rows = 1", "other = 1",
                           "[rename]\na = 1", "[rename]\n\"a.*\" = \"b\"", "not toml"})
    EXPECT_EQ(parse_name_rules(text, "rules.toml").status().code, ckpt::Code::kInvalid) << text;
}

// Wherever a name says in which layout a projection is, a rename out of it must say how rows lie.
TEST(NameRules, RowsOfQueriesAndKeysMustBeSaidBetweenLayouts) {
  const std::pair<const char*, const char*> kCrossing[] = {
      {"model.layers.0.self_attn.q_proj.weight", "layers.0.attention.wq.weight"},
      {"model.layers.0.self_attn.k_proj.bias", "layers.0.attention.wk.bias"},
      {"layers.0.attention.wq.weight", "model.layers.0.self_attn.q_proj.weight"},
      {"h.0.attn.q_proj.base_layer.weight", "layers.0.attention.wq.weight"},
      {"optimizer.state.x.0.k_proj.weight.exp_avg", "optimizer.state.layers.0.attention.wk.weight.exp_avg"},
      {"h.0.attn.query.weight", "layers.0.attention.wq.weight"},
  };
  NameRules said;
  said.rows = HeadRows::kRotateHalf;
  for (const auto& [from, to] : kCrossing) {
    EXPECT_THAT(unknown_row_order(from, to, {}), HasSubstr(to)) << from;
    EXPECT_THAT(unknown_row_order(from, to, said), IsEmpty()) << from;
  }
  const std::pair<const char*, const char*> kWithin[] = {
      {"decoder.0.wq", "layers.0.attention.wq.weight"},
      {"student.layers.0.self_attn.q_proj.weight", "model.layers.0.self_attn.q_proj.weight"},
      {"model.layers.0.self_attn.v_proj.weight", "layers.0.attention.wv.weight"},
      {"model.layers.0.self_attn.q_proj.weight", "unknown"},
  };
  for (const auto& [from, to] : kWithin) EXPECT_THAT(unknown_row_order(from, to, {}), IsEmpty()) << from;
  EXPECT_TRUE(has_head_rows("layers.0.attention.wk.bias"));
  EXPECT_FALSE(has_head_rows("layers.0.attention.wv.weight"));
}

TEST(NameRules, ThoseThatDoNothingAreNamed) {
  const NameRules rules =
      parsed("skip = [\"h.1.*\", \"no.*\"]\n[rename]\n\"h.*.a\" = \"g.*\"\n\"h.0.a\" = \"x\"\n\"typo\" = \"y\"\n");
  EXPECT_THAT(unused_rules({"h.0.a", "h.1.a"}, rules),
              ElementsAre("rule skip \"no.*\" matches nothing",
                          "rule rename \"h.0.a\" does nothing: skip and the renames before it take all that it matches",
                          "rule rename \"typo\" matches nothing"));
}

}  // namespace
}  // namespace titan::recipe::name_rules_test
