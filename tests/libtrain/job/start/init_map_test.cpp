#include "libtrain/job/start/init_map.h"

#include <gmock/gmock.h>

#include "ckpt/base/fs_posix.h"

namespace titan::train::init_map_test {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

const std::vector<ckpt::ParameterMeta> kModel = {{"tok_embeddings.weight", {256, 8}},
                                                 {"layers.0.attention.wq.weight", {8, 8}},
                                                 {"layers.1.attention.wq.weight", {8, 8}},
                                                 {"output.weight", {256, 8}}};

std::vector<ckpt::WeightInfo> same_names() {
  std::vector<ckpt::WeightInfo> weights;
  for (const ckpt::ParameterMeta& p : kModel) weights.push_back({p.name, ckpt::DType::kF32, p.shape});
  return weights;
}

recipe::NameRules parsed(std::string_view text) {
  const auto map = recipe::parse_name_rules(text, "map.toml");
  EXPECT_TRUE(map.ok()) << map.status().to_string();
  return map.ok() ? *map : recipe::NameRules{};
}

TEST(InitMap, WithoutRulesNamesAreTheSame) {
  const auto match = match_weights(same_names(), kModel, {});
  ASSERT_TRUE(match.ok()) << match.status().to_string();
  EXPECT_EQ(match->loaded.size(), 4u);
  EXPECT_THAT(match_lines(*match, same_names(), kModel), ElementsAre("weights: 4 loaded, 0 skipped, 0 created"));
}

TEST(InitMap, RenamesSkipsAndCreates) {
  const recipe::NameRules map = parsed(
      "skip = [\"teacher.*\", \"old_head\"]\ncreate = [\"output.*\"]\n[rename]\n\"model.*.wq\" = "
      "\"layers.*.attention.wq.weight\"\n\"embed\" = \"tok_embeddings.weight\"\n");
  const std::vector<ckpt::WeightInfo> weights = {{"embed", ckpt::DType::kBF16, {256, 8}},
                                                 {"model.1.wq", ckpt::DType::kF32, {8, 8}},
                                                 {"model.0.wq", ckpt::DType::kF32, {8, 8}},
                                                 {"teacher.layers.0", ckpt::DType::kF32, {1}},
                                                 {"old_head", ckpt::DType::kF32, {9, 8}}};
  const auto match = match_weights(weights, kModel, map);
  ASSERT_TRUE(match.ok()) << match.status().to_string();
  EXPECT_THAT(match_lines(*match, weights, kModel),
              ElementsAre("weights: 3 loaded, 2 skipped, 1 created", "  loaded   embed as tok_embeddings.weight",
                          "  loaded   model.1.wq as layers.1.attention.wq.weight",
                          "  loaded   model.0.wq as layers.0.attention.wq.weight", "  skipped  teacher.layers.0 [1]",
                          "  skipped  old_head [9, 8]", "  created  output.weight [256, 8]"));
}

TEST(InitMap, AWildcardOfARenameStopsAtDots) {
  const recipe::NameRules map = parsed("[rename]\n\"a.*.w\" = \"b.*\"\n");
  std::vector<ckpt::WeightInfo> weights = same_names();
  weights.push_back({"a.x.y.w", ckpt::DType::kF32, {1}});
  EXPECT_THAT(match_weights(weights, kModel, map).status().causes,
              ElementsAre("a.x.y.w: the model has no such parameter, and no rule skips it",
                          "rule rename \"a.*.w\" matches nothing"));
}

TEST(InitMap, AWeightOfAnotherProgramIsNamedAsItsFileDoes) {
  std::vector<ckpt::WeightInfo> weights = same_names();
  weights[1].shape = {8, 9};
  weights[1].in_file = "model.layers.0.self_attn.q_proj.weight";
  weights.push_back(
      {"layers.2.attention.wq.weight", ckpt::DType::kF32, {8, 8}, "model.layers.2.self_attn.q_proj.weight"});
  EXPECT_THAT(
      match_weights(weights, kModel, {}).status().causes,
      ElementsAre("model.layers.0.self_attn.q_proj.weight (here layers.0.attention.wq.weight): shape [8, 9] in "
                  "the checkpoint, [8, 8] in the model",
                  "model.layers.2.self_attn.q_proj.weight (here layers.2.attention.wq.weight): the model has no "
                  "such parameter, and no rule skips it"));
}

TEST(InitMap, NamesEveryTensorWithoutARuleAndEveryOtherShape) {
  std::vector<ckpt::WeightInfo> weights = same_names();
  weights[1].shape = {8, 9};
  weights[3].name = "lm_head.weight";
  const auto match = match_weights(weights, kModel, {});
  ASSERT_FALSE(match.ok());
  EXPECT_EQ(match.status().code, ckpt::Code::kIncompatible);
  EXPECT_THAT(match.status().causes,
              ElementsAre("layers.0.attention.wq.weight: shape [8, 9] in the checkpoint, [8, 8] in the model",
                          "lm_head.weight: the model has no such parameter, and no rule skips it",
                          "output.weight: no weight for this parameter, and no rule creates it"));
}

TEST(InitMap, RefusesTwoWeightsForOneParameterAndCreationOfOneThatIsThere) {
  std::vector<ckpt::WeightInfo> weights = same_names();
  weights.push_back({"copy", ckpt::DType::kF32, {256, 8}});
  EXPECT_THAT(match_weights(weights, kModel, parsed("[rename]\n\"copy\" = \"output.weight\"\n")).status().causes,
              Contains(HasSubstr("copy (renamed to output.weight): output.weight is that parameter already")));
  EXPECT_THAT(match_weights(same_names(), kModel, parsed("create = [\"output.weight\"]")).status().causes,
              Contains(HasSubstr("is to be created, and the weight is there")));
}

TEST(InitMap, RefusesRulesThatMatchNothing) {
  const recipe::NameRules map = parsed("skip = [\"nothing.*\"]\n[rename]\n\"typo\" = \"output.weight\"\n");
  EXPECT_THAT(match_weights(same_names(), kModel, map).status().causes,
              ElementsAre("rule skip \"nothing.*\" matches nothing", "rule rename \"typo\" matches nothing"));
}

TEST(InitMap, RefusesARenameOfWhichRulesBeforeItTakeEverything) {
  std::vector<ckpt::WeightInfo> weights = same_names();
  weights[1].name = "h.0.wq";
  weights[2].name = "h.1.wq";
  const auto causes = [&](const char* text) { return match_weights(weights, kModel, parsed(text)).status().causes; };
  const std::string later = "\"h.1.wq\" = \"layers.1.attention.wq.weight\"\n",
                    general = "\"h.*.wq\" = \"layers.*.attention.wq.weight\"\n";
  EXPECT_THAT(
      causes(("[rename]\n" + general + later).c_str()),
      ElementsAre("rule rename \"h.1.wq\" does nothing: skip and the renames before it take all that it matches"));
  EXPECT_THAT(causes(("[rename]\n" + later + general).c_str()), testing::IsEmpty())
      << "h.0.wq is left to the general rule";
  EXPECT_THAT(causes(("skip = [\"h.1.*\"]\ncreate = [\"layers.1.*\"]\n[rename]\n" + later + general).c_str()),
              ElementsAre(HasSubstr("rename \"h.1.wq\" does nothing")));
}

TEST(InitMap, TheHintNamesTheKeyThatExplainsIt) {
  std::vector<ckpt::WeightInfo> weights = same_names();
  const auto hint = [&] { return match_weights(weights, kModel, {}).status().hint; };
  weights.push_back({"model.layers.2.self_attn.q_proj.weight", ckpt::DType::kF32, {8, 8}});
  EXPECT_THAT(hint(), HasSubstr("the weights have 3 layers, the model 2: set model.n_layers"));
  weights = same_names();
  std::erase_if(weights, [](const auto& one) { return one.name.starts_with("layers.1."); });
  EXPECT_THAT(hint(), HasSubstr("the weights have 1 layers, the model 2"));
  weights = same_names();
  weights.pop_back();
  EXPECT_THAT(hint(), HasSubstr("set tie_word_embeddings to true"));
  weights.push_back({"extra", ckpt::DType::kF32, {8}});
  EXPECT_THAT(hint(), HasSubstr("set tie_word_embeddings to true"));
  std::vector<ckpt::WeightInfo> renamed = same_names();
  renamed.back().name = "my_head";
  EXPECT_THAT(match_weights(renamed, kModel, {}).status().hint, HasSubstr("--rename FROM=TO"));
  weights.erase(weights.begin());
  EXPECT_THAT(hint(), HasSubstr("--skip GLOB, --rename FROM=TO and --init-map FILE"));
}

// What is called q_proj lies as Hugging Face has it, and a rename does not turn it round.
TEST(InitMap, RefusesRowsOfAnotherLayoutUnlessTheRulesSayHowTheyLie) {
  std::vector<ckpt::WeightInfo> weights = same_names();
  for (int layer = 0; layer < 2; ++layer)
    weights[1 + layer].name = "model.layers." + std::to_string(layer) + ".self_attn.q_proj.weight";
  const std::string rename =
      "[rename]\n\"model.layers.*.self_attn.q_proj.weight\" = \"layers.*.attention.wq.weight\"\n";
  const ckpt::Status refused = match_weights(weights, kModel, parsed(rename), 4).status();
  EXPECT_EQ(refused.code, ckpt::Code::kIncompatible);
  EXPECT_THAT(refused.causes, testing::SizeIs(2));
  EXPECT_THAT(refused.causes,
              Contains(HasSubstr("the two names imply different orders of the rows of query and key projections")));
  EXPECT_THAT(refused.hint, HasSubstr("rows = \"hf\""));
  const auto head_dims = [&](const std::string& text) {
    const auto match = match_weights(weights, kModel, parsed(text), 4);
    EXPECT_TRUE(match.ok()) << match.status().to_string();
    std::vector<std::uint64_t> found;
    if (match.ok())
      for (const WeightMatch::Pair& pair : match->loaded) found.push_back(pair.head_dim);
    return found;
  };
  EXPECT_THAT(head_dims("rows = \"hf\"\n" + rename), ElementsAre(0, 4, 4, 0));
  EXPECT_THAT(head_dims("rows = \"interleaved\"\n" + rename), ElementsAre(0, 0, 0, 0));
}

TEST(InitMap, RefusesAFileThatIsNoMap) {
  for (const char* text : {"skip = \"x\"", "rows = \"halves\"", "rows = 1", "skip = [1]", "other = 1",
                           "[rename]\na = 1", "[rename]\n\"a.*\" = \"b\"", "not toml"})
    EXPECT_EQ(recipe::parse_name_rules(text, "map.toml").status().code, ckpt::Code::kInvalid) << text;
  EXPECT_EQ(recipe::read_name_rules(ckpt::posix_fs(), "/does/not/exist.toml").status().code, ckpt::Code::kInvalid);
}

}  // namespace
}  // namespace titan::train::init_map_test
