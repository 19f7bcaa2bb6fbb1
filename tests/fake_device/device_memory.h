#pragma once
// The fake device's memory: pages that the host may not access at the tensors' addresses, mapped a second time for
// kernels. Its statistics are exact.
#include <cstddef>
#include <map>
#include <mutex>

#include <c10/core/Allocator.h>

namespace titan::test {

class DeviceMemory final : public c10::Allocator {
 public:
  /// Never destroyed, since tensors with static storage may be freed last.
  static DeviceMemory& get();

  /// Memory that is not written yet is NaN in any type.
  c10::DataPtr allocate(std::size_t bytes) override;
  c10::DeleterFnPtr raw_deleter() const override { return &put_back; }
  void copy_data(void* to, const void* from, std::size_t count) const override;

  /// The address at which kernels access the tensor memory at `address`.
  std::byte* for_kernels(const void* address) const;

  /// Of tensors that live, and the most at one time since reset_peak().
  struct Bytes {
    std::size_t current = 0, peak = 0, total = 0;
  };
  Bytes bytes() const;
  void reset_peak();
  /// It has as many bytes as this from here on.
  void limit(std::size_t total);
  static constexpr std::size_t kTotal = std::size_t{1} << 35;  // of addresses; pages come as they are written

 private:
  DeviceMemory();
  static void put_back(void* address);

  std::byte *guarded_ = nullptr, *open_ = nullptr;
  mutable std::mutex mutex_;
  std::map<std::size_t, std::size_t> free_;  ///< offset and length of ranges; no two adjoin
  struct Block {
    std::size_t length, wanted;
  };
  std::map<std::size_t, Block> used_;
  Bytes bytes_;
};

}  // namespace titan::test
