#include "libtrain/job/launch/master.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <unistd.h>
#include <cerrno>

namespace titan::train::master_test {
namespace {

using testing::HasSubstr;
using namespace std::chrono_literals;

LaunchEnv env_at(const std::string& host, int port, int rank = 1) {
  LaunchEnv env;
  env.rank = rank;
  env.world = 2;
  env.master_addr = host;
  env.master_port = port;
  env.source = "torchrun";
  return env;
}

/// A port of 127.0.0.1 that is bound for as long as this lives; connections are refused unless it listens.
int port_of(int fd) {
  sockaddr_in6 address{};  // an IPv4 address has its port at the same place
  socklen_t length = sizeof address;
  EXPECT_EQ(getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length), 0);
  return ntohs(address.sin6_port);
}

struct BoundPort {
  explicit BoundPort(bool listens) : fd(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    if (listens) {
      EXPECT_EQ(listen(fd, 4), 0);
    }
    port = port_of(fd);
  }
  ~BoundPort() { close(fd); }
  int fd, port = 0;
};

ReachOptions within(std::chrono::milliseconds timeout) {
  ReachOptions options;
  options.timeout = timeout;
  options.resolver_patience = timeout;
  return options;
}

TEST(ReachMaster, FindsOneThatListens) {
  const BoundPort port(true);
  EXPECT_EQ(reach_master(env_at("127.0.0.1", port.port), within(10s)), ckpt::ok_status());
}

TEST(ReachMaster, SaysThatTheConnectionIsRefused) {
  const BoundPort port(false);
  std::string noted;
  ReachOptions options = within(3s);
  options.note = [&](const std::string& why) { noted = why; };
  const ckpt::Status status = reach_master(env_at("127.0.0.1", port.port), options);
  EXPECT_EQ(status.code, ckpt::Code::kFailed);
  EXPECT_EQ(status.message, "rank 1 could not connect to rank 0 at 127.0.0.1:" + std::to_string(port.port) +
                                " within 3 s (comm.init_timeout_seconds): Connection refused");
  EXPECT_THAT(status.hint, HasSubstr("127.0.0.1 is a loopback address on this host"));
  EXPECT_EQ(noted, "Connection refused") << "the reason is known while it is tried again";
}

TEST(ReachMaster, SaysThatANameIsNotKnown) {
  const ckpt::Status status = reach_master(env_at("no-such-host.invalid", 29500), within(1s));
  EXPECT_EQ(status.code, ckpt::Code::kFailed);
  EXPECT_THAT(status.message,
              HasSubstr("rank 1: MASTER_ADDR=no-such-host.invalid does not resolve to an address on this host: "));
  EXPECT_THAT(status.hint, HasSubstr("getent hosts no-such-host.invalid"));
}

TEST(ReachMaster, RankZeroLearnsThatItsAddressLeadsElsewhere) {
  const BoundPort port(false);
  const ckpt::Status status = reach_master(env_at("127.0.0.1", port.port, 0), within(60s));
  EXPECT_THAT(status.message, HasSubstr("MASTER_ADDR=127.0.0.1 does not lead to it: Connection refused"))
      << "at once: it listens already";
}

TEST(ListenOnMasterPort, NamesATakenPortAndHowToSeeWhoHasIt) {
  const BoundPort port(true);
  const auto fd = listen_on_master_port(env_at("127.0.0.1", port.port, 0));
  ASSERT_FALSE(fd.ok());
  EXPECT_EQ(fd.status().message, "rank 0 cannot listen on port " + std::to_string(port.port) +
                                     " of this host (MASTER_PORT): Address already in use");
  EXPECT_THAT(fd.status().hint, HasSubstr("ss -ltnp 'sport = :" + std::to_string(port.port) + "'"));
}

TEST(ListenOnMasterPort, ListensForEveryAddress) {
  const auto fd = listen_on_master_port(env_at("127.0.0.1", 0, 0));
  ASSERT_TRUE(fd.ok()) << fd.status().to_string();
  EXPECT_EQ(reach_master(env_at("127.0.0.9", port_of(*fd)), within(60s)), ckpt::ok_status());
  close(*fd);
}

TEST(UnreachableHint, FollowsWhatWasMet) {
  const LaunchEnv env = env_at("node0", 29500);
  EXPECT_THAT(unreachable_hint(env, ECONNREFUSED, false),
              HasSubstr("nothing listens on its port 29500: is rank 0 running there"));
  EXPECT_THAT(unreachable_hint(env, ETIMEDOUT, false), HasSubstr("does its firewall let port 29500 through?"));
  EXPECT_THAT(unreachable_hint(env, ECONNREFUSED, true),
              HasSubstr("set MASTER_ADDR to a name or address that every host knows"));
  EXPECT_THAT(unreachable_hint(env_at("node0", 29500, 0), ECONNREFUSED, false), HasSubstr("the host of rank 0"));
  LaunchEnv agent = env;
  agent.agent_store = true;
  EXPECT_THAT(unreachable_hint(agent, ECONNREFUSED, false), HasSubstr("is torchrun's agent running there"));
}

TEST(MasterText, PutsBracketsAroundSixes) {
  EXPECT_EQ(master_text(env_at("node0", 5)), "node0:5");
  EXPECT_EQ(master_text(env_at("fe80::1", 5)), "[fe80::1]:5");
}

}  // namespace
}  // namespace titan::train::master_test
