#include "converters/name_map.h"

#include <gtest/gtest.h>

#include <set>

#include "recipe/model/parameters.h"

namespace titan::convert::name_map_test {
namespace {

TEST(HuggingfaceNames, MapsEveryParameterThereAndBack) {
  recipe::ModelDims model{
      .dim = 8, .n_layers = 12, .n_heads = 2, .n_kv_heads = 1, .head_dim = 4, .ffn_dim = 8, .vocab_size = 3};
  model.qkv_bias = model.qk_norm = true;
  std::set<std::string> seen;
  std::size_t queries = 0, keys = 0;
  for (const ckpt::ParameterMeta& meta : recipe::model_parameters(model)) {
    const auto there = huggingface_names().theirs(meta.name);
    ASSERT_TRUE(there) << meta.name;
    EXPECT_TRUE(seen.insert(there->name).second) << there->name;
    const auto back = huggingface_names().ours(there->name);
    ASSERT_TRUE(back) << there->name;
    EXPECT_EQ(*back, (MappedName{meta.name, there->rows}));
    queries += there->rows == Rows::kQuery;
    keys += there->rows == Rows::kKey;
  }
  EXPECT_EQ(queries, 36u);
  EXPECT_EQ(keys, 36u);
}

TEST(HuggingfaceNames, MapsTheProjectionsToTheRightOnes) {
  EXPECT_EQ(huggingface_names().ours("model.layers.10.self_attn.q_proj.bias"),
            (MappedName{"layers.10.attention.wq.bias", Rows::kQuery}));
  EXPECT_EQ(huggingface_names().ours("model.layers.0.self_attn.k_proj.weight"),
            (MappedName{"layers.0.attention.wk.weight", Rows::kKey}));
  EXPECT_EQ(huggingface_names().ours("model.layers.0.self_attn.v_proj.weight"),
            (MappedName{"layers.0.attention.wv.weight", Rows::kStay}));
  EXPECT_EQ(huggingface_names().ours("model.layers.7.mlp.gate_proj.weight"),
            (MappedName{"layers.7.feed_forward.w1.weight", Rows::kStay}));
  EXPECT_EQ(huggingface_names().ours("model.layers.7.mlp.down_proj.weight"),
            (MappedName{"layers.7.feed_forward.w2.weight", Rows::kStay}));
  EXPECT_EQ(huggingface_names().ours("model.layers.7.mlp.up_proj.weight"),
            (MappedName{"layers.7.feed_forward.w3.weight", Rows::kStay}));
  EXPECT_EQ(huggingface_names().theirs("output.weight"), (MappedName{"lm_head.weight", Rows::kStay}));
}

// The same name is another part in another family.
TEST(HuggingfaceNames, OfAModelAreThoseOfItsFamily) {
  recipe::ModelDims olmo{
      .dim = 8, .n_layers = 2, .n_heads = 2, .n_kv_heads = 1, .head_dim = 4, .ffn_dim = 8, .vocab_size = 3};
  recipe::ModelDims mixtral = olmo;
  olmo.qk_norm = olmo.whole_qk_norm = olmo.post_norm = true;
  mixtral.experts = true;
  mixtral.n_experts = 11;
  mixtral.experts_per_token = 2;
  recipe::ModelDims qwen = mixtral;
  qwen.qk_norm = true;
  for (const recipe::ModelDims& model : {olmo, mixtral, qwen}) {
    const NameMap names = huggingface_names().of(model);
    std::set<std::string> seen;
    for (const ckpt::ParameterMeta& meta : recipe::model_parameters(model)) {
      const auto there = names.theirs(meta.name);
      ASSERT_TRUE(there) << meta.name;
      EXPECT_TRUE(seen.insert(there->name).second) << there->name;
      EXPECT_EQ(names.ours(there->name), (MappedName{meta.name, there->rows}));
    }
  }
  const std::string after = "model.layers.1.post_attention_layernorm.weight";
  EXPECT_EQ(huggingface_names().of(olmo).ours(after)->name, "layers.1.attention_post_norm.weight");
  EXPECT_EQ(huggingface_names().of(qwen).ours(after)->name, "layers.1.ffn_norm.weight");
  EXPECT_EQ(huggingface_names().of(mixtral).theirs("layers.1.moe.experts.10.w2.weight")->name,
            "model.layers.1.block_sparse_moe.experts.10.w2.weight");
  EXPECT_EQ(huggingface_names().of(qwen).theirs("layers.1.moe.experts.10.w2.weight")->name,
            "model.layers.1.mlp.experts.10.down_proj.weight");
  EXPECT_FALSE(huggingface_names().of(qwen).ours("model.layers.1.mlp.up_proj.weight"));
}

TEST(HuggingfaceNames, KnowsNoOtherSpelling) {
  for (const char* name :
       {"", "model.layers.00.self_attn.q_proj.weight", "model.layers.-1.self_attn.q_proj.weight",
        "model.layers..self_attn.q_proj.weight", "model.layers.1x.self_attn.q_proj.weight",
        "model.layers.1234567890.self_attn.q_proj.weight", "layers.0.self_attn.q_proj.weight",
        "model.layers.0.self_attn.q_norm.bias", "model.layers.#.self_attn.q_proj.weight", "model.embed_tokens.weight "})
    EXPECT_FALSE(huggingface_names().ours(name)) << name;
}

TEST(HuggingfaceNames, MovesTheElementsOfNormsOfHeads) {
  EXPECT_EQ(huggingface_names().ours("model.layers.3.self_attn.q_norm.weight"),
            (MappedName{"layers.3.attention.q_norm.weight", Rows::kQuery}));
  EXPECT_EQ(huggingface_names().theirs("layers.3.attention.k_norm.weight"),
            (MappedName{"model.layers.3.self_attn.k_norm.weight", Rows::kKey}));
}

TEST(MistralNames, AreOursAndHaveNoBiasesAndNormsOfHeads) {
  EXPECT_EQ(mistral_names().ours("layers.3.attention.wq.weight"),
            (MappedName{"layers.3.attention.wq.weight", Rows::kStay}));
  for (const char* name : {"layers.3.attention.wq.bias", "layers.3.attention.q_norm.weight"}) {
    EXPECT_FALSE(mistral_names().ours(name)) << name;
    EXPECT_FALSE(mistral_names().theirs(name)) << name;
  }
}

TEST(HuggingfaceNames, DropsOnlyRotaryTables) {
  EXPECT_TRUE(huggingface_names().derivable("model.layers.3.self_attn.rotary_emb.inv_freq"));
  EXPECT_TRUE(huggingface_names().derivable("model.rotary_emb.inv_freq"));
  EXPECT_FALSE(huggingface_names().derivable("model.layers.3.self_attn.q_proj.weight"));
}

TEST(TorchtitanNames, OfEveryNewerOneLeadBack) {
  for (const char* ours : {"layers.3.attention.wq.weight", "layers.3.attention.wk.bias",
                           "layers.11.attention.wv.weight", "output.weight"}) {
    const auto theirs = torchtitan_names().theirs(ours);
    ASSERT_TRUE(theirs) << ours;
    EXPECT_NE(theirs->name, ours);
    EXPECT_EQ(torchtitan_names().ours(theirs->name), (MappedName{ours, Rows::kStay}));
  }
  EXPECT_FALSE(torchtitan_names().theirs("layers.3.attention.wo.weight"));
  EXPECT_TRUE(torchtitan_names().derivable("freqs_cis"));
}

}  // namespace
}  // namespace titan::convert::name_map_test
