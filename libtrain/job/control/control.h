#pragma once
// A group of ranks that exchange small values in host memory (texts, numbers) and wait for each other. A group of
// several ranks always uses Gloo, also if the tensors are on GPUs.
//
// All ranks of a group call the same operations in the same order, except sends and receives. One thread at a time uses
// a group. Any operation may throw CommError; the group cannot be used afterwards.
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "libtrain/job/control/comm_error.h"

namespace titan::train {

class Control {
 public:
  virtual ~Control() = default;
  virtual int rank() const = 0;  ///< rank in the group
  virtual int size() const = 0;

  /// Sends `bytes` to rank `dst`, which must call recv_bytes() with the same number of bytes and the same tag. Returns
  /// when they are sent. Throws CommError if a rank's heartbeat stops meanwhile.
  virtual void send_bytes(std::string_view bytes, int dst, std::uint64_t tag) = 0;
  /// Receives bytes.size() bytes that rank `src` sends with `tag`. Throws CommError if a rank's heartbeat stops
  /// meanwhile.
  virtual void recv_bytes(std::span<char> bytes, int src, std::uint64_t tag) = 0;
  /// Element-wise sum over ranks, on every rank.
  virtual void sum(std::span<std::int64_t> values) = 0;
  /// Element-wise sum in an unspecified order: use it only if at most one rank's element is not zero.
  virtual void sum(std::span<double> values) = 0;
  /// Every rank's bytes, in rank order, on every rank.
  virtual std::vector<std::string> all_gather(const std::string& bytes) = 0;
  /// Rank `root`'s bytes on every rank.
  virtual std::string broadcast(const std::string& bytes, int root) = 0;
  virtual void barrier() = 0;
};

}  // namespace titan::train
