#include "libtrain/engine/parallel/gloo_communicator.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <thread>

#include <ATen/ATen.h>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>

#include "ckpt/base/mutex.h"
#include "libtrain/engine/device/host_values.h"
#include "libtrain/job/control/running_clock.h"
#include "libtrain/job/control/wait_guard.h"
#include "libtrain/job/launch/library_error.h"

namespace titan::train {

using std::chrono::milliseconds;

// The Gloo headers are older than the Gloo inside LibTorch. So this code calls nothing of gloo:: itself; it
// only passes pointers to c10d.
struct GlooDevice::Impl {
  std::vector<std::shared_ptr<::gloo::transport::Device>> devices;
  std::string addresses;
};

std::shared_ptr<GlooDevice> GlooDevice::create(const std::vector<std::string>& addresses) {
  auto impl = std::make_shared<Impl>();
  for (const std::string& address : addresses) {
    impl->addresses += (impl->addresses.empty() ? "" : ", ") + address;
    try {
      impl->devices.push_back(c10d::ProcessGroupGloo::createDeviceForHostname(address));
    } catch (const std::exception& error) {
      throw CommError("Gloo cannot use the address " + address + " of this host: " + first_line(error.what()));
    }
  }
  return std::make_shared<GlooDevice>(std::move(impl));
}

namespace {

constexpr milliseconds kSlice{500};  // between two looks at the heartbeats

bool is_timeout(const std::string& text) {
  return text.find("imed out") != std::string::npos || text.find("imeout") != std::string::npos;
}

/// A flat byte view, so that Gloo need not know the dtype.
at::Tensor bytes_of(const at::Tensor& tensor) { return tensor.view({-1}).view(at::kByte); }

/// Keeps tensors alive until the process ends: after a wait was given up, Gloo may still write to them.
void keep(std::vector<at::Tensor> tensors) {
  static ckpt::Mutex& mutex = *new ckpt::Mutex;
  static std::vector<std::vector<at::Tensor>>& kept = *new std::vector<std::vector<at::Tensor>>;
  const ckpt::MutexLock lock(mutex);
  kept.push_back(std::move(tensors));
}

/// Byte counts for element counts.
std::vector<std::int64_t> scaled(const std::vector<std::int64_t>& counts, std::int64_t size) {
  std::vector<std::int64_t> result;
  for (std::int64_t count : counts) result.push_back(count * size);
  return result;
}

}  // namespace

namespace {

constexpr int kWatchTag = std::numeric_limits<std::int32_t>::max();  // of a receive that ends only with an error

/// The connections of a group.
struct Link {
  c10::intrusive_ptr<c10d::Backend> backend;
  bool failed = false;
  c10::intrusive_ptr<c10d::Work> watched;
  std::thread watcher;

  ~Link() { close(); }

  void close() {
    if (watcher.joinable()) {
      watched->abort();
      watcher.join();
    }
    // After a failure a thread of Gloo may be in a collective until its timeout, and the destructor would wait for it.
    // The process is about to end, so the group is leaked.
    if (failed) static_cast<void>(backend.release());
    backend.reset();
  }
};

}  // namespace

struct GlooCommunicator::Group {
  GlooGroupOptions options;
  /// Timeout of operations that start now. Atomic, since the training thread changes it while a lane uses the group.
  std::shared_ptr<std::atomic<milliseconds>> timeout = std::make_shared<std::atomic<milliseconds>>(options.timeout);
  std::shared_ptr<Link> link = std::make_shared<Link>();

  std::string where(const char* operation) const { return std::string(operation) + " of group " + options.name; }

  c10d::Backend& open(const char* operation) {
    if (!link->backend || link->failed) throw CommError(where(operation) + ": the group was closed, or failed before");
    return *link->backend;
  }

  [[noreturn]] void fail(const char* operation, const std::string& reason, milliseconds deadline) {
    link->failed = true;
    if (!options.heartbeat) throw CommError(where(operation) + ": " + reason);
    lose(options.heartbeat->diagnose(where(operation), is_timeout(reason), deadline));
  }

  [[noreturn]] void lose(LostRanks loss) {
    link->failed = true;
    throw CommError(loss.text, std::move(loss.ranks));
  }

  [[noreturn]] void fail_to_start(const std::string& reason, const std::string& addresses) {
    link->failed = true;
    LostRanks loss{where("start"), {}};
    if (options.heartbeat) loss = options.heartbeat->diagnose(where("start"), is_timeout(reason), options.init_timeout);
    // If no rank is known to be lost, Gloo's error is all that is known.
    if (loss.ranks.empty()) loss.text += ": " + first_line(reason);
    throw CommError(ckpt::failed(loss.text).with_hint(
                        "this rank told its peers to connect to " + addresses +
                        ": where another interface leads to them, name it in GLOO_SOCKET_IFNAME on every host"),
                    std::move(loss.ranks));
  }

