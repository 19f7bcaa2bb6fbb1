#include "recipe/plan/stage_cost.h"

#include <gmock/gmock.h>

#include "recipe/model/parameters.h"
#include "tests/recipe/support/config_support.h"

namespace titan::recipe::stage_cost_test {
namespace {

using testing::HasSubstr;

ModelDims llama_8b() {
  return dims_of(
      "model.dim=4096 model.n_layers=32 model.n_heads=32 model.n_kv_heads=8 model.ffn_dim=14336 "
      "model.vocab_size=128256");
}

TEST(PartCosts, FlopsCountAttentionOverTheText) {
  EXPECT_EQ(*part_costs("flops", llama_8b(), 8192), (PartCosts{0, 503'316'480, 1'050'673'152}));
  EXPECT_EQ(part_costs("flops", llama_8b(), 4096)->layer, 503'316'480u - 2 * 4096 * 4096);
}

TEST(PartCosts, ParametersAreThoseOfTheModel) {
  for (const char* more : {"", " model.qkv_bias=true"}) {
    const ModelDims dims = dims_of(std::string("model.dim=64 model.n_layers=3 model.n_heads=4 model.n_kv_heads=2 "
                                               "model.ffn_dim=172 model.vocab_size=256") +
                                   more);
    std::uint64_t all = 0;
    for (const ckpt::ParameterMeta& parameter : model_parameters(dims)) all += ckpt::element_count(parameter.shape);
    const PartCosts costs = *part_costs("params", dims, 32);
    EXPECT_EQ(costs.embedding + 3 * costs.layer + costs.head, all);
  }
}

TEST(PartCosts, UniformAndNumbersOfOnesOwn) {
  EXPECT_EQ(*part_costs("uniform", llama_8b(), 1), (PartCosts{1, 1, 1}));
  EXPECT_EQ(*part_costs("layer=1,head=3.5", llama_8b(), 1), (PartCosts{0, 1'000'000, 3'500'000}));
  EXPECT_EQ(*part_costs(cost_table(0.5, 2, 7), llama_8b(), 1), (PartCosts{250'000, 1'000'000, 3'500'000}));
}

TEST(PartCosts, RefusesWhatIsNone) {
  for (const auto& [word, says] : {std::pair{"flop", "expected flops, params"},
                                   {"head=1", "a layer must cost something"},
                                   {"layer=0", "a layer must cost something"},
                                   {"layer=1,tail=2", "no part \"tail\""},
                                   {"layer=-1", "needs a number from 0"},
                                   {"layer=nan", "needs a number from 0"},
                                   {"layer=1e9", "needs a number from 0"},
                                   {"layer", "expected flops"},
                                   {"measured", "nothing is measured yet"}}) {
    const Status status = part_costs(word, llama_8b(), 1).status();
    EXPECT_EQ(status.code, ckpt::Code::kInvalid) << word;
    EXPECT_THAT(status.message, HasSubstr(says));
  }
  EXPECT_THAT(part_costs("flop", llama_8b(), 1).status().hint, HasSubstr("`flops`"));
  ModelDims huge = llama_8b();
  huge.n_layers = 100'000;
  huge.dim = huge.ffn_dim = 1 << 20;
  huge.ffn_dim <<= 4;
  EXPECT_THAT(part_costs("flops", huge, 1).status().message, HasSubstr("63 bits"));
}

}  // namespace
}  // namespace titan::recipe::stage_cost_test
