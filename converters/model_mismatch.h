#pragma once
// Errors for a configuration and weights that belong to different models.
#include <string>
#include <vector>

#include "ckpt/base/status.h"
#include "ckpt/model/tensor_meta.h"
#include "recipe/model/dims.h"

namespace titan::convert {

/// Whose configuration keys the hint of an error uses.
enum class ConfigKeys {
  kHuggingface,
  kHuggingfaceLocal,  ///< Hugging Face's, with num_local_experts in place of num_experts
  kMistral,
  kGguf,
  kTitan
};

/// The error that `tensor` of `path` has `shape`, but `model` implies `expected`. The hint names the key and the value
/// that would fit, if there is one. Always kIncompatible.
ckpt::Status shape_mismatch(const std::string& path, const std::string& tensor, const std::vector<std::uint64_t>& shape,
                            const ckpt::ParameterMeta& expected, const recipe::ModelDims& model, ConfigKeys keys);

/// The hint if the weights have `layers` layers and `model` has another number; "" if they agree, or if `layers` is 0.
std::string layers_mismatch(std::int64_t layers, const recipe::ModelDims& model, ConfigKeys keys);

}  // namespace titan::convert
