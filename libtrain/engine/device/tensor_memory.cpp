#include "libtrain/engine/device/tensor_memory.h"

#include <c10/core/CPUAllocator.h>
#include <sys/mman.h>

#include <algorithm>
#include <iterator>
#include <stdexcept>

#include "ckpt/base/integers.h"
#include "libtrain/job/forecast/memory.h"

namespace titan::train {
namespace {

constexpr std::size_t kPage = 4096;

TensorMemory* the_one = nullptr;

}  // namespace

TensorMemory::TensorMemory(c10::Allocator& inner) : inner_(inner) {
  if (the_one != nullptr) throw std::logic_error("a second memory of tensors");
  the_one = this;
}

TensorMemory::~TensorMemory() {
  the_one = nullptr;
  const ckpt::MutexLock lock(mutex_);
  unmap(bytes_.free);
}

TensorMemory::Bytes TensorMemory::bytes() const {
  const ckpt::MutexLock lock(mutex_);
  return bytes_;
}

/// Returns free pages to the operating system: `bytes` bytes, or all if there are fewer.
void TensorMemory::unmap(std::size_t bytes) {
  while (bytes > 0 && !free_.empty()) {
    const auto last = std::prev(free_.end());
    const std::size_t part = std::min(bytes, last->second);
    last->second -= part;
    ::munmap(last->first + last->second, part);
    if (last->second == 0) free_.erase(last);
    bytes_.free -= part;
    bytes -= part;
  }
}

/// Takes pages from the smallest free range that is large enough, else from the operating system. Null if that has
/// none.
std::byte* TensorMemory::take(std::size_t bytes) {
  auto best = free_.end();
  for (auto range = free_.begin(); range != free_.end(); ++range)
    if (range->second >= bytes && (best == free_.end() || range->second < best->second)) best = range;
  if (best != free_.end()) {
    const auto [data, length] = *best;
    free_.erase(best);
    if (length > bytes) free_.emplace(data + bytes, length - bytes);
    bytes_.free -= bytes;
    return data;
  }
  const std::size_t held = bytes_.used + bytes_.free + bytes, most = bytes_.most_used + bytes_.most_used / kMemorySlack;
  if (held > most) unmap(held - most);
  void* data = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED) return nullptr;
  // Asks for huge pages. With small pages a load of a checkpoint takes twice as long, due to page faults.
  (void)::madvise(data, bytes, MADV_HUGEPAGE);
  return static_cast<std::byte*>(data);
}

c10::DataPtr TensorMemory::allocate(std::size_t bytes) {
  if (bytes < kLarge) return inner_.allocate(bytes);
  const std::size_t size = ckpt::round_up(bytes, kPage);
  const ckpt::MutexLock lock(mutex_);
  bytes_.most_used = std::max(bytes_.most_used, bytes_.used + size);
  std::byte* const data = take(size);
  if (data == nullptr) return inner_.allocate(bytes);  // reports the out-of-memory error
  bytes_.used += size;
  used_.emplace(data, size);
  return {data, data, &put_back, c10::DeviceType::CPU};
}

void TensorMemory::put_back(void* data) {
  TensorMemory& memory = *the_one;
  if (!memory.free_pages(static_cast<std::byte*>(data))) memory.inner_.raw_deleter()(data);
}

/// Returns false if `data` is not from this allocator.
bool TensorMemory::free_pages(std::byte* data) {
  const ckpt::MutexLock lock(mutex_);
  const auto block = used_.find(data);
  if (block == used_.end()) return false;
  bytes_.used -= block->second;
  bytes_.free += block->second;
  auto range = free_.emplace(data, block->second).first;
  used_.erase(block);
  if (const auto next = std::next(range); next != free_.end() && range->first + range->second == next->first) {
    range->second += next->second;
    free_.erase(next);
  }
  if (range == free_.begin()) return true;
  if (const auto before = std::prev(range); before->first + before->second == range->first) {
    before->second += range->second;
    free_.erase(range);
  }
  return true;
}

void use_tensor_memory() {
  // Never destroyed: static objects may free tensors after our own static objects are destroyed.
  static TensorMemory* const memory = [] {
    auto* made = new TensorMemory(*c10::GetCPUAllocator());
    c10::SetCPUAllocator(made);
    return made;
  }();
  (void)memory;
}

std::size_t most_tensor_bytes() { return the_one == nullptr ? 0 : the_one->bytes().most_used; }

}  // namespace titan::train
