#pragma once
// Communicator over c10d's Gloo backend, for tensors in host memory. The .cpp is the only file that includes
// ProcessGroupGloo.hpp.
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <torch/csrc/distributed/c10d/Store.hpp>

#include "libtrain/engine/parallel/communicator.h"
#include "libtrain/job/control/heartbeat.h"

namespace titan::train {

/// Gloo's network device, which all groups of a process share.
class GlooDevice {
 public:
  /// Listens on these addresses of this host (choose_addresses()). Peers connect to them. \error CommError
  static std::shared_ptr<GlooDevice> create(const std::vector<std::string>& addresses);
  struct Impl;
  explicit GlooDevice(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
  Impl& impl() { return *impl_; }

 private:
  std::shared_ptr<Impl> impl_;
};

struct GlooGroupOptions {
  std::string name;                                                   ///< for messages
  int rank = 0, size = 1;                                             ///< in the group
  std::chrono::milliseconds init_timeout{300'000}, timeout{100'000};  ///< to connect; of an operation (RunningClock)
  std::shared_ptr<Heartbeat> heartbeat;  ///< every wait checks it; if null, errors do not name the dead rank
};

class GlooCommunicator : public Communicator {
 public:
  /// Connects this rank to the other members of a group. All members call create(), each with a `store` that has the
  /// same key prefix, which only this group uses. \error CommError
  static std::unique_ptr<GlooCommunicator> create(const c10::intrusive_ptr<c10d::Store>& store,
                                                  const std::shared_ptr<GlooDevice>& device, GlooGroupOptions options);
  ~GlooCommunicator() override;

  int rank() const override;
  int size() const override;
  void all_to_all(at::Tensor& out, const std::vector<std::int64_t>& out_splits, const at::Tensor& in,
                  const std::vector<std::int64_t>& in_splits) override;
  std::unique_ptr<Transfer> send(const at::Tensor& tensor, int dst, std::uint64_t tag) override;
  std::unique_ptr<Transfer> recv(at::Tensor& tensor, int src, std::uint64_t tag) override;
  void send_bytes(std::string_view bytes, int dst, std::uint64_t tag) override;
  void recv_bytes(std::span<char> bytes, int src, std::uint64_t tag) override;
  void sum(std::span<std::int64_t> values) override;
  void sum(std::span<double> values) override;
  std::vector<std::string> all_gather(const std::string& bytes) override;
  std::string broadcast(const std::string& bytes, int root) override;
  void barrier() override;

  /// A communicator over the same connections, with another name and timeout. Only one thread may use the two.
  std::unique_ptr<GlooCommunicator> duplicate(std::string name, std::chrono::milliseconds timeout) const;
  /// Returns a function that sets the timeout of operations that start later. Any thread may call it.
  std::function<void(std::chrono::milliseconds)> deadline() const;

  /// Returns a flag that becomes true when `peer` has died or closed its connection, for a host that waits for a GPU,
  /// not for Gloo. Starts a thread. Call it at most once per group.
  std::shared_ptr<const std::atomic<bool>> watch(int peer);

  /// Returns a function that closes the connections; operations of the group throw afterwards. The function may outlive
  /// the communicator.
  std::function<void()> closer() const;

 private:
  void all_reduce(at::Tensor& tensor);
  template <typename Begin>
  std::unique_ptr<Transfer> start(const char* what, const at::Tensor& tensor, int peer, std::uint64_t tag,
                                  const Begin& begin);
  template <typename Value>
  void sum_values(std::span<Value> values, at::ScalarType type);
  struct Group;
  explicit GlooCommunicator(std::shared_ptr<Group> group);
  std::shared_ptr<Group> group_;
};

}  // namespace titan::train
