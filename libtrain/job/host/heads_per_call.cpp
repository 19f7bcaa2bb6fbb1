#include "libtrain/job/host/heads_per_call.h"

#include "ckpt/base/integers.h"

#include <algorithm>
#include <functional>

namespace titan::train {
namespace {

/// Tokens per block of keys; a block is not divided.
constexpr std::int64_t kKeys = 128;

/// Overhead of a call (zeroing, and summing its parts), in units of the time that one multiprocessor needs for a head.
/// Estimated from 0.5 ms at 8,192 tokens, where 32 heads on 132 multiprocessors take 8.3 ms.
constexpr double kCall = 0.024;

/// The cost of one call, in the same unit.
double cost(const AttentionShape& shape, std::int64_t heads, std::int64_t multiprocessors) {
  const std::int64_t rows = shape.batch * heads, keys = ckpt::ceil_div(shape.tokens, kKeys),
                     parts = ckpt::ceil_div(multiprocessors, rows),
                     waves = ckpt::ceil_div(parts * rows, multiprocessors);
  return static_cast<double>(waves * ckpt::ceil_div(keys, parts)) / static_cast<double>(keys) + kCall;
}

}  // namespace

std::vector<std::int64_t> heads_per_call(const AttentionShape& shape, std::int64_t multiprocessors) {
  const auto groups = static_cast<std::size_t>(shape.heads / shape.group);
  // For each number of leading groups: the lowest cost, and the number of groups in its last call.
  std::vector<double> least(groups + 1, 0);
  std::vector<std::size_t> last(groups + 1, 0);
  for (std::size_t count = 1; count <= groups; ++count) {
    for (std::size_t taken = count; taken > 0; --taken) {
      const double with =
          least[count - taken] + cost(shape, static_cast<std::int64_t>(taken) * shape.group, multiprocessors);
      if (last[count] != 0 && with >= least[count]) continue;
      least[count] = with;
      last[count] = taken;
    }
  }
  std::vector<std::int64_t> pieces;
  for (std::size_t left = groups; left > 0; left -= last[left])
    pieces.push_back(static_cast<std::int64_t>(last[left]) * shape.group);
  std::ranges::sort(pieces, std::greater());
  return pieces;
}

}  // namespace titan::train
