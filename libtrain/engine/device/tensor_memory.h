#pragma once
// Allocator for large tensors on the CPU. It reuses freed pages, and returns free pages to the operating system before
// a rank holds much more than the peak of its tensors. (glibc's heap cannot return memory between blocks in use.)
#include <cstddef>
#include <map>
#include <unordered_map>

#include <c10/core/Allocator.h>

#include "ckpt/base/mutex.h"

namespace titan::train {

/// Only one TensorMemory may exist at a time: raw_deleter() is a plain function, which finds the allocator through a
/// global variable.
class TensorMemory final : public c10::Allocator {
 public:
  /// Tensors below kLarge are allocated by `inner`. `inner` must outlive this object, and this object must outlive its
  /// tensors.
  explicit TensorMemory(c10::Allocator& inner);
  ~TensorMemory() override;

  c10::DataPtr allocate(std::size_t bytes) override;
  c10::DeleterFnPtr raw_deleter() const override { return &put_back; }
  void copy_data(void* to, const void* from, std::size_t count) const override { default_copy_data(to, from, count); }

  /// Bytes of pages in use (`used`), of free pages (`free`), and the peak of `used`.
  struct Bytes {
    std::size_t used = 0, free = 0, most_used = 0;
  };
  Bytes bytes() const;

  /// Size in bytes from which on a tensor gets pages of its own.
  static constexpr std::size_t kLarge = 256 << 10;

 private:
  static void put_back(void* data);
  bool free_pages(std::byte* data);
  std::byte* take(std::size_t bytes) TITAN_REQUIRES(mutex_);
  void unmap(std::size_t bytes) TITAN_REQUIRES(mutex_);

  c10::Allocator& inner_;
  mutable ckpt::Mutex mutex_;
  std::unordered_map<std::byte*, std::size_t> used_ TITAN_GUARDED_BY(mutex_);
  std::map<std::byte*, std::size_t> free_ TITAN_GUARDED_BY(mutex_);  ///< ranges of pages; adjacent ranges are merged
  Bytes bytes_ TITAN_GUARDED_BY(mutex_);
};

/// Makes this process allocate CPU tensors through a TensorMemory from now on. A second call does nothing.
void use_tensor_memory();
/// Peak of all large tensors together, in bytes; 0 before use_tensor_memory().
std::size_t most_tensor_bytes();

}  // namespace titan::train
