#pragma once
// The groups of ranks that training uses. Control transfers host values, Fabric transfers tensors. Backends implement
// both; c10d is not visible to callers.
#include <functional>
#include <memory>

#include "libtrain/engine/parallel/fabric.h"
#include "libtrain/job/control/control.h"

namespace titan::train {

/// Control and Fabric over the same connections.
class Communicator : public Control, public Fabric {
 public:
  int rank() const override = 0;
  int size() const override = 0;
};

/// The groups of one rank in a DP x PP mesh. Global rank = stage * dp + dp_rank.
struct World {
  int rank = 0, size = 1;
  int stage = 0, dp_rank = 0;
  std::unique_ptr<Control> all;  ///< all ranks; training timeout
  std::unique_ptr<Fabric> dp;    ///< ranks of this stage, by dp_rank
  std::unique_ptr<Fabric> pp;    ///< ranks of this dp_rank, by stage
  std::unique_ptr<Fabric> node;  ///< the ranks of `dp` in this rank's domain on its node; null if not requested
  std::unique_ptr<Fabric>
      between_nodes;              ///< the ranks of `dp` at the same position in their domains; null if not requested
  std::unique_ptr<Control> io;    ///< all ranks, over the connections of `all`; checkpoint I/O timeout
  std::unique_ptr<Control> save;  ///< all ranks, for the background saver; null if there is none
  std::uint32_t node_ranks = 0;   ///< ranks per node (their greatest common divisor over nodes); the same on all ranks
  std::function<void()> first_step_done;  ///< call after the first step: training groups then use the training timeout
  /// Tells the other ranks why this rank leaves. Returns whether it is the first to leave. Empty: there are no other
  /// ranks.
  std::function<bool(const std::string& words)> leave;
  std::function<void()> shutdown;  ///< barrier, then groups and store in the right order; call before leaving main
};

}  // namespace titan::train
