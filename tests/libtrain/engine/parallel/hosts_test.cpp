#include "libtrain/engine/parallel/hosts.h"

#include <gmock/gmock.h>

#include "tests/libtrain/support/thread_world.h"

namespace titan::train::hosts_test {
namespace {

TEST(Hosts, RanksOfOneProcessShareAHost) {
  test::run_ranks({1, 3, 1}, [](World& world) {
    const std::vector<std::string> hosts = hosts_of_ranks(*world.io);
    ASSERT_EQ(hosts.size(), 3u);
    EXPECT_EQ(hosts[0].size(), 32u);
    EXPECT_THAT(hosts, ::testing::Each(hosts[0]));
  });
}

}  // namespace
}  // namespace titan::train::hosts_test
