#pragma once
// A group of ranks that exchanges tensors on the device. A fabric only copies; Titan adds values in its own order.
//
// All ranks of a group call the same operations in the same order, except send and recv. One thread at a time uses a
// group. Tensors are contiguous and on the device. Any operation may throw CommError; the group cannot be used
// afterwards.
#include <cstdint>
#include <memory>
#include <vector>

#include "libtrain/job/control/comm_error.h"
#include "libtrain/job/reduction/exchange_ways.h"

namespace at {
class Tensor;
}

namespace titan::train {

/// A transfer in progress. Keep it (and the tensor) alive until wait(); until then a received tensor is undefined, and
/// a sent one must not change. wait() orders later work of the device after the transfer; the host may continue at
/// once.
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

  /// Announces which transfers besides send and recv the group will carry. All members call it before the first step,
  /// and may call it again. A backend that needs connections for them creates them here, while no transfer is in
  /// progress. \error throws CommError
  virtual void expect(const ExchangeWays&) {}
  /// Sends `in` (1-D), split by `in_splits` (elements), and receives rows in rank order into `out`. Later work of the
  /// device is ordered after it. Both tensors may be freed at once.
  virtual void all_to_all(at::Tensor& out, const std::vector<std::int64_t>& out_splits, const at::Tensor& in,
                          const std::vector<std::int64_t>& in_splits) = 0;
  /// As all_to_all(), among a few ranks (ExchangeWays::few): ranks that exchange no elements do not wait for each
  /// other. `tag` follows the rules of send().
  virtual void exchange(at::Tensor& out, const std::vector<std::int64_t>& out_splits, const at::Tensor& in,
                        const std::vector<std::int64_t>& in_splits, std::uint64_t tag);
  /// Point to point between two different ranks; tag < 2^31. A (src, dst, tag) triple is used by one transfer at a
  /// time. Both sides agree on the number of bytes.
  virtual std::unique_ptr<Transfer> send(const at::Tensor& tensor, int dst, std::uint64_t tag) = 0;
  virtual std::unique_ptr<Transfer> recv(at::Tensor& tensor, int src, std::uint64_t tag) = 0;
  /// Send and receive in one operation, with a peer that also calls swap(). `give` of one rank is as long as `take` of
  /// the other.
  virtual std::unique_ptr<Transfer> swap(const at::Tensor& give, at::Tensor& take, int peer, std::uint64_t tag);
};

}  // namespace titan::train
