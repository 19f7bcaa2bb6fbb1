#pragma once
// An NCCL communicator: a group of ranks with one GPU each. Operations run on the GPU in the order in which they are
// issued. Part of libtitan_cuda.so.
//
// Transfer::wait() makes the GPU wait, not the host. So this class does not notice a dead peer; the host notices it
// while it waits for the GPU (gpu_wait.h). c10d's watchdog, which would end the process, is off.
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>
#include <torch/csrc/distributed/c10d/Store.hpp>

#include "libtrain/engine/parallel/communicator.h"

namespace titan::train {

struct NcclGroupOptions {
  std::string name;        ///< for messages: "data-parallel group of stage 3"
  int rank = 0, size = 1;  ///< rank and size of the group
  int global_rank = 0;     ///< for messages
  int device = 0;          ///< the GPU of this process
  int most_blocks = 16;    ///< maximum number of thread blocks of an operation, which occupies them while it waits, too
  std::chrono::milliseconds init_timeout{300'000};
};

class NcclGroup {
 public:
  /// Creates this rank's member of the group and connects. All members call it with the same `store`. \error CommError:
  /// NCCL's error, or more than 28 groups in this process
  static std::unique_ptr<NcclGroup> create(const c10::intrusive_ptr<c10d::Store>& store, NcclGroupOptions options);
  ~NcclGroup();
  NcclGroup(const NcclGroup&) = delete;
  NcclGroup& operator=(const NcclGroup&) = delete;

  int rank() const;
  int size() const;
  /// Starts Fabric::all_to_all().
  std::unique_ptr<Transfer> start_all_to_all(at::Tensor& out, const std::vector<std::int64_t>& out_splits,
                                             const at::Tensor& in, const std::vector<std::int64_t>& in_splits);
  /// Starts a transfer to or from one rank. There are no tags: the n-th send matches the peer's n-th receive.
  std::unique_ptr<Transfer> send(const at::Tensor& tensor, int dst);
  std::unique_ptr<Transfer> recv(at::Tensor& tensor, int src);
  /// Starts Fabric::swap() as one operation. Either tensor may be empty.
  std::unique_ptr<Transfer> swap(const at::Tensor& give, at::Tensor& take, int peer);

  /// Destroys the communicator. All members must be done with it. The destructor does not destroy it: a communicator
  /// that is not closed exists until the process ends, since destroying one with a dead peer would hang.
  void close();

 private:
  struct Group;
  explicit NcclGroup(std::unique_ptr<Group> group);
  std::unique_ptr<Group> group_;
};

}  // namespace titan::train
