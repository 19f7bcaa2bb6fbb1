#pragma once
// Element types, names and shapes of the tensors in a checkpoint.
#include <cstdint>
#include <string>
#include <vector>

namespace titan {

/// Element types. Elements are little-endian.
enum class DType { kFloat32, kBFloat16, kFloat16, kFloat64, kInt64, kInt32, kUInt8 };

/// Bytes of one element.
std::uint64_t element_bytes(DType dtype);
/// "float32", "bfloat16", "float16", "float64", "int64", "int32" or "uint8".
const char* dtype_name(DType dtype);

/// A stored tensor: a parameter of the model, or optimizer state with the shape of its parameter.
struct TensorInfo {
  std::string name;       ///< "<parameter>", or "<parameter>.<slot>" such as "output.weight.exp_avg"
  std::string component;  ///< "model" or "optimizer"
  DType dtype = DType::kFloat32;
  std::vector<std::uint64_t> shape;  ///< elements in each dimension; empty for a scalar. Tensors are stored row-major

  std::uint64_t elements() const;  ///< product of the shape; 1 for a scalar
  std::uint64_t bytes() const { return elements() * element_bytes(dtype); }
};

/// The indices [begin, end) of one dimension.
struct Range {
  std::uint64_t begin = 0, end = 0;
};

}  // namespace titan
