#pragma once
// The groups of ranks that training uses. A Control transfers host values, a Fabric transfers tensors. Callers see only
// these interfaces, not c10d.
#include <functional>
#include <memory>

#include "libtrain/engine/parallel/links/fabric.h"
#include "libtrain/job/control/control.h"

namespace titan::train {

/// A Control and a Fabric over the same connections.
class Communicator : public Control, public Fabric {
 public:
  int rank() const override = 0;
  int size() const override = 0;
};

/// The groups of one rank in a DP x PP mesh. `stage` is the rank's pipeline rank. Global rank = stage * (data-parallel
/// degree) + dp_rank. It has many members because connect() sets them all up together: positions, groups, and functions
/// that use the connections.
struct World {
  int rank = 0, size = 1;
  int stage = 0, dp_rank = 0;
  std::unique_ptr<Control> all;  ///< all ranks; the timeout is that of training
  std::unique_ptr<Fabric> dp;    ///< the ranks of this stage, by dp_rank
  std::unique_ptr<Fabric> pp;    ///< the ranks with this dp_rank, by stage
  std::unique_ptr<Fabric> node;  ///< the ranks of `dp` in this rank's domain on its node; null without domains
  std::unique_ptr<Fabric>
      between_nodes;              ///< the ranks of `dp` at the same position in their domains; null without domains
  std::unique_ptr<Control> io;    ///< all ranks, over the connections of `all`; the timeout is that of checkpoint I/O
  std::unique_ptr<Control> save;  ///< all ranks, used only by background savers; null if saves are synchronous
  std::uint32_t node_ranks = 0;   ///< greatest common divisor of the nodes' numbers of ranks; the same on all ranks
  std::function<void()> first_step_done;  ///< call after the first step, which has a longer timeout than later ones
  /// Tells the other ranks why this rank leaves. Returns whether it is the first to leave. Empty: there are no other
  /// ranks.
  std::function<bool(const std::string& words)> leave;
  std::function<void()> shutdown;  ///< a barrier, then closes groups and store; call before main() returns
};

}  // namespace titan::train
