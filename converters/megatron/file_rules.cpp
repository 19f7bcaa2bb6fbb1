#include "converters/megatron/file_rules.h"

#include <algorithm>

#include "converters/megatron/tensors.h"
#include "converters/torch_save/trained_source.h"

namespace titan::convert::megatron {
namespace {

bool takes(const std::string& glob, const ForeignTensor& tensor) {
  const StateName state = split_state(tensor.name);
  SkipRules rule({glob});
  return rule.takes(std::string(state.name)) || (state.slot != kMasterSlot && rule.takes(tensor.name));
}

// Removes the tensors that `globs` match; returns which of `globs` matched one.
std::vector<bool> skip(const std::vector<ForeignTensor>& tensors, const std::vector<std::string>& globs,
                       std::vector<bool>& skipped) {
  std::vector<bool> used(globs.size(), false);
  for (std::size_t g = 0; g < globs.size(); ++g)
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      if (!takes(globs[g], tensors[i])) continue;
      skipped[i] = true;
      used[g] = true;
    }
  return used;
}

}  // namespace

RuledNames rule_names(const std::vector<ForeignTensor>& tensors, const ImportOptions& options) {
  RuledNames out;
  out.rest = options;
  out.skipped.resize(tensors.size(), false);
  const std::vector<bool> flags = skip(tensors, options.skip, out.skipped),
                          rules = skip(tensors, options.rules.skip, out.skipped);
  for (std::size_t g = 0; g < flags.size(); ++g)
    if (flags[g]) out.used_here.push_back(options.skip[g]);
  out.rest.rules.skip.clear();
  for (std::size_t g = 0; g < rules.size(); ++g)
    if (!rules[g]) out.rest.rules.skip.push_back(options.rules.skip[g]);
  std::vector<bool> renames(options.rules.rename.size(), false);
  for (const ForeignTensor& tensor : tensors) {
    const std::string_view name = split_state(tensor.name).name;
    const std::size_t rule = recipe::rename_rule(name, options.rules);
    if (rule < renames.size()) renames[rule] = true;
    out.names.push_back(recipe::renamed(name, options.rules));
  }
  out.rest.rules.rename.clear();
  for (std::size_t r = 0; r < renames.size(); ++r)
    if (!renames[r]) out.rest.rules.rename.push_back(options.rules.rename[r]);
  return out;
}

ImportOptions rest_of(const RuledNames& ruled, const std::vector<ForeignTensor>& parameters) {
  ImportOptions rest = ruled.rest;
  std::erase_if(rest.skip, [&](const std::string& glob) {
    if (std::ranges::find(ruled.used_here, glob) == ruled.used_here.end()) return false;
    SkipRules rule({glob});
    return std::ranges::none_of(parameters, [&](const ForeignTensor& one) {
      return rule.takes(one.name) || rule.takes(kStatePrefix + one.name + "." + ckpt::kExpAvg) ||
             rule.takes(kStatePrefix + one.name + "." + ckpt::kExpAvgSq);
    });
  });
  return rest;
}

void report_skipped(const RuledNames& ruled, const std::vector<ForeignTensor>& tensors, ImportPlan& plan) {
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (!ruled.skipped[i]) continue;
    plan.report.push_back(uncast(tensors[i].name, Fate::kSkipped, tensors[i].dtype, tensors[i].shape));
    plan.left_out.push_back(tensors[i].name);
  }
}

}  // namespace titan::convert::megatron
