#pragma once
// A second queue of work: exchanges run there while the run computes.
#include <cstddef>
#include <functional>

namespace titan::train {

/// Work items run in order. Each starts after everything that the run had started when the item was given. Until an
/// item has been waited for, its tensors and fabrics must not be used. One thread at a time gives and waits.
class Lane {
 public:
  using Work = std::function<void()>;
  /// Waits for the item in progress; drops items that have not started.
  virtual ~Lane() = default;
  virtual void give(Work work) = 0;
  /// Number of items given so far.
  virtual std::size_t given() const = 0;
  /// Orders everything that the run starts later after the first `count` items, and releases what those items hold.
  /// \error rethrows an item's exception
  virtual void wait(std::size_t count) = 0;
  void wait_all() { wait(given()); }
};

}  // namespace titan::train
