#include "libtrain/job/launch/network.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace titan::train::network_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Addresses = std::vector<std::string>;

const LocalAddress kLo{"lo", "127.0.0.1", true, false}, kEth{"eth0", "10.0.0.1", false, false},
    kIb{"ib0", "192.168.7.1", false, false};
const LocalAddress kEthSix{"eth0", "2001:db8::5", false, false}, kEthLocal{"eth0", "fe80::1", false, true};

LaunchEnv env_of(int world, int local_world) {
  LaunchEnv env;
  env.world = world;
  env.local_world = local_world;
  env.master_addr = "node0";
  env.master_port = 29500;
  return env;
}

Addresses chosen(const NetworkView& view, const LaunchEnv& env, const std::string& wanted = "") {
  const auto addresses = choose_addresses(view, env, wanted);
  EXPECT_TRUE(addresses.ok()) << addresses.status().to_string();
  return addresses.ok() ? *addresses : Addresses{};
}

ckpt::Status refused(const NetworkView& view, const LaunchEnv& env, const std::string& wanted = "") {
  const auto addresses = choose_addresses(view, env, wanted);
  EXPECT_FALSE(addresses.ok()) << (addresses.ok() ? (*addresses)[0] : "");
  return addresses.status();
}

TEST(ChooseAddresses, TakesLoopbackWhereAllRanksAreOnThisHost) {
  EXPECT_THAT(chosen({{kEth, kLo}, "10.0.0.1", "10.0.0.1"}, env_of(4, 4)), ElementsAre("127.0.0.1"));
}

TEST(ChooseAddresses, TakesAnotherInterfaceWhereLoopbackIsDown) {
  EXPECT_THAT(chosen({{kEthLocal, kEth}, "", ""}, env_of(2, 2)), ElementsAre("10.0.0.1"));
  EXPECT_THAT(refused({}, env_of(2, 2)).message, HasSubstr("no network address at all"));
}

TEST(ChooseAddresses, TakesTheInterfaceThatLeadsToTheMasterBetweenHosts) {
  const NetworkView view{{kLo, kEth, kIb}, "192.168.7.1", "10.0.0.1"};
  EXPECT_THAT(chosen(view, env_of(4, 2)), ElementsAre("192.168.7.1"));
}

TEST(ChooseAddresses, NeverTakesLoopbackBetweenHosts) {
  // The host of rank 0 whose own name is 127.0.1.1 there, as Debian sets it up: no interface has just that address.
  for (const char* toward : {"127.0.0.1", "127.0.1.1", ""}) {
    EXPECT_THAT(chosen({{kLo, kEth, kIb}, toward, "10.0.0.1"}, env_of(2, 1)), ElementsAre("10.0.0.1")) << toward;
    EXPECT_THAT(chosen({{kLo, kIb}, toward, ""}, env_of(2, 1)), ElementsAre("192.168.7.1"))
        << "the only one, without a default route";
  }
  const ckpt::Status several = refused({{kLo, kEth, kIb}, "127.0.0.1", ""}, env_of(2, 1));
  EXPECT_THAT(several.message, HasSubstr("MASTER_ADDR=node0 is this host itself"));
  EXPECT_EQ(several.hint, "set GLOO_SOCKET_IFNAME to one of: eth0 10.0.0.1, ib0 192.168.7.1");
  EXPECT_THAT(refused({{kLo}, "127.0.0.1", ""}, env_of(2, 1)).message,
              HasSubstr("WORLD_SIZE=2 is more than LOCAL_WORLD_SIZE=1"));
}

TEST(ChooseAddresses, HonoursTheInterfacesThatTheUserNames) {
  const NetworkView view{{kLo, kEth, kIb, kEthLocal, kEthSix}, "10.0.0.1", "10.0.0.1"};
  EXPECT_THAT(chosen(view, env_of(4, 2), "ib0"), ElementsAre("192.168.7.1"));
  EXPECT_THAT(chosen(view, env_of(4, 2), "ib0,eth0"), ElementsAre("192.168.7.1", "10.0.0.1"));
  EXPECT_THAT(chosen(view, env_of(2, 2), "eth0"), ElementsAre("10.0.0.1")) << "also on one host";
  EXPECT_THAT(chosen(view, env_of(2, 2), "lo"), ElementsAre("127.0.0.1"));
  EXPECT_THAT(chosen({{kLo, kEthLocal, kEthSix}, "", ""}, env_of(2, 1), "eth0"), ElementsAre("2001:db8::5"))
      << "no address of the link alone";
}

TEST(ChooseAddresses, RefusesAnInterfaceThatIsNotThereOrLeadsNowhere) {
  const NetworkView view{{kLo, kEth}, "10.0.0.1", "10.0.0.1"};
  const ckpt::Status absent = refused(view, env_of(2, 1), "eth1");
  EXPECT_EQ(absent.code, ckpt::Code::kInvalid);
  EXPECT_THAT(absent.message, HasSubstr("GLOO_SOCKET_IFNAME names 'eth1'"));
  EXPECT_THAT(absent.hint, HasSubstr("lo 127.0.0.1, eth0 10.0.0.1"));
  const ckpt::Status loopback = refused(view, env_of(2, 1), "eth0,lo");
  EXPECT_EQ(loopback.code, ckpt::Code::kInvalid);
  EXPECT_THAT(loopback.message, HasSubstr("names the loopback interface 'lo'"));
  EXPECT_THAT(loopback.hint, HasSubstr("eth0 10.0.0.1"));
}

TEST(LookAtNetwork, SeesLoopbackAndTheWayToIt) {
  const NetworkView view = look_at_network("127.0.0.1");
  EXPECT_THAT(view.addresses, testing::Contains(LocalAddress{"lo", "127.0.0.1", true, false}));
  EXPECT_EQ(view.toward_master, "127.0.0.1");
  EXPECT_EQ(look_at_network("no-such-host.invalid").toward_master, "");
}

}  // namespace
}  // namespace titan::train::network_test
