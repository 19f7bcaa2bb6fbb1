#include "libtrain/engine/pipeline/buffer_pool.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace titan::train::buffer_pool_test {
namespace {

TEST(BufferPool, HandsOutMemoryAgainOnceNobodyHoldsIt) {
  BufferPool pool;
  at::Tensor first = pool.take({2, 3}, at::kFloat), second = pool.take({2, 3}, at::kFloat);
  EXPECT_NE(first.const_data_ptr(), second.const_data_ptr());
  const void* place = first.const_data_ptr();
  at::Tensor view = first.view({6});
  first.reset();
  EXPECT_NE(pool.take({2, 3}, at::kFloat).const_data_ptr(), place) << "a view holds it";
  view.reset();
  EXPECT_EQ(pool.take({2, 3}, at::kFloat).const_data_ptr(), place);
  EXPECT_EQ(pool.size(), 3u);
}

TEST(BufferPool, KeepsShapesAndTypesApart) {
  BufferPool pool;
  pool.take({2, 3}, at::kFloat);
  EXPECT_EQ(pool.take({3, 2}, at::kFloat).sizes(), at::IntArrayRef({3, 2}));
  EXPECT_EQ(pool.take({2, 3}, at::kBFloat16).scalar_type(), at::kBFloat16);
  EXPECT_EQ(pool.size(), 3u);
}

TEST(BufferPool, GivesEachTimeATensorOfItsOwn) {
  BufferPool pool;
  pool.take({4}, at::kFloat).requires_grad_(true);
  EXPECT_FALSE(pool.take({4}, at::kFloat).requires_grad());
}

}  // namespace
}  // namespace titan::train::buffer_pool_test
