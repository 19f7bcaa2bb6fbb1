#pragma once
// A second queue of work next to the run's own: exchanges are carried out there while the run computes.
#include <cstddef>
#include <functional>

namespace titan::train {

/// Works run in order. Each starts only after everything that the run had begun when the work was given. Until a work
/// has been waited for, do not touch its tensors or fabrics. One thread at a time gives and waits.
class Lane {
 public:
  using Work = std::function<void()>;
  /// Waits for the work that is under way. Works that have not begun are dropped.
  virtual ~Lane() = default;
  virtual void give(Work work) = 0;
  /// Works given so far.
  virtual std::size_t given() const = 0;
  /// Makes everything that the run begins later come after the first `count` works, and frees what those works hold.
  /// \error rethrows what a work threw
  virtual void wait(std::size_t count) = 0;
  void wait_all() { wait(given()); }
};

}  // namespace titan::train
