#include "libtrain/engine/parallel/rendezvous.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <csignal>
#include <iostream>

#include "libtrain/job/control/gather.h"
#include "libtrain/job/launch/launcher.h"
#include "libtrain/job/launch/network.h"
#include "tests/libtrain/engine/parallel/rank_group.h"

namespace titan::train::rendezvous_test {
namespace {

using testing::HasSubstr;
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

/// One round of the operation named by TEST_OPERATION.
void operate(World& world, const std::string& operation) {
  at::Tensor tensor = at::ones({64});
  std::vector<double> numbers(64);
  if (operation == "all_reduce") world.all->sum(std::span(numbers));
  if (operation == "io_barrier") world.io->barrier();
  // The victim's turn to be heard never comes: rank 0 waits for its bytes, the others for the next agreement.
  if (operation == "gather") {
    gather_to_root(*world.io, std::string(100'000, 'x'), [](int, std::string_view) {});
    std::int64_t none = 0;
    world.io->sum({&none, 1});
  }
  if (operation == "p2p") {
    const int size = world.pp->size(), me = world.pp->rank();
    auto send = world.pp->send(tensor, (me + 1) % size, 7);
    at::Tensor received = at::empty({64});
    auto recv = world.pp->recv(received, (me + size - 1) % size, 7);
    recv->wait();
    send->wait();
  }
}

int be_worker() {
  if (!bind_to_launcher().ok()) return 3;
  try {
    World world = connect(test::connect_options());
    const std::string operation = std::getenv("TEST_OPERATION");
    operate(world, operation);
    std::cout << "ready" << std::endl;
    while (true) operate(world, operation);
  } catch (const CommError& error) {
    std::cout << "CommError: " << error.what() << "." << std::endl;
    std::_Exit(3);
  }
}

const test::TestRole worker("worker", be_worker);

int be_finisher() {
  try {
    World world = connect(test::connect_options());
    std::cout << "ready" << std::endl;
    world.shutdown();
  } catch (const CommError& error) {
    std::cout << "CommError: " << error.what() << "." << std::endl;
    std::_Exit(3);
  }
  return 0;
}

const test::TestRole finisher("finisher", be_finisher);

struct Loss {
  const char* name;
  const char* operation;
  int dp, pp, victim;
};

std::ostream& operator<<(std::ostream& out, const Loss& loss) { return out << loss.name; }

class LostPeer : public testing::TestWithParam<Loss> {};

TEST_P(LostPeer, IsNamedByEveryOtherRankWhenItDies) {
  const Loss& loss = GetParam();
  test::RankGroup ranks("worker", loss.dp, loss.pp, {{"TEST_OPERATION", loss.operation}});
  ranks.expect_output_of_all("ready");
  const auto killed = Clock::now();
  ranks[loss.victim].signal(SIGKILL);
  for (int rank = 0; rank < ranks.size(); ++rank) {
    if (rank == loss.victim) continue;
    EXPECT_EQ(ranks[rank].wait(10s), 3) << ranks[rank].output();
    EXPECT_THAT(ranks[rank].output(), HasSubstr("CommError: rank " + std::to_string(loss.victim) + " is gone"));
  }
  EXPECT_LT(Clock::now() - killed, 10s);
}

TEST_P(LostPeer, IsNamedByEveryOtherRankWhenItFallsSilent) {
  const Loss& loss = GetParam();
  test::RankGroup ranks("worker", loss.dp, loss.pp, {{"TEST_OPERATION", loss.operation}, {"TEST_TRAIN_MS", "3000"}});
  ranks.expect_output_of_all("ready");
  const auto stopped = Clock::now();
  ranks[loss.victim].signal(SIGSTOP);
  for (int rank = 0; rank < ranks.size(); ++rank) {
    if (rank == loss.victim) continue;
    EXPECT_EQ(ranks[rank].wait(15s), 3) << ranks[rank].output();
    EXPECT_THAT(ranks[rank].output(), HasSubstr("rank " + std::to_string(loss.victim) + " is"));
    EXPECT_THAT(ranks[rank].output(), HasSubstr("no heartbeat for"));
  }
  EXPECT_LT(Clock::now() - stopped, 10s) << "3 s of silence and a few to find out";
}

INSTANTIATE_TEST_SUITE_P(Operations, LostPeer,
                         testing::Values(Loss{"all_reduce", "all_reduce", 3, 1, 1},
                                         Loss{"store_host", "all_reduce", 3, 1, 0}, Loss{"io", "io_barrier", 2, 1, 1},
                                         Loss{"gather", "gather", 3, 1, 1}, Loss{"p2p", "p2p", 1, 3, 2}),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(Rendezvous, NamesTheRanksThatDidNotArrive) {
  test::RankGroup ranks("worker", 4, 1, {{"TEST_OPERATION", "all_reduce"}, {"TEST_INIT_MS", "2000"}}, {2, 3});
  for (int rank : {0, 1}) {
    EXPECT_EQ(ranks[rank].wait(15s), 3) << ranks[rank].output();
    EXPECT_THAT(ranks[rank].output(), HasSubstr("CommError: ranks 2, 3 did not arrive at 127.0.0.1:"));
    EXPECT_THAT(ranks[rank].output(), HasSubstr("within 2 s (comm.init_timeout_seconds); 2 of 4 ranks are there"));
  }
}

int be_leaver() {
  if (std::getenv("RANK") == std::string("1")) setenv("GLOO_SOCKET_IFNAME", "nosuch0", 1);
  return be_worker();
}

const test::TestRole leaver("leaver", be_leaver);

TEST(Rendezvous, TellsTheOthersWhyARankLeft) {
  // Rank 2 never comes: without a word of rank 1 rank 0 would wait for it.
  test::RankGroup ranks("leaver", 3, 1, {{"TEST_OPERATION", "all_reduce"}}, {2});
  EXPECT_EQ(ranks[1].wait(15s), 3) << ranks[1].output();
  EXPECT_THAT(ranks[1].output(), HasSubstr("CommError: GLOO_SOCKET_IFNAME names 'nosuch0'"));
  EXPECT_EQ(ranks[0].wait(15s), 3) << ranks[0].output();
  EXPECT_THAT(ranks[0].output(),
              HasSubstr("CommError: another rank left before all had met: rank 1: GLOO_SOCKET_IFNAME names 'nosuch0'"));
}

int be_twin() {
  if (std::getenv("RANK") == std::string("2")) setenv("RANK", "1", 1);
  return be_worker();
}

const test::TestRole twin("twin", be_twin);

TEST(Rendezvous, RefusesANumberThatAnotherProcessHas) {
  test::RankGroup ranks("twin", 3, 1, {{"TEST_OPERATION", "all_reduce"}, {"TEST_INIT_MS", "6000"}});
  for (int rank = 0; rank < 3; ++rank) EXPECT_EQ(ranks[rank].wait(30s), 3) << ranks[rank].output();
  const bool first = ranks[1].output().find("rank 1 is already at 127.0.0.1:") != std::string::npos;
  const bool second = ranks[2].output().find("rank 1 is already at 127.0.0.1:") != std::string::npos;
  EXPECT_NE(first, second) << ranks[1].output() << ranks[2].output();
  EXPECT_THAT(ranks[first ? 2 : 1].output(), HasSubstr("rank 2 did not arrive")) << "the other is not disturbed";
}

TEST(Rendezvous, NamesRankZeroWhenItNeverServes) {
  // Its socket listens, as the launcher's does, but its process is stopped before it gets there.
  test::RankGroup ranks("stopped", 2, 1, {{"TEST_OPERATION", "all_reduce"}, {"TEST_INIT_MS", "2000"}});
  EXPECT_EQ(ranks[1].wait(20s), 3) << ranks[1].output();
  EXPECT_THAT(ranks[1].output(), HasSubstr("rank 0"));
}

int be_stopped() {
  if (std::getenv("RANK") == std::string("0")) raise(SIGSTOP);
  return be_worker();
}

const test::TestRole stopped("stopped", be_stopped);

TEST(Rendezvous, ShutdownReportsAPeerThatDiedBefore) {
  test::RankGroup ranks("finisher-or-not", 2, 1);
  ranks.expect_output_of_all("ready");
  ranks[1].signal(SIGKILL);
  EXPECT_EQ(ranks[0].wait(10s), 3) << ranks[0].output();
  EXPECT_THAT(ranks[0].output(), HasSubstr("rank 1 is gone"));
}

int be_finisher_or_not() {
  if (std::getenv("RANK") == std::string("0")) return be_finisher();
  World world = connect(test::connect_options());
  std::cout << "ready" << std::endl;
  while (true) pause();
}

const test::TestRole finisher_or_not("finisher-or-not", be_finisher_or_not);

int be_launcher_of_workers() {
  LaunchOptions options;
  options.nproc = 3;
  options.argv = {"ranks"};
  setenv("TITAN_TEST_ROLE", "worker", 1);
  LaunchEvents events;
  events.started = [](int rank, int pid) { std::cout << "rank-" << rank << "-is-" << pid << "." << std::endl; };
  events.failed = [](const std::string& message, const std::string&) {
    std::cout << "failed: " << message << std::endl;
  };
  return launch_local(options, events);
}

const test::TestRole launcher_of_workers("launcher-of-workers", be_launcher_of_workers);

struct LaunchedLoss {
  const char* name;
  int signal;
  const char* expected;
};

class LaunchedRanks : public testing::TestWithParam<LaunchedLoss> {};

TEST_P(LaunchedRanks, EndWithinTenSecondsAndNameTheLostOne) {
  test::ChildProcess job(test::this_program(), {},
                         {{"TITAN_TEST_ROLE", "launcher-of-workers"},
                          {"TEST_DP", "3"},
                          {"TEST_TRAIN_MS", "3000"},
                          {"TEST_OPERATION", "all_reduce"}});
  ASSERT_TRUE(job.wait_for_output("ready\n", 30s, 3)) << job.output();
  const std::string marker = "rank-1-is-";
  const std::string victim = job.output().substr(job.output().find(marker) + marker.size());
  const pid_t pid = std::stoi(victim);
  ASSERT_EQ(kill(pid, GetParam().signal), 0);
  EXPECT_EQ(job.wait(10s), 3) << job.output();
  EXPECT_THAT(job.output(), HasSubstr("failed: rank 1 (pid " + std::to_string(pid) + ") " + GetParam().expected));
  EXPECT_THAT(job.output(), HasSubstr("CommError: rank 1 is"));
  EXPECT_TRUE(test::wait_until_gone(pid, 0ms));
}

INSTANTIATE_TEST_SUITE_P(Signals, LaunchedRanks,
                         testing::Values(LaunchedLoss{"killed", SIGKILL, "was killed by signal 9 (SIGKILL)"},
                                         LaunchedLoss{"stopped", SIGSTOP, "is stopped (SIGSTOP)"}),
                         [](const auto& info) { return std::string(info.param.name); });

std::string joined(Fabric& group) {
  const at::Tensor mine = at::full({group.size()}, std::stol(std::getenv("RANK")), at::kLong);
  at::Tensor all = at::empty({group.size()}, at::kLong);
  const std::vector<std::int64_t> one(static_cast<std::size_t>(group.size()), 1);
  group.all_to_all(all, one, mine, one);
  std::string text;
  for (int i = 0; i < group.size(); ++i) text += std::to_string(all[i].item<std::int64_t>());
  return text;
}

int be_node_member() {
  ConnectOptions options = test::connect_options();
  options.node_groups = true;
  World world = connect(options);
  std::cout << world.node_ranks << " on a node";
  if (world.node) std::cout << ", within " << joined(*world.node) << ", between " << joined(*world.between_nodes);
  std::cout << "." << std::endl;
  world.shutdown();
  return 0;
}

const test::TestRole node_member("node-member", be_node_member);

TEST(Rendezvous, RanksOfANodeAndThoseWithOnePlaceMeet) {
  LaunchEnv env;
  env.world = 8;
  env.local_world = 2;
  if (!choose_addresses(look_at_network("127.0.0.1"), env, "").ok()) GTEST_SKIP() << "this host has loopback alone";
  test::RankGroup ranks("node-member", 4, 2, {{"LOCAL_WORLD_SIZE", "2"}, {"LOCAL_RANK", "0"}});
  ranks.expect_success();
  const char* expected[] = {"within 01, between 02", "within 01, between 13", "within 23, between 02",
                            "within 23, between 13", "within 45, between 46", "within 45, between 57",
                            "within 67, between 46", "within 67, between 57"};
  for (int rank = 0; rank < ranks.size(); ++rank)
    EXPECT_THAT(ranks[rank].output(), HasSubstr(std::string("2 on a node, ") + expected[rank] + "."));
}

TEST(Rendezvous, WhereAllRanksAreOnOneNodeThereAreNoGroupsOfNodes) {
  test::RankGroup ranks("node-member", 2, 1);
  ranks.expect_success();
  EXPECT_THAT(ranks[1].output(), HasSubstr("2 on a node."));
}

TEST(Rendezvous, RefusesAMeshThatDoesNotFit) {
  ConnectOptions options;
  options.mesh = {2, 2, 1};
  options.env.world = 3;
  EXPECT_THROW(connect(options), std::invalid_argument);
}

TEST(Rendezvous, OneRankNeedsNoSockets) {
  World world = connect({});
  EXPECT_EQ(world.size, 1);
  EXPECT_EQ(world.all->size(), 1);
  EXPECT_EQ(world.io->all_gather("x"), std::vector<std::string>{"x"});
  world.shutdown();
}

int be_writer_to_the_dead() {
  World world = connect(test::connect_options());
  raise(SIGPIPE);  // what the kernel does when Gloo's writev meets a closed socket
  world.shutdown();
  return 0;
}

const test::TestRole writer_to_the_dead("writer-to-the-dead", be_writer_to_the_dead);

TEST(Rendezvous, AWriteToADeadPeerDoesNotKillTheWriter) {
  test::RankGroup ranks("writer-to-the-dead", 2, 1);
  ranks.expect_success();
}

TEST(Rendezvous, EndsAfterASuccessfulShutdownOnEveryRank) {
  test::RankGroup ranks("finisher", 2, 2);
  ranks.expect_success();
}

}  // namespace
}  // namespace titan::train::rendezvous_test
