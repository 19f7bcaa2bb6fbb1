#pragma once
// model.safetensors.index.json: which file has which tensor.
#include <map>
#include <string>
#include <string_view>

#include "ckpt/base/result.h"

namespace titan::convert {

inline constexpr std::string_view kSafetensorsSuffix = ".safetensors";

/// Tensor name -> name of a file in the same folder.
using WeightMap = std::map<std::string, std::string>;

/// Reads the weight map of an index; `what` names it in messages. Everything else is ignored: `metadata.total_size` is
/// often wrong, and other programs do not read it either. \error kCorrupt: not JSON, a name twice, a file that is not a
/// plain *.safetensors name; kIncompatible: not an object, no map, or a file that is not a text
ckpt::Result<WeightMap> decode_hf_index(const std::string& what, std::string_view json);

}  // namespace titan::convert
