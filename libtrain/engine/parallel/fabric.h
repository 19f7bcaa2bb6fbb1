#pragma once
// A group of ranks that exchanges tensors of the device. Copies alone: whatever adds up does so in an order of Titan's.
//
// All ranks of a group call the same operations in the same order, except send/recv, one thread at a time per group.
// Tensors are contiguous, on the device. Any operation may throw CommError; the group is of no use afterwards.
#include <cstdint>
#include <memory>
#include <vector>

#include "libtrain/job/order/exchange_ways.h"
#include "libtrain/job/talk/comm_error.h"

namespace at {
class Tensor;
}

namespace titan::train {

/// A transfer under way. Keep it (and the tensor) alive until wait(): before that, what is received is undefined, and
/// what is sent must not change. wait() orders what the device does next after it; the host may go on at once.
class Transfer {
 public:
  virtual ~Transfer() = default;
  virtual void wait() = 0;
};

class Fabric {
 public:
  virtual ~Fabric() = default;
  virtual int rank() const = 0;  ///< in the group
  virtual int size() const = 0;

  /// What the group will be used for beside send and recv, said by all members before the first step. May be said
  /// again. Whoever connects for it does so here, while nothing is under way. \error throws CommError
  virtual void expect(const ExchangeWays&) {}
  /// Sends `in` cut along dim 0 by `in_splits` (elements; in is 1-D) and receives rows in rank order into `out`: before
  /// what the device does next. Both tensors may go at once.
  virtual void all_to_all(at::Tensor& out, const std::vector<std::int64_t>& out_splits, const at::Tensor& in,
                          const std::vector<std::int64_t>& in_splits) = 0;
  /// The same among few (ExchangeWays::few): ranks between which nothing goes have nothing to do with each other. `tag`
  /// is used as that of a send.
  virtual void exchange(at::Tensor& out, const std::vector<std::int64_t>& out_splits, const at::Tensor& in,
                        const std::vector<std::int64_t>& in_splits, std::uint64_t tag);
  /// Point to point between two different ranks; tag < 2^31. A (src, dst, tag) triple is used by one transfer at a
  /// time. Both sides agree on the number of bytes.
  virtual std::unique_ptr<Transfer> send(const at::Tensor& tensor, int dst, std::uint64_t tag) = 0;
  virtual std::unique_ptr<Transfer> recv(at::Tensor& tensor, int src, std::uint64_t tag) = 0;
  /// Both at once, with a rank that does the same: what one gives is as long as what the other takes.
  virtual std::unique_ptr<Transfer> swap(const at::Tensor& give, at::Tensor& take, int peer, std::uint64_t tag);
};

}  // namespace titan::train
