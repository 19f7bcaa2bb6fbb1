#include "titan/ckpt/tensor.h"

#include "api/translate.h"
#include "ckpt/model/leaf.h"

namespace titan {

std::uint64_t element_bytes(DType dtype) { return ckpt::dtype_size(translated(dtype)); }

const char* dtype_name(DType dtype) { return ckpt::dtype_name(translated(dtype)).data(); }

std::uint64_t TensorInfo::elements() const { return ckpt::element_count(shape); }

}  // namespace titan
