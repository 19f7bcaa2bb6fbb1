#include "converters/dcp/names.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "recipe/model/parameters.h"

namespace titan::convert::dcp::names_test {
namespace {

using Kind = DcpKey::Kind;

std::vector<ckpt::ParameterMeta> parameters() {
  recipe::ModelDims model{
      .dim = 8, .n_layers = 12, .n_heads = 2, .n_kv_heads = 1, .head_dim = 4, .ffn_dim = 8, .vocab_size = 3};
  model.qkv_bias = model.qk_norm = true;
  return recipe::model_parameters(model);
}

// torchtitan 0.3.0's spelling, written down once more.
std::string newer(std::string name) {
  for (const char* part : {"attention.wq.", "attention.wk.", "attention.wv."})
    if (const auto at = name.find(part); at != std::string::npos) return name.insert(at + 10, "qkv_linear.");
  return name.starts_with("output.") ? "lm_head." + name.substr(7) : name;
}

TEST(DcpNames, EveryParameterIsItselfInEveryKind) {
  for (const ckpt::ParameterMeta& meta : parameters()) {
    EXPECT_EQ(parse_key(meta.name), (DcpKey{Kind::kParameter, meta.name, "", false}));
    EXPECT_EQ(parse_key("optimizer.state." + meta.name + ".exp_avg"),
              (DcpKey{Kind::kSlot, meta.name, "exp_avg", false}));
    EXPECT_EQ(parse_key("optimizer.state." + meta.name + ".step"), (DcpKey{Kind::kStep, meta.name, "step", false}));
    EXPECT_EQ(parse_key("optimizer.param_groups." + meta.name + ".lr"), (DcpKey{Kind::kGroup, meta.name, "lr", false}));
  }
}

TEST(DcpNames, TheNewerSpellingLeadsToTheSameNames) {
  std::size_t renamed = 0;
  for (const ckpt::ParameterMeta& meta : parameters()) {
    const DcpKey key = parse_key(newer(meta.name));
    EXPECT_EQ(key.parameter, meta.name);
    EXPECT_EQ(key.newer, newer(meta.name) != meta.name);
    renamed += key.newer ? 1 : 0;
  }
  EXPECT_EQ(renamed, 12u * 6 + 1);
}

TEST(DcpNames, PutsParametersIntoTheOrderOfTheModel) {
  std::vector<std::pair<ModelOrder, std::string>> order;
  for (const ckpt::ParameterMeta& meta : parameters()) order.emplace_back(model_order(meta.name), meta.name);
  EXPECT_TRUE(std::ranges::is_sorted(order));
  EXPECT_LT(model_order("output.weight"), model_order("something.else"));
}

}  // namespace
}  // namespace titan::convert::dcp::names_test
