#pragma once
// Which weights of a checkpoint become which parameters of a new run's model: same names, or by rules of a file.
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ckpt/base/result.h"
#include "ckpt/io/weight_source.h"
#include "ckpt/model/tensor_meta.h"

namespace titan::train {

/// Rules of a map file, in TOML:
///
///     [rename]
///     "decoder.*.wq" = "layers.*.attention.wq.weight"   # each * stands for a part without dots, in order
///     skip = ["teacher.*"]       at the top: weights that are left out (* crosses dots)
///     create = ["output.weight"] at the top: parameters that are drawn anew (* crosses dots)
///
/// A weight is skipped if a skip rule matches, else renamed by the first rename rule that matches, else keeps its name.
struct InitMap {
  std::vector<std::pair<std::string, std::string>> rename;
  std::vector<std::string> skip, create;
};

/// \error kInvalid: not readable, not TOML, another key, rules with different numbers of *
ckpt::Result<InitMap> read_init_map(const std::string& path);
ckpt::Result<InitMap> parse_init_map(std::string_view text, const std::string& path);

struct WeightMatch {
  struct Pair {
    std::size_t weight = 0, parameter = 0;  ///< indices into the given lists
  };
  std::vector<Pair> loaded;
  std::vector<std::size_t> skipped;  ///< weights
  std::vector<std::size_t> created;  ///< parameters
};

/// \error kIncompatible: a weight or a parameter that no rule covers, two weights for one parameter, another shape; all
/// named
ckpt::Result<WeightMatch> match_weights(const std::vector<ckpt::WeightInfo>& weights,
                                        const std::vector<ckpt::ParameterMeta>& parameters, const InitMap& map);

/// A table for people: counts, and a line for each weight that was renamed or skipped and each parameter that is
/// created.
std::vector<std::string> match_lines(const WeightMatch& match, const std::vector<ckpt::WeightInfo>& weights,
                                     const std::vector<ckpt::ParameterMeta>& parameters);

}  // namespace titan::train