  /// Runs a collective to its end, watching the heartbeats meanwhile.
  template <typename Start>
  void run(const char* operation, Start start) {
    c10d::Backend& group = open(operation);
    try {
      const c10::intrusive_ptr<c10d::Work> work = start(group);
      const milliseconds patience = *timeout;
      const auto give_up = RunningClock::now() + patience;
      while (!finished(*work)) {
        if (const auto overdue = silent_ranks(); !overdue.empty())
          lose(options.heartbeat->explain(where(operation), overdue));
        if (RunningClock::now() > give_up) fail(operation, "timed out", patience);
      }
    } catch (const CommError&) {
      throw;
    } catch (const std::exception& error) {
      fail(operation, error.what(), timeout->load());
    }
  }

  /// Waits up to kSlice, and returns whether the operation is done. Throws what the operation threw.
  static bool finished(c10d::Work& work) {
    try {
      work.wait(kSlice);
      return true;
    } catch (const std::exception&) {
      // The end of the slice and the operation's own error both arrive as exceptions.
      if (!work.isCompleted()) return false;
    }
    return work.wait();
  }

  /// Runs a transfer of `tensor` to its end, watching the heartbeats meanwhile.
  template <typename Start>
  void run_transfer(const char* operation, at::Tensor tensor, Start start) {
    std::vector<at::Tensor> tensors{std::move(tensor)};
    c10::intrusive_ptr<c10d::Work> work;
    try {
      work = start(open(operation), tensors);
    } catch (const CommError&) {
      throw;
    } catch (const std::exception& error) {
      fail(operation, error.what(), timeout->load());
    }
    await(operation, std::move(work), std::move(tensors));
  }

  /// Waits for a transfer. GuardedWait looks at heartbeats and timeout in another thread: waits in slices are
  /// impossible, since Gloo closes the connections when the wait for a transfer times out.
  void await(const char* operation, const c10::intrusive_ptr<c10d::Work>& work, std::vector<at::Tensor> tensors) {
    const milliseconds patience = *timeout;
    bool done = false;
    std::string reason;
    auto given_up = GuardedWait::GivenUp::kNo;
    {
      const GuardedWait guarded(
          patience, [this] { return !silent_ranks().empty(); }, [&work] { work->abort(); });
      try {
        done = work->wait(kForEver);
      } catch (const std::exception& error) {
        reason = error.what();
      }
      given_up = guarded.given_up();
    }
    if (done && reason.empty()) return;
    keep(std::move(tensors));
    if (given_up == GuardedWait::GivenUp::kLostRank) {
      if (const auto overdue = silent_ranks(); !overdue.empty())
        lose(options.heartbeat->explain(where(operation), overdue));
    }
    fail(operation, given_up == GuardedWait::GivenUp::kNo ? reason : "timed out", patience);
  }

  std::vector<SilentRank> silent_ranks() const {
    return options.heartbeat ? options.heartbeat->overdue() : std::vector<SilentRank>();
  }

  void check_peer(const char* operation, int peer, std::uint64_t tag) const {
    if (peer < 0 || peer >= options.size || peer == options.rank || tag > std::numeric_limits<std::int32_t>::max()) {
      throw std::invalid_argument(where(operation) + ": no transfer between rank " + std::to_string(options.rank) +
                                  " and rank " + std::to_string(peer) + " with tag " + std::to_string(tag));
    }
  }
};

namespace {

/// An empty transfer: both sides know that it is empty, so nothing is sent.
class NoTransfer : public Transfer {
 public:
  void wait() override {}
};

template <typename Group>
class GlooTransfer : public Transfer {
 public:
  GlooTransfer(std::shared_ptr<Group> group, const char* operation, c10::intrusive_ptr<c10d::Work> work,
               std::vector<at::Tensor> tensors)
      : group_(std::move(group)), operation_(operation), work_(std::move(work)), tensors_(std::move(tensors)) {}

  void wait() override {
    if (work_) group_->await(operation_, std::exchange(work_, nullptr), std::move(tensors_));
  }

