#pragma once
// Ranks as threads of one process: a Communicator over shared memory, to test layouts without sockets.
#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include <ATen/ATen.h>

#include "ckpt/model/tensor_meta.h"
#include "libtrain/engine/model/runtime.h"
#include "libtrain/engine/parallel/communicator.h"

namespace titan::test {

/// State shared by the ranks of one group. If a rank fails or never arrives, the others' waits throw instead of
/// hanging.
class ThreadGroup {
 public:
  explicit ThreadGroup(int size) : size_(size), posted_(size) {}

  int size() const { return size_; }

  /// Publishes `value` for the group, waits for all ranks, calls `read` with everybody's values, waits again.
  void exchange(int rank, const void* value, const std::function<void(const std::vector<const void*>&)>& read) {
    posted_[rank] = value;
    meet();
    read(posted_);
    meet();
  }
  /// One side of a transfer: the tensor to send, or the one to fill. Unbuffered, as with sockets: both sides complete
  /// once both have arrived.
  struct Message {
    at::Tensor tensor;
    bool done = false, mismatch = false;
  };
  std::shared_ptr<Message> post(int src, int dst, std::uint64_t tag, at::Tensor tensor) {
    return meet_other_side({src, dst, tag}, std::move(tensor), wanted_, mail_, false);
  }
  std::shared_ptr<Message> want(int src, int dst, std::uint64_t tag, at::Tensor target) {
    return meet_other_side({src, dst, tag}, std::move(target), mail_, wanted_, true);
  }
  /// Waits for a message and calls `read` with its tensor.
  void take(int src, int dst, std::uint64_t tag, const std::function<void(const at::Tensor&)>& read) {
    std::unique_lock lock(mutex_);
    const Boxes::key_type place{src, dst, tag};
    wait(lock, [&] { return mail_.contains(place); });
    if (!mail_.contains(place)) throw train::CommError("a peer failed");
    std::deque<std::shared_ptr<Message>>& box = mail_.at(place);
    const std::shared_ptr<Message> message = std::move(box.front());
    box.pop_front();
    if (box.empty()) mail_.erase(place);
    read(message->tensor);
    message->tensor.reset();
    message->done = true;
    changed_.notify_all();
  }
  void await(const Message& message) {
    std::unique_lock lock(mutex_);
    wait(lock, [&] { return message.done; });
    if (!message.done) throw train::CommError("a peer failed");
    if (message.mismatch) throw train::CommError("recv: sizes disagree");
  }
  void fail() {
    const std::lock_guard lock(mutex_);
    failed_ = true;
    changed_.notify_all();
  }

 private:
  /// Much longer than any test needs on the slowest machine: ranks that wait forever for each other are a failure.
  static constexpr std::chrono::seconds kDeadline{60};
  using Boxes = std::map<std::tuple<int, int, std::uint64_t>, std::deque<std::shared_ptr<Message>>>;

  template <typename Done>
  void wait(std::unique_lock<std::mutex>& lock, const Done& done) {
    if (!changed_.wait_for(lock, kDeadline, [&] { return failed_ || done(); }))
      throw train::CommError("a peer did not come within the test's deadline");
  }
  std::shared_ptr<Message> meet_other_side(const Boxes::key_type& place, at::Tensor tensor, Boxes& others, Boxes& own,
                                           bool receives) {
    const std::lock_guard lock(mutex_);
    auto mine = std::make_shared<Message>(std::move(tensor));
    const auto found = others.find(place);
    if (found == others.end()) {
      own[place].push_back(mine);
    } else {
      const std::shared_ptr<Message> other = std::move(found->second.front());
      found->second.pop_front();
      if (found->second.empty()) others.erase(found);
      Message &to = receives ? *mine : *other, &from = receives ? *other : *mine;
      to.mismatch = to.tensor.numel() != from.tensor.numel() || to.tensor.scalar_type() != from.tensor.scalar_type();
      if (!to.mismatch) to.tensor.copy_(from.tensor.view_as(to.tensor));
      for (Message* side : {&to, &from}) {
        side->tensor.reset();
        side->done = true;
      }
    }
    changed_.notify_all();
    return mine;
  }
  void meet() {
    std::unique_lock lock(mutex_);
    const std::uint64_t round = round_;
    if (++arrived_ == size_) {
      arrived_ = 0;
      ++round_;
      changed_.notify_all();
    }
    wait(lock, [&] { return round_ != round; });
    if (round_ == round) throw train::CommError("a peer failed");
  }

