#include "recipe/model/layers.h"

#include <gtest/gtest.h>

namespace titan::recipe::layers_test {
namespace {

TEST(Layers, AreCountedByTheirNames) {
  EXPECT_EQ(layers_in({}), 0);
  EXPECT_EQ(layers_in({"norm.weight", "layers.2.ffn_norm.weight", "layers.0.ffn_norm.weight"}), 3);
  EXPECT_EQ(layers_in({"model.layers.4.mlp.up_proj.weight", "model.norm.weight"}), 5);
}

TEST(Layers, ANameHasTheNumberBehindItsPrefix) {
  EXPECT_EQ(layer_of("layers.7.attention.wq.weight"), 7);
  EXPECT_EQ(layer_of("app.model.layers.12.x"), 12);
  for (const char* none : {"norm.weight", "my_layers.3.x", "layers.x.y", "layers.-1.x", "layers.99999999999.x", ""})
    EXPECT_FALSE(layer_of(none)) << none;
}

}  // namespace
}  // namespace titan::recipe::layers_test
