#pragma once
// The groups of ranks that training needs. Control transfers host values, Fabric transfers tensors. Backends implement
// both; callers never see c10d.
#include <functional>
#include <memory>

#include "libtrain/engine/parallel/fabric.h"
#include "libtrain/job/talk/control.h"

namespace titan::train {

/// Control and Fabric over the same connections.
class Communicator : public Control, public Fabric {
 public:
  int rank() const override = 0;
  int size() const override = 0;
};

/// The groups of one rank in a D x P mesh. Global rank = stage * dp + dp_rank.
struct World {
  int rank = 0, size = 1;
  int stage = 0, dp_rank = 0;
  std::unique_ptr<Control> all;  ///< every rank; training deadline
  std::unique_ptr<Fabric> dp;    ///< ranks of this stage, by dp_rank
  std::unique_ptr<Fabric> pp;    ///< ranks of this dp_rank, by stage
  std::unique_ptr<Fabric> node;  ///< the ranks of `dp` in this rank's domain on its node; null: not asked for
  std::unique_ptr<Fabric>
      between_nodes;              ///< the ranks of `dp` with this rank's place in their domains; null: not asked for
  std::unique_ptr<Control> io;    ///< every rank, over the connections of `all`; checkpoint I/O deadline
  std::unique_ptr<Control> save;  ///< every rank, for the thread that saves in the background; null: there is none
  std::uint32_t node_ranks = 0;   ///< ranks per node (their greatest common divisor over nodes); the same on all ranks
  std::function<void()> first_step_done;  ///< call after the first step: training groups then use the training deadline
  /// Tells the other ranks why this rank leaves alone. Returns whether it is the first to leave. Empty: there are no
  /// others.
  std::function<bool(const std::string& words)> leave;
  std::function<void()> shutdown;  ///< barrier, then groups and store in the right order; call before leaving main
};

}  // namespace titan::train
