#pragma once
// The user's rules over the names in a Megatron file, before fused projections are taken apart.
#include <string>
#include <vector>

#include "converters/format.h"

namespace titan::convert::megatron {

struct RuledNames {
  std::vector<std::string> names;  ///< of each tensor: its parameter's in the model, behind the renames
  std::vector<bool> skipped;
  ImportOptions rest;                  ///< what is left to do under Hugging Face's names
  std::vector<std::string> used_here;  ///< patterns of `rest.skip` that took tensors here
};

/// Applies the rules of `options` to the names of `tensors`. A rule for a parameter takes its moments and its master,
/// too; one for the optimizer's state takes moments alone, for a master is the parameter's weights.
RuledNames rule_names(const std::vector<ForeignTensor>& tensors, const ImportOptions& options);

/// `ruled.rest` without patterns that took tensors in the file and have nothing to take among `parameters`, the names
/// under which the rest of the work is done, and their moments.
ImportOptions rest_of(const RuledNames& ruled, const std::vector<ForeignTensor>& parameters);

/// Adds to `plan` what was left out of `tensors`.
void report_skipped(const RuledNames& ruled, const std::vector<ForeignTensor>& tensors, ImportPlan& plan);

}  // namespace titan::convert::megatron
