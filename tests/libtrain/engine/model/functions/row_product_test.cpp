#include "libtrain/engine/model/functions/row_product.h"

#include <gtest/gtest.h>

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include "tests/libtrain/support/tensors.h"

namespace titan::train::row_product_test {
namespace {

using namespace titan::test;

// Widths around those of a vector, and of four.
constexpr std::int64_t kWidths[] = {1, 7, 15, 16, 17, 63, 64, 65, 130, 576};

TEST(RowProduct, IsTheProductInFp32) {
  use_one_thread();
  for (const std::int64_t width : kWidths) {
    const at::Tensor x = random_tensor(width, 1).view({1, width}), w = random_tensor(5 * width, 2).view({5, width});
    const at::Tensor exact = at::mm(x.to(at::kDouble), w.to(at::kDouble).t());
    EXPECT_TRUE(at::allclose(row_product(x, w).to(at::kDouble), exact, 1e-5, 1e-5)) << width;
  }
}

TEST(RowProduct, AddsTheBias) {
  const at::Tensor x = random_tensor(20, 1).view({1, 20}), w = random_tensor(60, 2).view({3, 20});
  const at::Tensor bias = random_tensor(3, 3);
  EXPECT_TRUE(at::equal(row_product(x, w, bias), row_product(x, w) + bias));
}

TEST(RowProduct, SumsBf16InFp32) {
  for (const std::int64_t width : kWidths) {
    const at::Tensor x = random_tensor(width, 1).view({1, width}).to(at::kBFloat16);
    const at::Tensor w = random_tensor(5 * width, 2).view({5, width}).to(at::kBFloat16);
    const at::Tensor product = row_product(x, w);
    EXPECT_EQ(product.scalar_type(), at::kBFloat16);
    const at::Tensor exact = row_product(x.to(at::kFloat), w.to(at::kFloat)).to(at::kBFloat16);
    EXPECT_TRUE(at::equal(product, exact)) << width;
  }
}

TEST(RowProduct, HasTheSameBitsOnAnyNumberOfThreads) {
  const at::Tensor x = random_tensor(100, 1).view({1, 100}), w = random_tensor(100 * 3001, 2).view({3001, 100});
  at::set_num_threads(1);
  const at::Tensor one = row_product(x, w);
  at::set_num_threads(3);
  EXPECT_TRUE(at::equal(one, row_product(x, w)));
  at::set_num_threads(1);
}

TEST(RowProduct, RefusesWhatIsNoRow) {
  const at::Tensor w = random_tensor(60, 2).view({3, 20});
  EXPECT_ANY_THROW(row_product(random_tensor(40, 1).view({2, 20}), w));
  EXPECT_ANY_THROW(row_product(random_tensor(20, 1).view({1, 20}), w.t().contiguous().t()));
}

}  // namespace
}  // namespace titan::train::row_product_test
