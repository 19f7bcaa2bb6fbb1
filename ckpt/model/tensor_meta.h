#pragma once
// Descriptions of stored tensors: parameters, their optimizer slots, and names of components.
#include <cstdint>
#include <string>
#include <vector>

#include "ckpt/model/dtype.h"
#include "ckpt/model/leaf.h"

namespace titan::ckpt {

inline constexpr const char* kModel = "model";          ///< component of the parameters
inline constexpr const char* kOptimizer = "optimizer";  ///< component of the optimizer slots
inline constexpr const char* kExpAvg = "exp_avg";
inline constexpr const char* kExpAvgSq = "exp_avg_sq";

/// Formats a shape: "[256, 4099]".
std::string shape_text(const std::vector<std::uint64_t>& shape);

/// One parameter: its name (torchtitan's), full shape, and in `stage` the pipeline rank that holds it. Lists of
/// ParameterMeta are in model order, in which leaves are divided among ranks (ckpt/plan/ownership.h).
struct ParameterMeta {
  std::string name;
  std::vector<std::uint64_t> shape;
  std::uint32_t stage = 0;
  bool operator==(const ParameterMeta&) const = default;

  LeafGrid grid(std::uint64_t leaf_elements) const { return {element_count(shape), leaf_elements}; }
};

/// Names one stored tensor: parameter `index` of the list, or a slot of it ("" = the parameter itself). A parameter
/// belongs to component "model", a slot to "optimizer"; the stored tensor's name is "<name>" or "<name>.<slot>".
struct TensorRef {
  std::uint32_t index = 0;
  std::string slot;
  auto operator<=>(const TensorRef&) const = default;
};

/// The numbers of pipeline, data-parallel and tensor-parallel ranks.
struct Mesh {
  std::uint32_t pp = 1, dp = 1, tp = 1;
  std::uint32_t world() const { return pp * dp * tp; }
  bool operator==(const Mesh&) const = default;
};

}  // namespace titan::ckpt