  const int size_;
  std::mutex mutex_;
  std::condition_variable changed_;
  int arrived_ = 0;
  std::uint64_t round_ = 0;
  bool failed_ = false;
  std::vector<const void*> posted_;
  Boxes mail_, wanted_;
};

class ThreadCommunicator final : public train::Communicator {
 public:
  ThreadCommunicator(std::shared_ptr<ThreadGroup> group, int rank) : group_(std::move(group)), rank_(rank) {}

  int rank() const override { return rank_; }
  int size() const override { return group_->size(); }

  void all_to_all(at::Tensor& out, const std::vector<std::int64_t>& out_splits, const at::Tensor& in,
                  const std::vector<std::int64_t>& in_splits) override {
    check_splits(out, out_splits);
    check_splits(in, in_splits);
    std::vector<at::Tensor> rows = in.split_with_sizes(in_splits, 0);
    group_->exchange(rank_, &rows, [&](const std::vector<const void*>& all) {
      std::int64_t at = 0;
      for (int r = 0; r < size(); ++r) {
        const at::Tensor& row = (*static_cast<const std::vector<at::Tensor>*>(all[r]))[rank_];
        if (row.numel() != out_splits[r] || row.scalar_type() != out.scalar_type())
          throw train::CommError("all_to_all: splits disagree");
        out.narrow(0, at, out_splits[r]).copy_(row);
        at += out_splits[r];
      }
    });
  }
  std::unique_ptr<train::Transfer> send(const at::Tensor& tensor, int dst, std::uint64_t tag) override {
    return std::make_unique<OneSide>(*group_, group_->post(rank_, dst, tag, tensor));
  }
  std::unique_ptr<train::Transfer> recv(at::Tensor& tensor, int src, std::uint64_t tag) override {
    return std::make_unique<OneSide>(*group_, group_->want(src, rank_, tag, tensor));
  }
  void send_bytes(std::string_view bytes, int dst, std::uint64_t tag) override {
    at::Tensor tensor = at::empty({static_cast<std::int64_t>(bytes.size())}, at::kByte);
    std::copy(bytes.begin(), bytes.end(), static_cast<char*>(tensor.data_ptr()));
    group_->post(rank_, dst, tag, std::move(tensor));
  }
  void recv_bytes(std::span<char> bytes, int src, std::uint64_t tag) override {
    group_->take(src, rank_, tag, [&](const at::Tensor& value) {
      if (value.numel() != static_cast<std::int64_t>(bytes.size()))
        throw train::CommError("recv_bytes: sizes disagree");
      const char* from = static_cast<const char*>(value.const_data_ptr());
      std::copy(from, from + bytes.size(), bytes.begin());
    });
  }
  void sum(std::span<std::int64_t> values) override { add_up(values); }
  void sum(std::span<double> values) override { add_up(values); }
  std::vector<std::string> all_gather(const std::string& bytes) override {
    std::vector<std::string> result;
    group_->exchange(rank_, &bytes, [&](const std::vector<const void*>& all) {
      for (const void* value : all) result.push_back(*static_cast<const std::string*>(value));
    });
    return result;
  }
  std::string broadcast(const std::string& bytes, int root) override { return all_gather(bytes)[root]; }
  void barrier() override { all_gather(""); }

