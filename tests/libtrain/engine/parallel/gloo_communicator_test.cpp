#include "libtrain/engine/parallel/gloo_communicator.h"

#include <ATen/ATen.h>
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <chrono>
#include <future>
#include <iostream>
#include <numeric>
#include <thread>
#include <torch/csrc/distributed/c10d/HashStore.hpp>

#include "libtrain/engine/parallel/local_communicator.h"
#include "libtrain/job/control/agree.h"
#include "libtrain/job/control/gather.h"
#include "tests/libtrain/engine/parallel/rank_group.h"

namespace titan::train::gloo_communicator_test {
namespace {

// Checks inside a rank: they end it, the test prints its output.
#define REQUIRE(condition)                                                          \
  do {                                                                              \
    if (!(condition)) {                                                             \
      std::cout << "line " << __LINE__ << ": " #condition " is false" << std::endl; \
      std::_Exit(1);                                                                \
    }                                                                               \
  } while (0)

/// Element i of what rank `from` sends to rank `to`.
double sent(int from, int to, std::int64_t i) { return from * 1000 + to * 100 + static_cast<double>(i % 97); }

void check_all_to_all(Fabric& group, at::ScalarType type, const std::function<std::int64_t(int, int)>& rows) {
  const int me = group.rank();
  std::vector<std::int64_t> in_splits, out_splits;
  for (int peer = 0; peer < group.size(); ++peer) {
    in_splits.push_back(rows(me, peer));
    out_splits.push_back(rows(peer, me));
  }
  std::vector<double> in_values, expected;
  for (int peer = 0; peer < group.size(); ++peer) {
    for (std::int64_t i = 0; i < in_splits[peer]; ++i) in_values.push_back(sent(me, peer, i));
    for (std::int64_t i = 0; i < out_splits[peer]; ++i) expected.push_back(sent(peer, me, i));
  }
  const at::Tensor in = at::tensor(in_values, at::kDouble).to(type);
  at::Tensor out = at::full({static_cast<std::int64_t>(expected.size())}, -1, type);
  group.all_to_all(out, out_splits, in, in_splits);
  REQUIRE(at::equal(out, at::tensor(expected, at::kDouble).to(type)));
}

void check_point_to_point(Fabric& group, at::ScalarType type, std::int64_t count) {
  const int right = (group.rank() + 1) % group.size(), left = (group.rank() + group.size() - 1) % group.size();
  // Several tags at once, received in another order than sent.
  std::vector<at::Tensor> outgoing, incoming;
  std::vector<std::unique_ptr<Transfer>> transfers;
  for (int tag = 0; tag < 3; ++tag) {
    outgoing.push_back(at::full({count}, group.rank() * 10 + tag, type));
    incoming.push_back(at::zeros({count}, type));
  }
  for (int tag : {2, 0, 1}) transfers.push_back(group.recv(incoming[tag], left, (1u << 30) + tag));
  for (int tag : {0, 1, 2}) transfers.push_back(group.send(outgoing[tag], right, (1u << 30) + tag));
  for (auto& transfer : transfers) transfer->wait();
  for (auto& transfer : transfers) transfer->wait();  // a second wait does nothing
  for (int tag = 0; tag < 3; ++tag) REQUIRE(at::equal(incoming[tag], at::full({count}, left * 10 + tag, type)));
}

/// Bytes between two ranks, sums of integers, agreement and the gather to rank 0.
void check_bytes(Control& group) {
  const int size = group.size(), me = group.rank();
  std::vector<std::int64_t> values{std::int64_t{1} << 60, me, 0};
  group.sum(values);
  REQUIRE(values == (std::vector<std::int64_t>{size * (std::int64_t{1} << 60), size * (size - 1) / 2, 0}));
  const std::string large(3'000'000, 'x');
  if (me == 0)
    for (int peer = 1; peer < size; ++peer) group.send_bytes(large, peer, 3);
  if (me != 0) {
    std::string got(large.size(), '-');
    group.recv_bytes(got, 0, 3);
    REQUIRE(got == large);
  }

  REQUIRE(agree(group, ckpt::ok_status()).ok());
  for (int bad = 0; bad < size; ++bad) {
    ckpt::Status mine =
        me >= bad ? ckpt::incompatible("of rank " + std::to_string(me)).with_hint("h") : ckpt::ok_status();
    mine.causes = {"one", ""};
    if (mine.ok()) mine.causes.clear();
    const ckpt::Status all = agree(group, mine);
    REQUIRE(all.code == ckpt::Code::kIncompatible && all.hint == "h" &&
            all.causes == (std::vector<std::string>{"one", ""}));
    REQUIRE(all.message == "of rank " + std::to_string(bad) + (me == bad ? "" : " (rank " + std::to_string(bad) + ")"));
  }

  std::vector<std::string> gathered;
  const auto of = [](int rank) {
    return std::string(rank == 1 ? 5'000'000 : rank * 10, static_cast<char>('a' + rank));
  };
  gather_to_root(group, of(me), [&](int rank, std::string_view bytes) {
    REQUIRE(rank == static_cast<int>(gathered.size()));
    gathered.emplace_back(bytes);
  });
  REQUIRE(gathered.size() == (me == 0 ? static_cast<std::size_t>(size) : 0));
  for (std::size_t rank = 0; rank < gathered.size(); ++rank) REQUIRE(gathered[rank] == of(static_cast<int>(rank)));
}

void check_fabric(Fabric& group) {
  const int size = group.size(), me = group.rank();
  for (at::ScalarType type : {at::kFloat, at::kBFloat16, at::kDouble, at::kLong}) {
    check_all_to_all(group, type, [](int from, int to) { return 3 + from * 2 + to; });
    check_all_to_all(group, type, [](int from, int to) { return (from + to) % 2 == 0 ? 0 : 5; });
    check_all_to_all(group, type, [](int from, int) { return from == 0 ? 4 : 0; });
    check_all_to_all(group, type, [](int, int to) { return to == 0 ? 4 : 0; });
    check_all_to_all(group, type, [](int, int) { return 0; });
  }
  check_all_to_all(group, at::kFloat, [](int from, int to) { return 100'003 + from - to; });

  if (size > 1) {
    check_point_to_point(group, at::kFloat, 1000);
    check_point_to_point(group, at::kBFloat16, 33);
    check_point_to_point(group, at::kLong, 1);
    check_point_to_point(group, at::kFloat, 0);
    check_point_to_point(group, at::kFloat, 1 << 20);
  }
  const auto refuses = [&](int peer, std::uint64_t tag) {
    at::Tensor tensor = at::zeros({1});
    try {
      group.send(tensor, peer, tag);
      return false;
    } catch (const std::invalid_argument&) {
      return true;
    }
  };
  REQUIRE(refuses(me, 0));
  REQUIRE(refuses(size, 0));
  if (size > 1) REQUIRE(refuses((me + 1) % size, 1ull << 31));
}

void check_control(Control& group) {
  const int size = group.size(), me = group.rank();
  const auto check_sum = [&](auto zero) {
    std::vector<decltype(zero)> values(static_cast<std::size_t>(size), zero), all;
    values[static_cast<std::size_t>(me)] = static_cast<decltype(zero)>(me + 1);
    for (int rank = 0; rank < size; ++rank) all.push_back(static_cast<decltype(zero)>(rank + 1));
    group.sum(std::span(values));
    REQUIRE(values == all);
    group.sum(std::span(values).first(0));
  };
  check_sum(std::int64_t{0});
  check_sum(0.0);

  std::vector<std::string> expected;
  for (int rank = 0; rank < size; ++rank)
    expected.push_back(std::string(rank * 1000, static_cast<char>('a' + rank)) + std::string("\0x", 2));
  REQUIRE(group.all_gather(expected[me]) == expected);
  REQUIRE(group.all_gather("") == std::vector<std::string>(size));
  for (int root = 0; root < size; ++root) {
    REQUIRE(group.broadcast(me == root ? expected[root] : "ignored", root) == expected[root]);
    REQUIRE(group.broadcast(me == root ? "" : "ignored", root).empty());
  }
  group.barrier();
  check_bytes(group);
}

int be_group_member() {
  const ConnectOptions options = test::connect_options();
  World world = connect(options);
  const int dp = static_cast<int>(options.mesh.dp), pp = static_cast<int>(options.mesh.pp);
  REQUIRE(world.rank == world.stage * dp + world.dp_rank);
  REQUIRE(world.all->rank() == world.rank && world.all->size() == dp * pp);
  REQUIRE(world.io->rank() == world.rank && world.io->size() == dp * pp);
  REQUIRE(world.dp->rank() == world.dp_rank && world.dp->size() == dp);
  REQUIRE(world.pp->rank() == world.stage && world.pp->size() == pp);
  for (Control* group : {world.all.get(), world.io.get()}) check_control(*group);
  for (Fabric* group : {world.dp.get(), world.pp.get()}) check_fabric(*group);

  // Members of the subgroups are the right ones.
  const auto members = [&](Fabric& group) {
    const std::vector<std::int64_t> one_each(static_cast<std::size_t>(group.size()), 1);
    const at::Tensor mine = at::full({group.size()}, world.rank, at::kLong);
    at::Tensor all = at::empty_like(mine);
    group.all_to_all(all, one_each, mine, one_each);
    return all;
  };
  REQUIRE(at::equal(members(*world.dp), world.stage * dp + at::arange(dp, at::kLong)));
  REQUIRE(at::equal(members(*world.pp), world.dp_rank + dp * at::arange(pp, at::kLong)));
  world.shutdown();
  if (dp * pp > 1) {
    try {
      world.all->barrier();
      REQUIRE(!"a closed group throws");
    } catch (const CommError&) {}
  }
  std::cout << "all good" << std::endl;
  return 0;
}

const test::TestRole group_member("group-member", be_group_member);

class GlooCommunicatorOn : public testing::TestWithParam<std::pair<int, int>> {};

TEST_P(GlooCommunicatorOn, MovesWhatItWasAskedTo) {
  test::RankGroup ranks("group-member", GetParam().first, GetParam().second);
  ranks.expect_output_of_all("all good");
  ranks.expect_success();
  // No broken pipes, no warnings of c10d: the store outlived its clients.
  for (int rank = 0; rank < ranks.size(); ++rank)
    EXPECT_EQ(ranks[rank].output().find("Broken pipe"), std::string::npos) << ranks[rank].output();
}

INSTANTIATE_TEST_SUITE_P(Meshes, GlooCommunicatorOn,
                         testing::Values(std::pair(1, 1), std::pair(2, 1), std::pair(3, 1), std::pair(1, 2),
                                         std::pair(2, 2), std::pair(1, 4)),
                         [](const auto& info) {
                           return std::to_string(info.param.first) + "x" + std::to_string(info.param.second);
                         });

TEST(GlooCommunicator, LooksForEventsByOurCalls) {
  void* const library = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
  ASSERT_NE(library, nullptr);
  for (const char* name : {"epoll_wait", "recv"}) EXPECT_NE(dlsym(RTLD_DEFAULT, name), dlsym(library, name)) << name;
}

TEST(GlooCommunicator, MeetsAtTheStoreOfTorchrunsAgent) {
  test::RankGroup ranks("group-member", 2, 1,
                        {{"TORCHELASTIC_USE_AGENT_STORE", "True"}, {"TORCHELASTIC_RESTART_COUNT", "1"}});
  ranks.expect_output_of_all("all good");
  ranks.expect_success();
}

// Rank 1 lives and beats, but never comes to the barrier.
int wait_alone() {
  World world = connect(test::connect_options());
  if (!std::getenv("TEST_FIRST_STEP")) world.first_step_done();
  if (world.rank == 1) {
    std::cout << "elsewhere" << std::endl;
    while (true) pause();
  }
  try {
    world.all->barrier();
    std::cout << "the barrier ended" << std::endl;
  } catch (const CommError& error) {
    std::cout << "error: " << error.what() << std::endl;
  }
  std::_Exit(0);  // rank 1 would keep shutdown() waiting
}

const test::TestRole lonely_member("lonely-member", wait_alone);

TEST(GlooCommunicator, ACollectiveToWhichALivingPeerNeverComesEndsWithItsTimeout) {
  test::RankGroup ranks("lonely-member", 2, 1, {{"TEST_TRAIN_MS", "3000"}});
  ASSERT_TRUE(ranks[1].wait_for_output("elsewhere")) << ranks[1].output();
  EXPECT_TRUE(ranks[0].wait_for_output("although every rank has a heartbeat")) << ranks[0].output();
  EXPECT_EQ(ranks[0].wait(), 0);
  EXPECT_NE(ranks[0].output().find("did not finish within 3 s on rank 0"), std::string::npos) << ranks[0].output();
}

TEST(GlooCommunicator, TheFirstStepHasTheDeadlineOfTheStartWhereThatIsLonger) {
  test::RankGroup ranks("lonely-member", 2, 1,
                        {{"TEST_TRAIN_MS", "1000"}, {"TEST_INIT_MS", "5000"}, {"TEST_FIRST_STEP", "1"}});
  ASSERT_TRUE(ranks[1].wait_for_output("elsewhere")) << ranks[1].output();
  EXPECT_EQ(ranks[0].wait(), 0);
  EXPECT_NE(ranks[0].output().find("did not finish within 5 s on rank 0"), std::string::npos) << ranks[0].output();
}

std::unique_ptr<GlooCommunicator> member_of_two(const c10::intrusive_ptr<c10d::Store>& store, int rank) {
  return GlooCommunicator::create(store, GlooDevice::create({"127.0.0.1"}), {.name = "two", .rank = rank, .size = 2});
}

TEST(GlooCommunicator, AWatchSeesThatAPeerIsGone) {
  const auto store = c10::make_intrusive<c10d::HashStore>();
  std::promise<void> watched;
  std::thread peer([&] {
    const auto two = member_of_two(store, 1);
    const auto other = two->watch(0);
    two->barrier();
    watched.get_future().wait();
    two->closer()();  // ends with its own watch open
    EXPECT_FALSE(*other);
  });
  const auto two = member_of_two(store, 0);
  const auto gone = two->watch(1);
  two->barrier();
  EXPECT_FALSE(*gone);
  watched.set_value();
  peer.join();
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (!*gone && std::chrono::steady_clock::now() < until) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_TRUE(*gone);
}

TEST(LocalCommunicator, CopiesAndReturnsItsOwn) {
  LocalCommunicator local;
  check_all_to_all(local, at::kFloat, [](int, int) { return 5; });
  check_all_to_all(local, at::kFloat, [](int, int) { return 0; });
  EXPECT_EQ(local.all_gather("x"), std::vector<std::string>{"x"});
  EXPECT_EQ(local.broadcast("y", 0), "y");
  at::Tensor tensor = at::ones({2});
  EXPECT_THROW(local.send(tensor, 0, 1), std::invalid_argument);
  EXPECT_THROW(local.recv(tensor, 0, 1), std::invalid_argument);
  EXPECT_THROW(local.send_bytes("x", 0, 1), std::invalid_argument);
  std::string bytes(1, '-');
  EXPECT_THROW(local.recv_bytes(bytes, 0, 1), std::invalid_argument);
  std::vector<std::int64_t> values{7};
  local.sum(values);
  EXPECT_EQ(values.front(), 7);
  EXPECT_EQ(agree(local, ckpt::failed("alone")).message, "alone");
  gather_to_root(local, "z", [](int rank, std::string_view mine) { EXPECT_TRUE(rank == 0 && mine == "z"); });
}

}  // namespace
}  // namespace titan::train::gloo_communicator_test
