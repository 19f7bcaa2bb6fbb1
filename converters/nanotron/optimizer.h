#pragma once
// The optimizer files of a nanotron checkpoint: moments, masters and settings, whatever ZeRO stage, TP, PP and DP.
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "converters/nanotron/shards.h"

namespace titan::convert::nanotron {

/// What is stored for one parameter, in its shape; a master is there where gradients were summed in float32.
struct ParameterState {
  PiecedTensor exp_avg, exp_avg_sq;
  std::optional<PiecedTensor> master;
  double step = 0;
};

/// The settings of AdamW for one parameter.
struct GroupValues {
  double lr = 0, beta1 = 0, beta2 = 0, eps = 0, weight_decay = 0;
  std::optional<double> initial_lr;
  bool amsgrad = false, maximize = false, decoupled = true;
  auto operator<=>(const GroupValues&) const = default;
};

struct Optimizer {
  std::map<std::string, ParameterState> states;  ///< by name of the parameter
  std::set<GroupValues> groups;                  ///< all that occur
};

/// Reads what lies in `folder`; empty where that is not there. \error kCorrupt (a name without a parameter, pieces that
/// lack or overlap), kUnsupported (experts, float8 states), kFailed
Result<Optimizer> read_optimizer(Fs& fs, const std::string& folder, const std::vector<Parameter>& parameters,
                                 PieceFiles& files);

}  // namespace titan::convert::nanotron