 private:
  // From the last rank to the first: callers must not rely on the order.
  template <typename T>
  void add_up(std::span<T> values) {
    const std::vector<T> mine(values.begin(), values.end());
    group_->exchange(rank_, &mine, [&](const std::vector<const void*>& all) {
      std::ranges::fill(values, T{});
      for (int r = size() - 1; r >= 0; --r)
        for (std::size_t i = 0; i < values.size(); ++i)
          values[i] += (*static_cast<const std::vector<T>*>(all[static_cast<std::size_t>(r)]))[i];
    });
  }
  struct OneSide final : train::Transfer {
    OneSide(ThreadGroup& group, std::shared_ptr<ThreadGroup::Message> message)
        : group(group), message(std::move(message)) {}
    void wait() override { group.await(*message); }
    ThreadGroup& group;
    std::shared_ptr<ThreadGroup::Message> message;
  };
  static void check_splits(const at::Tensor& tensor, const std::vector<std::int64_t>& splits) {
    std::int64_t sum = 0;
    for (const std::int64_t split : splits) sum += split;
    if (tensor.dim() != 1 || !tensor.is_contiguous() || tensor.numel() != sum)
      throw train::CommError("all_to_all: bad tensor or splits");
  }

  std::shared_ptr<ThreadGroup> group_;
  int rank_;
};

/// The groups of a dp x pp mesh whose ranks are threads.
class ThreadMesh {
 public:
  /// Each `domain` neighbouring ranks of a stage are on one node.
  explicit ThreadMesh(const ckpt::Mesh& mesh, std::uint32_t domain = 1)
      : dp_(static_cast<int>(mesh.dp)),
        pp_(static_cast<int>(mesh.pp)),
        together_(static_cast<int>(domain)),
        nodes_(dp_ / together_),
        all_(group(size())),
        io_(group(size())),
        save_(group(size())) {
    for (int s = 0; s < pp_; ++s) by_stage_.push_back(group(dp_));
    for (int r = 0; r < dp_; ++r) by_dp_.push_back(group(pp_));
    for (int i = 0; i < pp_ * nodes_; ++i) by_node_.push_back(group(together_));
    for (int i = 0; i < pp_ * together_; ++i) by_place_.push_back(group(nodes_));
  }

  int size() const { return dp_ * pp_; }
  train::World world(int rank) const {
    train::World world{.rank = rank, .size = size(), .stage = rank / dp_, .dp_rank = rank % dp_};
    world.all = std::make_unique<ThreadCommunicator>(all_, rank);
    world.dp = std::make_unique<ThreadCommunicator>(by_stage_[world.stage], world.dp_rank);
    world.pp = std::make_unique<ThreadCommunicator>(by_dp_[world.dp_rank], world.stage);
    world.io = std::make_unique<ThreadCommunicator>(io_, rank);
    const int node = world.dp_rank / together_, place = world.dp_rank % together_;
    world.node = std::make_unique<ThreadCommunicator>(by_node_[world.stage * nodes_ + node], place);
    world.between_nodes = std::make_unique<ThreadCommunicator>(by_place_[world.stage * together_ + place], node);
    world.save = std::make_unique<ThreadCommunicator>(save_, rank);
    return world;
  }
  /// Ends all waits: a rank has failed.
  void fail() const {
    for (const auto& group : groups_) group->fail();
  }

 private:
  std::shared_ptr<ThreadGroup> group(int size) { return groups_.emplace_back(std::make_shared<ThreadGroup>(size)); }

  int dp_, pp_, together_, nodes_;
  std::vector<std::shared_ptr<ThreadGroup>> groups_;
  std::shared_ptr<ThreadGroup> all_, io_, save_;
  std::vector<std::shared_ptr<ThreadGroup>> by_stage_, by_dp_, by_node_, by_place_;
};

/// Runs `body` once per rank of a dp x pp mesh, each in its own thread; rethrows the first rank's exception. Each
/// `domain` neighbouring ranks of a stage are on one node.
inline void run_ranks(const ckpt::Mesh& mesh, const std::function<void(train::World&)>& body,
                      std::uint32_t domain = 1) {
  const ThreadMesh ranks(mesh, domain);
  std::mutex mutex;
  std::exception_ptr first_error;
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks.size(); ++rank) {
    threads.emplace_back([&, rank] {
      try {
        train::setup_thread();
        train::World world = ranks.world(rank);
        body(world);
      } catch (...) {
        {
          const std::lock_guard lock(mutex);
          if (!first_error) first_error = std::current_exception();
        }
        ranks.fail();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  if (first_error) std::rethrow_exception(first_error);
}

}  // namespace titan::test
