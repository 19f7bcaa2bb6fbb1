#pragma once
// Which weights of a checkpoint become which parameters of a new run's model: same names, or by rules of a file.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "ckpt/base/result.h"
#include "ckpt/model/tensor_meta.h"
#include "ckpt/read/weight_source.h"
#include "recipe/change/name_rules.h"

namespace titan::train {

struct WeightMatch {
  struct Pair {
    std::size_t weight = 0, parameter = 0;  ///< indices into the given lists
    std::uint64_t head_dim = 0;  ///< rows of a head, where they lie in halves (ckpt/model/head_rows.h); 0: rows stay
  };
  std::vector<Pair> loaded;
  std::vector<std::size_t> skipped;   ///< weights
  std::vector<std::size_t> created;   ///< parameters
  std::vector<std::string> left_out;  ///< weights of another format that a rule skips: the source has them not
};

/// `head_dim`: of the model. \error kIncompatible: a weight or a parameter that no rule covers, two weights for one
/// parameter, another shape, an integer type, rows of queries or keys under names of another layout; all named
ckpt::Result<WeightMatch> match_weights(const std::vector<ckpt::WeightInfo>& weights,
                                        const std::vector<ckpt::ParameterMeta>& parameters,
                                        const recipe::NameRules& rules, std::uint64_t head_dim = 0);

/// Those of `rules` that act on names of ours: what opens another format has applied the rules already, but for
/// `create`. \error kInvalid: rows of a checkpoint of ours cannot lie otherwise than the model's
ckpt::Result<recipe::NameRules> rules_for_ours(const ckpt::WeightSource& source, const recipe::NameRules& rules);

/// A table for people: counts, and a line for each weight that was renamed or skipped and each parameter that is
/// created.
std::vector<std::string> match_lines(const WeightMatch& match, const std::vector<ckpt::WeightInfo>& weights,
                                     const std::vector<ckpt::ParameterMeta>& parameters);

}  // namespace titan::train
