#pragma once
// The bytes of a `.metadata` file that torch.distributed.checkpoint.load takes.
#include <cstdint>
#include <string>
#include <vector>

#include "converters/pickle/item_writer.h"

namespace titan::convert::dcp {

/// One key to be written: whole, in one file.
struct WrittenItem {
  std::vector<std::string>
      path;           ///< how torch unflattens it: {"optimizer", "state.norm.weight.step"}; the key is joined by '.'
  std::string dtype;  ///< empty for a plain value
  std::vector<std::uint64_t> shape;
  ItemRange range;
};

/// \source torch/distributed/checkpoint/metadata.py of torch 2.11; TensorProperties has five parts, which 2.15 reads
/// too
std::string encode_metadata(const std::string& file, const std::vector<WrittenItem>& items);

}  // namespace titan::convert::dcp
