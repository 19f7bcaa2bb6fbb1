#include "ckpt/model/tensor_meta.h"

#include "ckpt/base/text.h"

namespace titan::ckpt {

std::string shape_text(const std::vector<std::uint64_t>& shape) {
  return "[" + joined(shape, ", ", [](std::uint64_t size) { return std::to_string(size); }) + "]";
}

}  // namespace titan::ckpt
