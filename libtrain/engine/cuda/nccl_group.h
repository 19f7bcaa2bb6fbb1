#pragma once
// A group of GPUs over NCCL: operations are issued in order and run on the GPU. Part of libtitan_cuda.so.
//
// Waiting for an operation makes the GPU wait, not the host, so that nothing here notices a dead peer: the host does
// where it waits for the GPU (gpu_wait.h). NCCL's own watchdog, which would end the process, is off.
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
  int rank = 0, size = 1;  ///< in the group
  int global_rank = 0;     ///< for messages
  int device = 0;          ///< the GPU of this process
  int most_blocks = 16;    ///< of the GPU's that an operation takes, also while it waits for its peer
  std::chrono::milliseconds init_timeout{300'000};
};

class NcclGroup {
 public:
  /// Meets the other members, which have the same prefix in the store, and connects at once. \error CommError: with
  /// what NCCL says, or where a process has more groups than LibTorch has streams for
  static std::unique_ptr<NcclGroup> create(const c10::intrusive_ptr<c10d::Store>& store, NcclGroupOptions options);
  ~NcclGroup();
  NcclGroup(const NcclGroup&) = delete;
  NcclGroup& operator=(const NcclGroup&) = delete;

  int rank() const;
  int size() const;
  /// As Communicator::all_to_all, started.
  std::unique_ptr<Transfer> start_all_to_all(at::Tensor& out, const std::vector<std::int64_t>& out_splits,
                                             const at::Tensor& in, const std::vector<std::int64_t>& in_splits);
  /// No tags: the operations of two ranks meet in the order in which they are issued.
  std::unique_ptr<Transfer> send(const at::Tensor& tensor, int dst);
  std::unique_ptr<Transfer> recv(at::Tensor& tensor, int src);
  /// As Fabric::swap, as one operation; either may be empty.
  std::unique_ptr<Transfer> swap(const at::Tensor& give, at::Tensor& take, int peer);

  /// Ends the group, once all members have done with it. A group that is not closed is left to the end of the process:
  /// taking leave of a peer that is gone would never end.
  void close();

 private:
  struct Group;
  explicit NcclGroup(std::unique_ptr<Group> group);
  std::unique_ptr<Group> group_;
};

}  // namespace titan::train
