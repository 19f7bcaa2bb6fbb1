#include "libtrain/engine/model/functions/swiglu.h"

#include "tests/libtrain/support/composite.h"
#include "tests/libtrain/support/same_gradients.h"

namespace titan::train::swiglu_test {
namespace {

using namespace titan::test;

TEST(SwiGluLinear, HasTheBitsOfTheSingleOperations) {
  use_one_thread();
  for (const at::ScalarType type : kTypes) {
    for (const std::vector<std::int64_t>& shape : {std::vector<std::int64_t>{2, 19, 77}, {1, 1, 1}, {3, 7, 65}}) {
      expect_same_bits([](const auto& in) { return swiglu_linear(in[0], in[1], {in[2]}, {}); },
                       [](const auto& in) { return at::linear(composite::swiglu(in[0], in[1]), in[2]); },
                       {leaf(shape, type, 1), leaf(shape, type, 2), leaf({41, shape.back()}, type, 3)},
                       type_name(type));
    }
  }
}

}  // namespace
}  // namespace titan::train::swiglu_test
