#pragma once
// The memory of large tensors on the CPU: pages that are used again, and go back to the kernel before a rank holds much
// more than its tensors needed at one time. glibc's heap keeps what is freed between blocks that live on.
#include <cstddef>
#include <map>
#include <unordered_map>

#include <c10/core/Allocator.h>

#include "ckpt/base/mutex.h"

namespace titan::train {

/// One at a time: LibTorch's products ask for memory that is freed by a plain function.
class TensorMemory final : public c10::Allocator {
 public:
  /// Smaller tensors stay with `inner`, which must outlive the object, as the object its tensors.
  explicit TensorMemory(c10::Allocator& inner);
  ~TensorMemory() override;

  c10::DataPtr allocate(std::size_t bytes) override;
  c10::DeleterFnPtr raw_deleter() const override { return &put_back; }
  void copy_data(void* to, const void* from, std::size_t count) const override { default_copy_data(to, from, count); }

  /// Of pages in use, of free ones, and the most that were in use at one time.
  struct Bytes {
    std::size_t used = 0, free = 0, most_used = 0;
  };
  Bytes bytes() const;

  /// From this size on, in bytes, a tensor has a block.
  static constexpr std::size_t kLarge = 256 << 10;

 private:
  static void put_back(void* data);
  bool free_pages(std::byte* data);
  std::byte* take(std::size_t bytes) TITAN_REQUIRES(mutex_);
  void unmap(std::size_t bytes) TITAN_REQUIRES(mutex_);

  c10::Allocator& inner_;
  mutable ckpt::Mutex mutex_;
  std::unordered_map<std::byte*, std::size_t> used_ TITAN_GUARDED_BY(mutex_);
  std::map<std::byte*, std::size_t> free_ TITAN_GUARDED_BY(mutex_);  ///< ranges of pages; no two adjoin
  Bytes bytes_ TITAN_GUARDED_BY(mutex_);
};

/// Gives the tensors of this process such memory from here on. A second call does nothing.
void use_tensor_memory();
/// The most bytes of large tensors that have lived at one time; 0 before use_tensor_memory().
std::size_t most_tensor_bytes();

}  // namespace titan::train
