#include "libtrain/engine/parallel/links/fabric.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "tests/libtrain/support/late_fabric.h"
#include "tests/libtrain/support/thread_world.h"

namespace titan::test::fabric_test {
namespace {

TEST(Fabric, ASwapIsOverWhenBothWaysAre) {
  run_ranks({1, 2, 1}, [](train::World& world) {
    LateFabric late(std::move(world.dp));  // what has not been waited for is garbage
    const int peer = 1 - world.rank;
    const at::Tensor give = at::full({3 + world.rank}, world.rank, at::kFloat);
    at::Tensor take = at::empty({3 + peer}, at::kFloat);
    late.swap(give, take, peer, 7)->wait();
    EXPECT_TRUE(at::equal(take, at::full({3 + peer}, peer, at::kFloat)));
  });
}

}  // namespace
}  // namespace titan::test::fabric_test
