#include "ckpt/model/leaf.h"

#include <limits>

namespace titan::ckpt {

std::uint64_t element_count(std::span<const std::uint64_t> shape) {
  std::uint64_t count = 1;
  for (std::uint64_t dimension : shape) count *= dimension;
  return count;
}

bool checked_elements(std::span<const std::uint64_t> shape, std::uint64_t* count) {
  constexpr std::uint64_t kMax = std::numeric_limits<std::int64_t>::max();
  bool empty = false;
  for (std::uint64_t dimension : shape) {
    if (dimension > kMax) return false;
    if (dimension == 0) empty = true;
  }
  // An empty tensor has no elements however large its other dimensions are.
  std::uint64_t product = empty ? 0 : 1;
  if (!empty) {
    for (std::uint64_t dimension : shape) {
      if (__builtin_mul_overflow(product, dimension, &product) || product > kMax) return false;
    }
  }
  *count = product;
  return true;
}

}  // namespace titan::ckpt
