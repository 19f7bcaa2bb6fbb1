#pragma once
// Matches weights of a checkpoint to parameters of a new run's model, by equal names or by the rules of a file.
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
    std::size_t weight = 0, parameter = 0;  ///< indexes into the lists given to match_weights()
    std::uint64_t head_dim = 0;             ///< head size, if rows must be reordered from rotate-half order
                                            ///< (ckpt/model/rope_permutation.h); 0: rows stay
  };
  std::vector<Pair> loaded;
  std::vector<std::size_t> skipped;   ///< indexes of weights
  std::vector<std::size_t> created;   ///< indexes of parameters
  std::vector<std::string> left_out;  ///< names of the weights that the reader of another format skipped by a rule
};

/// Matches all weights and parameters. `head_dim`: the model's. \error kIncompatible, with up to 20 of the problems: a
/// weight or a parameter without a counterpart that no rule skips or creates, two weights for one parameter, another
/// shape, an integer type, a rule that matches nothing, a query or key projection whose name leaves the order of rows
/// open, while the rules do not give `rows`
ckpt::Result<WeightMatch> match_weights(const std::vector<ckpt::WeightInfo>& weights,
                                        const std::vector<ckpt::ParameterMeta>& parameters,
                                        const recipe::NameRules& rules, std::uint64_t head_dim = 0);

/// The rules that match_weights() still has to apply to the weights of `source`. For a checkpoint of another format
/// these are only `create`, since its reader has applied the others. \error kInvalid: the rules have rows = "hf" and
/// the checkpoint is Titan's, whose rows are always in the model's order
ckpt::Result<recipe::NameRules> rules_for_ours(const ckpt::WeightSource& source, const recipe::NameRules& rules);

/// For messages: counts, and a line for each renamed or skipped weight and each created parameter.
std::vector<std::string> match_lines(const WeightMatch& match, const std::vector<ckpt::WeightInfo>& weights,
                                     const std::vector<ckpt::ParameterMeta>& parameters);

}  // namespace titan::train
