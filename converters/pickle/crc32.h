#pragma once
// CRC-32 of zip and gzip (polynomial 0xedb88320, reflected).
#include <cstddef>
#include <cstdint>
#include <span>

namespace titan::convert::dcp {

/// CRC-32 over `data`, going on from `crc` (0 at the start). Folds 64 bytes at a time where the processor multiplies
/// without carries, which is an order of magnitude faster than zlib's tables; the same value everywhere.
std::uint32_t crc32(std::uint32_t crc, std::span<const std::byte> data);

/// The same by zlib alone: what the fast way is compared with.
std::uint32_t crc32_by_tables(std::uint32_t crc, std::span<const std::byte> data);

}  // namespace titan::convert::dcp
