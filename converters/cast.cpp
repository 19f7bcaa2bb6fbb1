#include "converters/cast.h"

#include <cassert>
#include <cstring>

namespace titan::convert {

using ckpt::DType;

bool is_castable(DType dtype) { return dtype == DType::kF32 || dtype == DType::kBF16 || dtype == DType::kF16; }

ckpt::RoundingError cast(DType from, std::span<const std::byte> in, DType to, std::span<std::byte> out) {
  assert(ckpt::is_float(from) && (from == to || is_castable(to)));
  if (from != to) return ckpt::convert_elements(from, in, to, out);
  std::memcpy(out.data(), in.data(), in.size());
  return {};
}

}  // namespace titan::convert
