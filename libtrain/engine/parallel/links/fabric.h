#pragma once
// A fabric: a group of ranks that exchange tensors on the device. It only copies; sums are computed by Titan, in an
// order of its own.
//
// All ranks of a group call the same operations in the same order, except send, recv and swap, which concern two ranks.
// One thread at a time uses a group. Tensors are contiguous and on the device. Any operation may throw CommError; the
// group cannot be used afterwards.
#include <cstdint>
#include <memory>
#include <vector>

#include "libtrain/job/control/comm_error.h"
#include "libtrain/job/reduction/exchange_peers.h"

namespace at {
class Tensor;
}

namespace titan::train {

/// A transfer in progress. Keep the Transfer and its tensors alive until wait() returns. Until then the values of a
/// received tensor are undefined, and a sent tensor must not change. On the CPU wait() returns when the transfer is
/// done. On a GPU it orders the device's later work after the transfer and returns at once.
class Transfer {
 public:
  virtual ~Transfer() = default;
  virtual void wait() = 0;
};

class Fabric {
 public:
  virtual ~Fabric() = default;
  virtual int rank() const = 0;  ///< of this process in the group
  virtual int size() const = 0;

  /// Announces the transfers that the group will carry, except send and recv. A fabric that needs connections for these
  /// transfers makes the connections here. All members call it before the first step, while no transfer is in progress;
  /// it may be called again. \error throws CommError
  virtual void expect(const ExchangePeers&) {}
  /// Sends in_splits[r] elements of `in` to rank r, and receives out_splits[r] elements from it into `out`. Both
  /// tensors are 1-D, with the elements of all ranks in rank order. Orders later work of the device after the transfer,
  /// as Transfer::wait(). Both tensors may be freed when the call returns.
  virtual void all_to_all(at::Tensor& out, const std::vector<std::int64_t>& out_splits, const at::Tensor& in,
                          const std::vector<std::int64_t>& in_splits) = 0;
  /// As all_to_all(), among a few ranks (ExchangePeers::few): ranks that exchange no elements with each other do not
  /// wait for each other. `tag` follows the rules of send().
  virtual void exchange(at::Tensor& out, const std::vector<std::int64_t>& out_splits, const at::Tensor& in,
                        const std::vector<std::int64_t>& in_splits, std::uint64_t tag);
  /// Starts to send `tensor` to rank `dst`, which receives it with the same `tag` (below 2^31) and number of bytes.
  /// Only one transfer at a time may have the same src, dst and tag. A rank cannot send to itself.
  virtual std::unique_ptr<Transfer> send(const at::Tensor& tensor, int dst, std::uint64_t tag) = 0;
  virtual std::unique_ptr<Transfer> recv(at::Tensor& tensor, int src, std::uint64_t tag) = 0;
  /// Starts to send `give` to `peer` and to receive `take` from it, in one operation. The peer calls swap(), too, with
  /// the same `tag`; its `take` is as long as `give`.
  virtual std::unique_ptr<Transfer> swap(const at::Tensor& give, at::Tensor& take, int peer, std::uint64_t tag);
};

}  // namespace titan::train
