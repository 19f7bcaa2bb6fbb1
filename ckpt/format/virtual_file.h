#pragma once
// The bytes of model/model.h5: virtual datasets over the pieces in shard files. The bytes depend only on names, shapes,
// dtypes and the places of pieces.
// \source FORMAT.md, "model/model.h5"; HDF5 RFC "Virtual Dataset" (HDF5 1.10)
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "ckpt/base/result.h"
#include "ckpt/model/dtype.h"
#include "ckpt/model/leaf.h"

namespace titan::ckpt {

/// Consecutive leaves of a tensor in a shard file.
struct VirtualPiece {
  std::string file;  ///< relative to the folder of the virtual file: "shard-00000.h5"
  LeafRange leaves;
  bool operator==(const VirtualPiece&) const = default;
};

/// One virtual dataset: a parameter, and the pieces that hold its leaves.
struct VirtualTensor {
  std::string name;
  DType dtype = DType::kF32;
  std::vector<std::uint64_t> shape;
  std::uint64_t leaf_elements = kDefaultLeafElements;
  std::vector<VirtualPiece> pieces;
  bool operator==(const VirtualTensor&) const = default;
};

/// A rectangular part of a tensor.
struct Box {
  std::vector<std::uint64_t> start, count;
  std::uint64_t elements() const { return element_count(count); }
  bool operator==(const Box&) const = default;
};

/// Cuts the elements [begin, begin + count) in row-major order into boxes of consecutive elements, in order. At most
/// 2 n - 1 boxes for n dimensions (a matrix: the rest of a row, whole rows, the beginning of a row). Pure.
std::vector<Box> row_major_boxes(const std::vector<std::uint64_t>& shape, std::uint64_t begin, std::uint64_t count);

/// Returns the bytes of the file for `tensors`. Deterministic for one version of libhdf5. Holds a process-wide lock
/// during the call.
/// \error kFailed (libhdf5, equal names)
Result<std::vector<std::byte>> make_virtual_file(const std::vector<VirtualTensor>& tensors);

}  // namespace titan::ckpt
