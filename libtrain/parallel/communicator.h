#pragma once
// A group of ranks and the few collectives that training needs. Backends implement it; callers never see c10d.
//
// Errors are exceptions of type CommError: a dead or silent peer ends the job, so nobody recovers in place.
// All ranks of a group call the same operations in the same order, except send/recv, one thread at a time per group.
// Tensors are contiguous, on the CPU. Any operation may throw CommError; the group is of no use afterwards.
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ckpt/base/status.h"

namespace at {
class Tensor;
}

namespace titan::train {

/// A peer died or stayed silent past the deadline; the message names it where that is known.
struct CommError : std::runtime_error {
  explicit CommError(const std::string& message, std::vector<int> ranks = {})
      : CommError(ckpt::failed(message), std::move(ranks)) {}
  explicit CommError(ckpt::Status s, std::vector<int> ranks = {})
      : std::runtime_error(s.message), status(std::move(s)), lost(std::move(ranks)) {}
  ckpt::Status status;
  std::vector<int> lost;  ///< the ranks that are gone, silent or about to leave, where they are known
};

/// A transfer under way; wait() blocks until it is done. Keep it (and the tensor) alive until then.
class Transfer {
 public:
  virtual ~Transfer() = default;
  virtual void wait() = 0;
};

class Communicator {
 public:
  virtual ~Communicator() = default;
  virtual int rank() const = 0;  ///< in the group
  virtual int size() const = 0;

  /// Sends `in` cut along dim 0 by `in_splits` (elements; in is 1-D) and receives rows in rank order into `out`.
  virtual void all_to_all(at::Tensor& out, const std::vector<std::int64_t>& out_splits, const at::Tensor& in,
                          const std::vector<std::int64_t>& in_splits) = 0;
  /// Element-wise sum over ranks in an unspecified order: use only where at most one rank's element is not zero,
  /// or for integers.
  virtual void all_reduce_sum(at::Tensor& tensor) = 0;
  /// Point to point between two different ranks; tag < 2^31. A (src, dst, tag) triple is used by one transfer at a
  /// time. Both sides agree on the number of bytes. Tensors must stay alive until wait().
  virtual std::unique_ptr<Transfer> send(const at::Tensor& tensor, int dst, std::uint64_t tag) = 0;
  virtual std::unique_ptr<Transfer> recv(at::Tensor& tensor, int src, std::uint64_t tag) = 0;

  /// Sends `bytes` to another rank, which knows their number; returns when they have left. Heartbeats are watched
  /// meanwhile.
  virtual void send_bytes(std::string_view bytes, int dst, std::uint64_t tag) = 0;
  /// Receives as many bytes from another rank as `bytes` holds; in the same way.
  virtual void recv_bytes(std::span<char> bytes, int src, std::uint64_t tag) = 0;
  /// Element-wise sum over ranks, on every rank.
  virtual void sum(std::span<std::int64_t> values) = 0;
  /// Every rank's bytes, in rank order, on every rank.
  virtual std::vector<std::string> all_gather(const std::string& bytes) = 0;
  /// Rank `root`'s bytes on every rank.
  virtual std::string broadcast(const std::string& bytes, int root) = 0;
  virtual void barrier() = 0;
};

/// The groups of one rank in a D x P mesh. Global rank = stage * dp + dp_rank.
struct World {
  int rank = 0, size = 1;
  int stage = 0, dp_rank = 0;
  std::unique_ptr<Communicator> all;   ///< every rank; training deadline
  std::unique_ptr<Communicator> dp;    ///< ranks of this stage, by dp_rank
  std::unique_ptr<Communicator> pp;    ///< ranks of this dp_rank, by stage
  std::unique_ptr<Communicator> node;  ///< of `dp`, those of this rank's domain on its node; null: not asked for
  std::unique_ptr<Communicator> between_nodes;  ///< of `dp`, those with this rank's place in their domains; null: same
  std::unique_ptr<Communicator> io;             ///< every rank, over the connections of `all`; checkpoint I/O deadline
  std::unique_ptr<Communicator> save;     ///< every rank, for a thread that saves in the background; null: none does
  std::uint32_t node_ranks = 0;           ///< neighbours on one node, whichever rank is asked; 0: not asked for
  std::function<void()> first_step_done;  ///< from then on the training deadline holds in the groups of training
  std::function<void()> shutdown;  ///< barrier, then groups and store in the right order; call before leaving main
};

}  // namespace titan::train
