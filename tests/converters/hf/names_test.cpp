#include "converters/hf/names.h"

#include <gtest/gtest.h>

#include <set>

#include "converters/model_config.h"

namespace titan::convert {
namespace {

TEST(HfNames, MapsEveryParameterThereAndBack) {
  ModelConfig model{.dim = 8, .n_layers = 12, .n_heads = 2, .n_kv_heads = 1, .head_dim = 4, .ffn_dim = 8, .vocab_size = 3};
  model.qkv_bias = true;
  std::set<std::string> seen;
  std::size_t queries = 0, keys = 0;
  for (const ckpt::ParameterMeta& meta : model_parameters(model)) {
    const auto there = hf_name(meta.name);
    ASSERT_TRUE(there) << meta.name;
    EXPECT_TRUE(seen.insert(there->name).second) << there->name;
    const auto back = titan_name(there->name);
    ASSERT_TRUE(back) << there->name;
    EXPECT_EQ(*back, (MappedName{meta.name, there->rows}));
    queries += there->rows == Rows::kQuery;
    keys += there->rows == Rows::kKey;
  }
  EXPECT_EQ(queries, 24u);
  EXPECT_EQ(keys, 24u);
}

TEST(HfNames, MapsTheProjectionsToTheRightOnes) {
  EXPECT_EQ(titan_name("model.layers.10.self_attn.q_proj.bias"), (MappedName{"layers.10.attention.wq.bias", Rows::kQuery}));
  EXPECT_EQ(titan_name("model.layers.0.self_attn.k_proj.weight"), (MappedName{"layers.0.attention.wk.weight", Rows::kKey}));
  EXPECT_EQ(titan_name("model.layers.0.self_attn.v_proj.weight"), (MappedName{"layers.0.attention.wv.weight", Rows::kStay}));
  EXPECT_EQ(titan_name("model.layers.7.mlp.gate_proj.weight"), (MappedName{"layers.7.feed_forward.w1.weight", Rows::kStay}));
  EXPECT_EQ(titan_name("model.layers.7.mlp.down_proj.weight"), (MappedName{"layers.7.feed_forward.w2.weight", Rows::kStay}));
  EXPECT_EQ(titan_name("model.layers.7.mlp.up_proj.weight"), (MappedName{"layers.7.feed_forward.w3.weight", Rows::kStay}));
  EXPECT_EQ(hf_name("output.weight"), (MappedName{"lm_head.weight", Rows::kStay}));
}

TEST(HfNames, KnowsNoOtherSpelling) {
  for (const char* name : {"", "model.layers.00.self_attn.q_proj.weight", "model.layers.-1.self_attn.q_proj.weight", "model.layers..self_attn.q_proj.weight",
                           "model.layers.1x.self_attn.q_proj.weight", "model.layers.1234567890.self_attn.q_proj.weight", "layers.0.self_attn.q_proj.weight",
                           "model.layers.0.self_attn.q_norm.weight", "model.layers.#.self_attn.q_proj.weight", "model.embed_tokens.weight "})
    EXPECT_FALSE(titan_name(name)) << name;
}

TEST(HfNames, DropsOnlyRotaryTables) {
  EXPECT_TRUE(derivable("model.layers.3.self_attn.rotary_emb.inv_freq"));
  EXPECT_TRUE(derivable("model.rotary_emb.inv_freq"));
  EXPECT_FALSE(derivable("model.layers.3.self_attn.q_proj.weight"));
}

}  // namespace
}  // namespace titan::convert
