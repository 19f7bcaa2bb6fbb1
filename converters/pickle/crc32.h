#pragma once
// CRC-32 of zip and gzip (polynomial 0xedb88320, reflected).
#include <cstddef>
#include <cstdint>
#include <span>

namespace titan::convert {

/// CRC-32 of `data`, continued from `crc` (0 at the start). Processes 64 bytes at a time if the processor has
/// carry-less multiplication, an order of magnitude faster than zlib's tables. The result is the same on all
/// processors.
std::uint32_t crc32(std::uint32_t crc, std::span<const std::byte> data);

/// The same CRC computed by zlib, for tests of crc32().
std::uint32_t crc32_by_tables(std::uint32_t crc, std::span<const std::byte> data);

}  // namespace titan::convert
