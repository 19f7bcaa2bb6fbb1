#pragma once
// Applies the user's rules to the names in a Megatron file, before fused projections are split.
#include <string>
#include <vector>

#include "converters/format.h"

namespace titan::convert::megatron {

/// The names after the rules.
struct RuledNames {
  std::vector<std::string> names;      ///< per tensor: the name of its parameter in the model, after renames
  std::vector<bool> skipped;           ///< per tensor
  ImportOptions rest;                  ///< the rules that are still to be applied, to Hugging Face's names
  std::vector<std::string> used_here;  ///< patterns of `rest.skip` that matched one of the tensors
};

/// Applies the rules of `options` to the names of `tensors`. A rule for the name of a parameter also applies to the
/// parameter's moments and float32 master. A skip pattern for names of optimizer state, such as "optimizer.*", skips
/// only moments: a master is kept, because it holds the weights.
RuledNames rule_names(const std::vector<ForeignTensor>& tensors, const ImportOptions& options);

/// `ruled.rest` without the skip patterns that matched tensors in the file but match none of `parameters` (the tensors
/// under Hugging Face's names) or their moments. These patterns have already had an effect, so they must not be
/// reported as unused.
ImportOptions rest_of(const RuledNames& ruled, const std::vector<ForeignTensor>& parameters);

/// Adds the skipped ones of `tensors` to the report of `plan`.
void report_skipped(const RuledNames& ruled, const std::vector<ForeignTensor>& tensors, ImportPlan& plan);

}  // namespace titan::convert::megatron
