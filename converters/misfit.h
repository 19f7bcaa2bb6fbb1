#pragma once
// What to say where a configuration and the weights beside it are of two models.
#include <string>
#include <vector>

#include "ckpt/base/status.h"
#include "ckpt/model/tensor_meta.h"
#include "recipe/model/dims.h"

namespace titan::convert {

/// Whose keys the configuration has that is to be corrected.
enum class ConfigKeys {
  kHuggingface,
  kHuggingfaceLocal,  ///< with num_local_experts
  kMistral,
  kGguf,
  kOurs
};

/// \error kIncompatible always: `tensor` of `path` has `shape`, and `model` makes of it `expected`. The hint names the
/// key and the value that would fit.
ckpt::Status shape_misfit(const std::string& path, const std::string& tensor, const std::vector<std::uint64_t>& shape,
                          const ckpt::ParameterMeta& expected, const recipe::ModelDims& model, ConfigKeys keys);

/// The hint where the weights have `layers` layers, and the model says otherwise; "" where they agree.
std::string layers_misfit(std::int64_t layers, const recipe::ModelDims& model, ConfigKeys keys);

}  // namespace titan::convert
