#include "libtrain/job/control/node_sum.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

namespace titan::train::node_sum_test {
namespace {

/// What ranks on threads send each other.
struct Post {
  std::mutex mutex;
  std::condition_variable arrived;
  std::map<std::tuple<int, int, std::uint64_t>, std::deque<std::string>> letters;
  std::vector<double> summed;
  int summing = 0;
};

/// Notes whom its rank talks to.
class Noted final : public Control {
 public:
  Noted(Post& post, int rank, int size) : post_(post), rank_(rank), size_(size) {}
  int rank() const override { return rank_; }
  int size() const override { return size_; }
  void send_bytes(std::string_view bytes, int dst, std::uint64_t tag) override {
    peers.insert(dst);
    const std::lock_guard lock(post_.mutex);
    post_.letters[{rank_, dst, tag}].emplace_back(bytes);
    post_.arrived.notify_all();
  }
  void recv_bytes(std::span<char> bytes, int src, std::uint64_t tag) override {
    peers.insert(src);
    std::unique_lock lock(post_.mutex);
    std::deque<std::string>& letters = post_.letters[{src, rank_, tag}];
    post_.arrived.wait(lock, [&] { return !letters.empty(); });
    std::ranges::copy(letters.front(), bytes.begin());
    letters.pop_front();
  }
  void sum(std::span<double> values) override {
    ++sums;
    std::unique_lock lock(post_.mutex);
    post_.summed.resize(values.size());
    for (std::size_t i = 0; i < values.size(); ++i) post_.summed[i] += values[i];
    ++post_.summing;
    post_.arrived.notify_all();
    post_.arrived.wait(lock, [&] { return post_.summing == size_; });
    std::ranges::copy(post_.summed, values.begin());
  }
  void sum(std::span<std::int64_t>) override {}
  std::vector<std::string> all_gather(const std::string&) override { return {}; }
  std::string broadcast(const std::string&, int) override { return {}; }
  void barrier() override {}

  std::set<int> peers;
  int sums = 0;

 private:
  Post& post_;
  int rank_, size_;
};

/// Of each rank: whom it talked to; every one has the sum.
std::map<int, std::set<int>> peers_of(std::uint32_t ranks, std::uint32_t node_ranks, int sums) {
  Post post;
  std::map<int, std::set<int>> peers;
  std::vector<std::thread> threads;
  std::mutex mutex;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      Noted all(post, static_cast<int>(rank), static_cast<int>(ranks));
      // A value that each rank sets for itself, one that rank 0 alone knows, and a count.
      std::vector<double> row(ranks + 2);
      row[rank] = 0.1 * (rank + 1);
      if (rank == 0) row[ranks] = 1.0 / 3;
      row[ranks + 1] = 1;
      sum_over_nodes(all, row, node_ranks);
      for (std::uint32_t other = 0; other < ranks; ++other) EXPECT_EQ(row[other], 0.1 * (other + 1)) << rank;
      EXPECT_EQ(row[ranks], 1.0 / 3);
      EXPECT_EQ(row[ranks + 1], ranks);
      EXPECT_EQ(all.sums, sums);
      const std::lock_guard lock(mutex);
      peers[static_cast<int>(rank)] = all.peers;
    });
  }
  for (std::thread& thread : threads) thread.join();
  return peers;
}

TEST(NodeSum, FirstRanksOfNodesTalkForTheOthers) {
  const auto peers = peers_of(6, 2, 0);
  for (const int rank : {1, 3, 5}) EXPECT_EQ(peers.at(rank), std::set<int>{rank - 1});
  EXPECT_EQ(peers.at(0), (std::set<int>{1, 2, 4}));
  EXPECT_EQ(peers.at(2), (std::set<int>{0, 3}));
  EXPECT_EQ(peers.at(4), (std::set<int>{0, 5}));
}

TEST(NodeSum, OnOneNodeItIsOneSum) {
  for (const std::uint32_t node_ranks : {0u, 1u, 4u, 3u, 8u}) peers_of(4, node_ranks, 1);
}

}  // namespace
}  // namespace titan::train::node_sum_test
