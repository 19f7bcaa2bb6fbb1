#pragma once
// A lane: a second queue of work, in which gradients and weights are exchanged while the run computes.
#include <cstddef>
#include <functional>

namespace titan::train {

/// Runs work items in the order in which they are given. Each item runs after everything that the run had started
/// before give(). Until wait() has covered an item, nothing else may use the tensors and fabrics that it uses. One
/// thread at a time calls these functions.
class Lane {
 public:
  using Work = std::function<void()>;
  /// Waits for the item in progress. Items that have not started do not run.
  virtual ~Lane() = default;
  virtual void give(Work work) = 0;
  /// Number of items given so far.
  virtual std::size_t given() const = 0;
  /// Makes everything that the run starts later run after the first `count` items. On the CPU wait() returns when these
  /// items are done; on a GPU only the GPU waits. Releases what these items hold. \error rethrows an item's exception
  virtual void wait(std::size_t count) = 0;
  void wait_all() { wait(given()); }
};

}  // namespace titan::train
