#include "recipe/model/from_shapes.h"

#include <gtest/gtest.h>

#include "recipe/model/parameters.h"

namespace titan::recipe::from_shapes_test {
namespace {

ModelDims odd_dims() {
  ModelDims dims{96, 3, 8, 2, 20, 100, 300};
  dims.tied = true;
  dims.qkv_bias = true;
  return dims;
}

std::vector<ckpt::WeightInfo> tensors_of(const ModelDims& dims) {
  std::vector<ckpt::WeightInfo> tensors;
  for (const ckpt::ParameterMeta& parameter : model_parameters(dims))
    tensors.push_back({parameter.name, ckpt::DType::kF32, parameter.shape});
  return tensors;
}

TEST(FromShapes, ShapesTellWhatTheyShow) {
  const ckpt::Settings known = known_model({}, tensors_of(odd_dims()));
  EXPECT_EQ(known, (ckpt::Settings{{"model.dim", "96"},
                                   {"model.ffn_dim", "100"},
                                   {"model.n_layers", "3"},
                                   {"model.qkv_bias", "true"},
                                   {"model.tied_embeddings", "true"},
                                   {"model.vocab_size", "300"}}));
}

TEST(FromShapes, NormsOfHeadsTellTheHeads) {
  ModelDims dims{96, 3, 8, 2, 20, 100, 300};
  dims.qk_norm = true;
  EXPECT_EQ(known_model({}, tensors_of(dims)), (ckpt::Settings{{"model.dim", "96"},
                                                               {"model.ffn_dim", "100"},
                                                               {"model.head_dim", "20"},
                                                               {"model.n_heads", "8"},
                                                               {"model.n_kv_heads", "2"},
                                                               {"model.n_layers", "3"},
                                                               {"model.qk_norm", "true"},
                                                               {"model.vocab_size", "300"}}));
}

TEST(FromShapes, NormsOfAllHeadsAtOnceTellNoHeads) {
  ModelDims dims{96, 3, 8, 2, 20, 100, 300};
  dims.qk_norm = dims.whole_qk_norm = dims.post_norm = true;
  EXPECT_EQ(known_model({}, tensors_of(dims)), (ckpt::Settings{{"model.dim", "96"},
                                                               {"model.ffn_dim", "100"},
                                                               {"model.n_layers", "3"},
                                                               {"model.post_norm", "true"},
                                                               {"model.qk_norm", "true"},
                                                               {"model.vocab_size", "300"},
                                                               {"model.whole_qk_norm", "true"}}));
}

TEST(FromShapes, ARouterTellsTheExperts) {
  ModelDims dims{96, 3, 8, 2, 20, 100, 300};
  dims.experts = true;
  dims.n_experts = 5;
  EXPECT_EQ(known_model({}, tensors_of(dims)), (ckpt::Settings{{"model.dim", "96"},
                                                               {"model.ffn_dim", "100"},
                                                               {"model.n_experts", "5"},
                                                               {"model.n_layers", "3"},
                                                               {"model.vocab_size", "300"}}));
}

TEST(FromShapes, TensorsOfAnotherModelTellNothing) {
  EXPECT_EQ(known_model({}, {{"decoder.weight", ckpt::DType::kF32, {3, 4}}}), ckpt::Settings{});
  EXPECT_EQ(known_model({},
                        {{"tok_embeddings.weight", ckpt::DType::kF32, {}},
                         {"layers.0.attention.wq.weight", ckpt::DType::kF32, {2}}},
                        0),
            ckpt::Settings{});
}

TEST(FromShapes, DimensionsThatShapesDoNotShowAreZero) {
  Shapes shapes;
  for (const ckpt::ParameterMeta& parameter : model_parameters(odd_dims())) shapes[parameter.name] = parameter.shape;
  const ShownModel shown = dims_from_shapes(shapes);
  EXPECT_EQ(shown.dims, (ModelDims{96, 3, 0, 0, 0, 100, 300, 1e-5, 500000, true, true}));
  EXPECT_EQ(shown.query_rows, 160);
  EXPECT_EQ(shown.key_rows, 40);
  EXPECT_EQ(dims_from_shapes({}).dims, ModelDims{});
}

}  // namespace
}  // namespace titan::recipe::from_shapes_test
