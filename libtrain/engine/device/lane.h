#pragma once
// A second row of work beside the run's own: an exchange goes on there while the run computes.
#include <cstddef>
#include <functional>

namespace titan::train {

/// Works run one behind the other, each after what the run had begun when it was given. Until it is waited for, what a
/// work uses is its own: tensors, and fabrics. One thread at a time gives and waits.
class Lane {
 public:
  using Work = std::function<void()>;
  /// Waits for what is under way. What has not begun does not begin.
  virtual ~Lane() = default;
  virtual void give(Work work) = 0;
  /// Works given so far.
  virtual std::size_t given() const = 0;
  /// What the run begins from here on comes after the first `count` works; what they hold goes. \error what one threw
  virtual void wait(std::size_t count) = 0;
  void wait_all() { wait(given()); }
};

}  // namespace titan::train
