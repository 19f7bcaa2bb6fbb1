#include "tests/fake_device/device_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <stdexcept>

namespace titan::test {
namespace {

constexpr std::size_t kAlignment = 512;  // as CUDA's
constexpr std::size_t kLarge = 1 << 20;  // from here on, pages go back to the kernel

std::byte* map(int file, int protection) {
  void* const place = ::mmap(nullptr, DeviceMemory::kTotal, protection, MAP_SHARED | MAP_NORESERVE, file, 0);
  if (place == MAP_FAILED) throw std::runtime_error("no addresses for the memory of the fake device");
  return static_cast<std::byte*>(place);
}

}  // namespace

DeviceMemory& DeviceMemory::get() {
  static DeviceMemory* const memory = new DeviceMemory;
  return *memory;
}

DeviceMemory::DeviceMemory() {
  const int file = ::memfd_create("fake device", MFD_CLOEXEC);
  if (file < 0 || ::ftruncate(file, static_cast<off_t>(kTotal)) != 0)
    throw std::runtime_error("no memory for the fake device");
  guarded_ = map(file, PROT_NONE);
  open_ = map(file, PROT_READ | PROT_WRITE);
  ::close(file);
  free_.emplace(0, kTotal);
  bytes_.total = kTotal;
}

c10::DataPtr DeviceMemory::allocate(std::size_t bytes) {
  const c10::Device place(c10::DeviceType::PrivateUse1, 0);
  if (bytes == 0) return {nullptr, nullptr, &put_back, place};
  const std::size_t length = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  std::size_t offset = 0;
  {
    const std::lock_guard lock(mutex_);
    const auto range = std::ranges::find_if(free_, [&](const auto& r) { return r.second >= length; });
    if (range == free_.end() || bytes_.current + bytes > bytes_.total)
      throw std::runtime_error("the fake device is out of memory");
    offset = range->first;
    if (range->second > length) free_.emplace(offset + length, range->second - length);
    free_.erase(range);
    used_.emplace(offset, Block{length, bytes});
    bytes_.current += bytes;
    bytes_.peak = std::max(bytes_.peak, bytes_.current);
  }
  std::memset(open_ + offset, 0xff, bytes);
  return {guarded_ + offset, guarded_ + offset, &put_back, place};
}

void DeviceMemory::put_back(void* address) {
  if (address == nullptr) return;
  DeviceMemory& memory = get();
  const std::lock_guard lock(memory.mutex_);
  const auto block = memory.used_.find(static_cast<std::size_t>(static_cast<std::byte*>(address) - memory.guarded_));
  if (block == memory.used_.end()) std::abort();
  const auto [length, wanted] = block->second;
  if (length >= kLarge) ::madvise(memory.open_ + block->first, length / kLarge * kLarge, MADV_REMOVE);
  memory.bytes_.current -= wanted;
  auto range = memory.free_.emplace(block->first, length).first;
  memory.used_.erase(block);
  if (const auto next = std::next(range); next != memory.free_.end() && range->first + range->second == next->first) {
    range->second += next->second;
    memory.free_.erase(next);
  }
  if (range == memory.free_.begin()) return;
  if (const auto before = std::prev(range); before->first + before->second == range->first) {
    before->second += range->second;
    memory.free_.erase(range);
  }
}

void DeviceMemory::copy_data(void* to, const void* from, std::size_t count) const {
  std::memcpy(for_kernels(to), for_kernels(from), count);
}

std::byte* DeviceMemory::for_kernels(const void* address) const {
  if (address == nullptr) return nullptr;
  const auto offset = static_cast<std::size_t>(static_cast<const std::byte*>(address) - guarded_);
  if (offset >= kTotal) throw std::logic_error("a kernel of the fake device reads memory of the host");
  return open_ + offset;
}

DeviceMemory::Bytes DeviceMemory::bytes() const {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

void DeviceMemory::limit(std::size_t total) {
  const std::lock_guard lock(mutex_);
  bytes_.total = total;
}

void DeviceMemory::reset_peak() {
  const std::lock_guard lock(mutex_);
  bytes_.peak = bytes_.current;
}

}  // namespace titan::test
