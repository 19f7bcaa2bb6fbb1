#pragma once
// Reads the header of a NumPy file. \source https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "ckpt/base/result.h"

namespace titan::corpus {

/// The largest header that is read, in bytes.
inline constexpr std::size_t kLongestNpyHeader = 1 << 16;

struct NpyHeader {
  std::string descr;  ///< dtype of the elements: "<i4" for little-endian int32
  bool fortran_order = false;
  std::vector<std::uint64_t> shape;
  std::uint64_t data_offset = 0;  ///< bytes before the first element
};
/// Parses the header at the beginning of a NumPy file. `file`: the whole file, or at least its first kLongestNpyHeader
/// bytes. \error kInvalid: not a NumPy file of version 1 to 3, or a header that cannot be parsed
ckpt::Result<NpyHeader> parse_npy_header(std::span<const std::byte> file);

}  // namespace titan::corpus
