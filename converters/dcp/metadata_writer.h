#pragma once
// Writes a `.metadata` file that torch.distributed.checkpoint.load accepts.
#include <cstdint>
#include <string>
#include <vector>

#include "converters/pickle/item_writer.h"

namespace titan::convert::dcp {

/// One key to write. A tensor is one chunk; all items are in one file.
struct WrittenItem {
  std::vector<std::string> path;  ///< the key's path once torch unflattens it: {"optimizer", "state.norm.weight.step"};
                                  ///< the key is the path's parts joined by '.'
  std::string dtype;              ///< empty for a plain value
  std::vector<std::uint64_t> shape;
  ItemRange range;
};

/// Encodes a `.metadata` for `items`, all of which are in the file `file`. TensorProperties has five fields, which
/// torch 2.15 also reads. \source torch/distributed/checkpoint/metadata.py of torch 2.11
std::string encode_metadata(const std::string& file, const std::vector<WrittenItem>& items);

}  // namespace titan::convert::dcp