 private:
  std::shared_ptr<Group> group_;
  const char* operation_;
  c10::intrusive_ptr<c10d::Work> work_;
  std::vector<at::Tensor> tensors_;
};

}  // namespace

std::unique_ptr<GlooCommunicator> GlooCommunicator::create(const c10::intrusive_ptr<c10d::Store>& store,
                                                           const std::shared_ptr<GlooDevice>& device,
                                                           GlooGroupOptions options) {
  auto group = std::make_shared<Group>();
  group->options = std::move(options);
  *group->timeout = group->options.timeout;
  try {
    auto gloo = c10d::ProcessGroupGloo::Options::create(group->options.init_timeout);
    gloo->devices = device->impl().devices;
    gloo->threads = 1;  // a group runs one collective at a time
    group->link->backend =
        c10::make_intrusive<c10d::ProcessGroupGloo>(store, group->options.rank, group->options.size, gloo);
    group->link->backend->setTimeout(kForEver);  // timeouts are implemented here, with RunningClock
  } catch (const std::exception& error) {
    group->fail_to_start(error.what(), device->impl().addresses);
  }
  return std::unique_ptr<GlooCommunicator>(new GlooCommunicator(std::move(group)));
}

GlooCommunicator::GlooCommunicator(std::shared_ptr<Group> group) : group_(std::move(group)) {}
GlooCommunicator::~GlooCommunicator() = default;

int GlooCommunicator::rank() const { return group_->options.rank; }
int GlooCommunicator::size() const { return group_->options.size; }

void GlooCommunicator::all_to_all(at::Tensor& out, const std::vector<std::int64_t>& out_splits, const at::Tensor& in,
                                  const std::vector<std::int64_t>& in_splits) {
  at::Tensor in_bytes = bytes_of(in), out_bytes = bytes_of(out);
  std::vector<std::int64_t> in_counts = scaled(in_splits, in.element_size()),
                            out_counts = scaled(out_splits, out.element_size());
  group_->run("all_to_all",
              [&](c10d::Backend& group) { return group.alltoall_base(out_bytes, in_bytes, out_counts, in_counts); });
}

void GlooCommunicator::all_reduce(at::Tensor& tensor) {
  if (tensor.numel() == 0) return;
  std::vector<at::Tensor> tensors{tensor};
  group_->run("all_reduce", [&](c10d::Backend& group) { return group.allreduce(tensors); });
}

template <typename Begin>
std::unique_ptr<Transfer> GlooCommunicator::start(const char* what, const at::Tensor& tensor, int peer,
                                                  std::uint64_t tag, const Begin& begin) {
  group_->check_peer(what, peer, tag);
  if (tensor.numel() == 0) return std::make_unique<NoTransfer>();
  std::vector<at::Tensor> tensors{tensor};
  try {
    auto work = begin(group_->open(what), tensors);
    return std::make_unique<GlooTransfer<Group>>(group_, what, std::move(work), std::move(tensors));
  } catch (const CommError&) {
    throw;
  } catch (const std::exception& error) {
    group_->fail(what, error.what(), group_->timeout->load());
  }
}

std::unique_ptr<Transfer> GlooCommunicator::send(const at::Tensor& tensor, int dst, std::uint64_t tag) {
  return start("send", tensor, dst, tag, [&](c10d::Backend& group, std::vector<at::Tensor>& tensors) {
    return group.send(tensors, dst, static_cast<int>(tag));
  });
}

std::unique_ptr<Transfer> GlooCommunicator::recv(at::Tensor& tensor, int src, std::uint64_t tag) {
  return start("recv", tensor, src, tag, [&](c10d::Backend& group, std::vector<at::Tensor>& tensors) {
    return group.recv(tensors, src, static_cast<int>(tag));
  });
}

void GlooCommunicator::send_bytes(std::string_view bytes, int dst, std::uint64_t tag) {
  group_->check_peer("send", dst, tag);
  if (bytes.empty()) return;
  at::Tensor tensor = at::empty({static_cast<std::int64_t>(bytes.size())}, at::kByte);
  std::memcpy(mutable_host_bytes(tensor).data(), bytes.data(), bytes.size());
  group_->run_transfer("send", tensor, [&](c10d::Backend& group, std::vector<at::Tensor>& tensors) {
    return group.send(tensors, dst, static_cast<int>(tag));
  });
}

void GlooCommunicator::recv_bytes(std::span<char> bytes, int src, std::uint64_t tag) {
  group_->check_peer("recv", src, tag);
  if (bytes.empty()) return;
  const at::Tensor tensor = at::empty({static_cast<std::int64_t>(bytes.size())}, at::kByte);
  group_->run_transfer("recv", tensor, [&](c10d::Backend& group, std::vector<at::Tensor>& tensors) {
    return group.recv(tensors, src, static_cast<int>(tag));
  });
  std::memcpy(bytes.data(), host_bytes(tensor).data(), bytes.size());
}

// Copies the values to a tensor, since after a wait was given up, a thread of Gloo may still write to its memory.
template <typename Value>
void GlooCommunicator::sum_values(std::span<Value> values, at::ScalarType type) {
  at::Tensor tensor = at::empty({static_cast<std::int64_t>(values.size())}, type);
  std::ranges::copy(values, mutable_host_values<Value>(tensor).begin());
  all_reduce(tensor);
  std::ranges::copy(host_values<Value>(tensor), values.begin());
}

void GlooCommunicator::sum(std::span<std::int64_t> values) { sum_values(values, at::kLong); }

void GlooCommunicator::sum(std::span<double> values) { sum_values(values, at::kDouble); }

std::vector<std::string> GlooCommunicator::all_gather(const std::string& bytes) {
  at::Tensor sizes = at::zeros({size()}, at::kLong);
  mutable_host_values<std::int64_t>(sizes)[static_cast<std::size_t>(rank())] = static_cast<std::int64_t>(bytes.size());
  all_reduce(sizes);
  const std::int64_t* size_of = host_values<std::int64_t>(sizes).data();
  const std::int64_t longest = *std::max_element(size_of, size_of + size());
  std::vector<std::string> result(static_cast<std::size_t>(size()));
  if (longest == 0) return result;

  std::vector<at::Tensor> in{at::zeros({longest}, at::kByte)};
  if (!bytes.empty()) std::memcpy(mutable_host_bytes(in[0]).data(), bytes.data(), bytes.size());
  std::vector<std::vector<at::Tensor>> out(1);
  for (int i = 0; i < size(); ++i) out[0].push_back(at::empty({longest}, at::kByte));
  group_->run("all_gather", [&](c10d::Backend& group) { return group.allgather(out, in); });
  for (int i = 0; i < size(); ++i) {
    result[i].assign(reinterpret_cast<const char*>(host_bytes(out[0][i]).data()), static_cast<std::size_t>(size_of[i]));
  }
  return result;
}

std::string GlooCommunicator::broadcast(const std::string& bytes, int root) {
  c10d::BroadcastOptions options;
  options.rootRank = root;
  std::vector<at::Tensor> length{at::zeros({1}, at::kLong)};
  if (rank() == root) length[0].fill_(static_cast<std::int64_t>(bytes.size()));
  group_->run("broadcast", [&](c10d::Backend& group) { return group.broadcast(length, options); });
  const std::int64_t count = length[0].item<std::int64_t>();
  if (count == 0) return {};
  std::vector<at::Tensor> payload{at::empty({count}, at::kByte)};
  if (rank() == root) std::memcpy(mutable_host_bytes(payload[0]).data(), bytes.data(), bytes.size());
  group_->run("broadcast", [&](c10d::Backend& group) { return group.broadcast(payload, options); });
  return {reinterpret_cast<const char*>(host_bytes(payload[0]).data()), static_cast<std::size_t>(count)};
}

void GlooCommunicator::barrier() {
  group_->run("barrier", [](c10d::Backend& group) { return group.barrier(); });
}

std::shared_ptr<const std::atomic<bool>> GlooCommunicator::watch(int peer) {
  auto closed = std::make_shared<std::atomic<bool>>(false);
  Link& link = *group_->link;
  group_->check_peer("recv", peer, kWatchTag);
  std::vector<at::Tensor> nothing{at::empty({1}, at::kByte)};
  link.watched = group_->open("recv").recv(nothing, peer, kWatchTag);
  link.watcher = std::thread([work = link.watched, nothing, closed] {
    try {
      work->wait(kForEver);  // without a timeout: Gloo closes the connections when the wait for a receive times out
    } catch (const std::exception&) {
      *closed = true;
    }
  });
  return closed;
}

std::function<void()> GlooCommunicator::closer() const {
  return [link = group_->link] { link->close(); };
}

std::unique_ptr<GlooCommunicator> GlooCommunicator::duplicate(std::string name, milliseconds timeout) const {
  auto group = std::make_shared<Group>(*group_);
  group->options.name = std::move(name);
  group->timeout = std::make_shared<std::atomic<milliseconds>>(timeout);
  return std::unique_ptr<GlooCommunicator>(new GlooCommunicator(std::move(group)));
}

std::function<void(milliseconds)> GlooCommunicator::deadline() const {
  return [timeout = group_->timeout](milliseconds now) { *timeout = now; };
}

}  // namespace titan::train
