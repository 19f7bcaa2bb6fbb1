#pragma once
// The part of `diff` that compares everything except tensors. Pure.
#include <optional>
#include <string>
#include <vector>

#include "ckpt/ops/compare.h"
#include "ckpt/ops/inspect.h"

namespace titan::ckpt {

/// One difference or note. Kinds of differences: "step", "tokens", "lr_schedule", "data", "component", "tensor",
/// "optimizer_step", "leaf_elements"; kinds of notes: "layout", "config", "history", "left_out". If a side is foreign,
/// notes have kinds of differences, too.
struct Difference {
  std::string kind;
  std::string name;                        ///< name of the field, tensor, component or key
  std::string a, b;                        ///< the two values as text; "absent" if missing
  std::optional<TensorDistance> distance;  ///< for tensors of equal shape, and of equal dtype unless there is a
                                           ///< tolerance
  std::string component = {};              ///< component of the tensor; else empty
  bool operator==(const Difference&) const = default;
};

/// Differences of the state except tensors (step, tokens, schedule, data position, components, Adam steps, leaf size).
std::vector<Difference> state_differences(const InspectReport& a, const InspectReport& b);
/// Differences of layout, configuration, history and `left_out`.
std::vector<Difference> diff_notes(const InspectReport& a, const InspectReport& b);
/// Names that are in `left_out` of both reports, ascending.
std::vector<std::string> not_compared(const InspectReport& a, const InspectReport& b);

}  // namespace titan::ckpt
