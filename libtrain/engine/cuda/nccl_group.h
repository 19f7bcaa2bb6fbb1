#pragma once
// A group of GPUs over NCCL. Operations are issued in order and run on the GPU. Part of libtitan_cuda.so.
//
// Waiting for an operation makes the GPU wait, not the host, so this class does not notice a dead peer; the host
// notices while it waits for the GPU (gpu_wait.h). NCCL's watchdog, which would end the process, is off.
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
  int most_blocks = 16;    ///< maximum number of GPU thread blocks per operation, occupied also while it waits for its
                           ///< peer
  std::chrono::milliseconds init_timeout{300'000};
};

class NcclGroup {
 public:
  /// Meets the other members, which use the same prefix in the store, and connects at once. \error CommError: NCCL's
  /// error, or more groups in a process than LibTorch has streams
  static std::unique_ptr<NcclGroup> create(const c10::intrusive_ptr<c10d::Store>& store, NcclGroupOptions options);
  ~NcclGroup();
  NcclGroup(const NcclGroup&) = delete;
  NcclGroup& operator=(const NcclGroup&) = delete;

  int rank() const;
  int size() const;
  /// Starts Communicator::all_to_all.
  std::unique_ptr<Transfer> start_all_to_all(at::Tensor& out, const std::vector<std::int64_t>& out_splits,
                                             const at::Tensor& in, const std::vector<std::int64_t>& in_splits);
  /// No tags: operations of two ranks are matched in the order in which they are issued.
  std::unique_ptr<Transfer> send(const at::Tensor& tensor, int dst);
  std::unique_ptr<Transfer> recv(at::Tensor& tensor, int src);
  /// As Fabric::swap, in one operation. Either tensor may be empty.
  std::unique_ptr<Transfer> swap(const at::Tensor& give, at::Tensor& take, int peer);

  /// Destroys the group once all members are done with it. A group that is not closed stays until the process ends,
  /// since destroying a communicator with a dead peer would hang.
  void close();

 private:
  struct Group;
  explicit NcclGroup(std::unique_ptr<Group> group);
  std::unique_ptr<Group> group_;
};

}  // namespace titan::train
