#include "ckpt/model/dtype.h"

#include <string>

namespace titan::ckpt {
namespace {

struct Row {
  DType dtype;
  std::uint64_t size;
  std::string_view name;
};
constexpr Row kRows[] = {
    {DType::kF32, 4, "float32"}, {DType::kBF16, 2, "bfloat16"}, {DType::kF16, 2, "float16"},
    {DType::kF64, 8, "float64"}, {DType::kI64, 8, "int64"},     {DType::kI32, 4, "int32"},
    {DType::kU8, 1, "uint8"},
};

const Row& row_of(DType dtype) {
  for (const Row& row : kRows)
    if (row.dtype == dtype) return row;
  assert(false);
  return kRows[0];
}

}  // namespace

std::uint64_t dtype_size(DType dtype) { return row_of(dtype).size; }

std::string_view dtype_name(DType dtype) { return row_of(dtype).name; }

Result<DType> parse_dtype(std::string_view name) {
  std::string known;
  for (const Row& row : kRows) {
    if (row.name == name) return row.dtype;
    known += (known.empty() ? "" : ", ") + std::string(row.name);
  }
  return invalid("unknown element type '" + std::string(name) + "', expected one of " + known);
}

}  // namespace titan::ckpt
