#pragma once
// Reads and writes little-endian numbers in byte strings. Bytes are combined one by one, because numbers in these files
// are not aligned.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace titan::convert {

/// The number in the `count` bytes (at most 8) from index `at` on. The caller has checked that `bytes` is long enough.
inline std::uint64_t get_le(std::string_view bytes, std::size_t at, std::size_t count) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < count; ++i) value |= std::uint64_t{static_cast<unsigned char>(bytes[at + i])} << (8 * i);
  return value;
}

inline void put_le(std::string& out, std::uint64_t value, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) out.push_back(static_cast<char>(value >> (8 * i)));
}

}  // namespace titan::convert
