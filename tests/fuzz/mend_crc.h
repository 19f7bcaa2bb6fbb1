#pragma once
// A mutator that corrects the CRCs of all zip archives in an input, since otherwise no changed payload would pass the
// checksum.
#include <cstdint>
#include <cstring>
#include <span>

#include "converters/pickle/crc32.h"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

namespace titan::fuzz {

inline std::uint64_t little(const std::uint8_t* at, std::size_t bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < bytes; ++i) value |= std::uint64_t{at[i]} << (8 * i);
  return value;
}

inline void mend_archive(std::uint8_t* data, std::size_t end, std::size_t size) {
  const std::size_t locator = end >= 76 && std::memcmp(data + end - 20, "PK\6\7", 4) == 0 ? 76 : 0;
  const std::uint64_t length = little(data + end + 12, 4), offset = little(data + end + 16, 4);
  if (length + offset + locator > end) return;
  const std::size_t base = end - locator - length - offset, last = end - locator;
  for (std::size_t row = base + offset; row + 46 <= last && std::memcmp(data + row, "PK\1\2", 4) == 0;) {
    const std::uint64_t bytes = little(data + row + 24, 4), header = base + little(data + row + 42, 4);
    if (header + 30 > size) return;
    const std::uint64_t payload = header + 30 + little(data + header + 26, 2) + little(data + header + 28, 2);
    if (payload > size || bytes > size - payload) return;
    const std::uint32_t crc = convert::crc32(0, std::as_bytes(std::span(data + payload, bytes)));
    for (int i = 0; i < 4; ++i) data[row + 16 + i] = static_cast<std::uint8_t>(crc >> (8 * i));
    row += 46 + little(data + row + 28, 2) + little(data + row + 30, 2) + little(data + row + 32, 2);
  }
}

/// Changes an input; seven times of eight its CRCs are right afterwards.
inline std::size_t mutate_archives(std::uint8_t* data, std::size_t size, std::size_t max_size, unsigned seed) {
  size = LLVMFuzzerMutate(data, size, max_size);
  if (seed % 8 == 0) return size;
  for (std::size_t at = 0; at + 22 <= size; ++at)
    if (std::memcmp(data + at, "PK\5\6", 4) == 0) mend_archive(data, at, size);
  return size;
}

}  // namespace titan::fuzz

#ifdef TITAN_FUZZ
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned seed) {
  return titan::fuzz::mutate_archives(data, size, max_size, seed);
}
#endif
