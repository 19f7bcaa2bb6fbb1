#pragma once
// The optimizer files of a nanotron checkpoint: moments, masters and settings, whatever ZeRO stage, TP, PP and DP.
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "converters/nanotron/shards.h"
#include "converters/torch_save/trained_source.h"

namespace titan::convert::nanotron {

/// What is stored for one parameter, in its shape; a master is there where gradients were summed in float32.
struct ParameterState {
  PiecedTensor exp_avg, exp_avg_sq;
  std::optional<PiecedTensor> master;
  double step = 0;
};

struct Optimizer {
  std::map<std::string, ParameterState> states;  ///< by name of the parameter
  std::set<GroupValues> groups;                  ///< all that occur
  bool ranks_said = true;                        ///< each file says its rank itself
};

/// Reads what lies in `folder`; empty where that is not there. \error kCorrupt (a name without a parameter, pieces that
/// lack or overlap, masters that are not the model's weights, two files of one content), kUnsupported (experts, float8
/// states), kFailed
Result<Optimizer> read_optimizer(Fs& fs, const std::string& folder, const std::vector<Parameter>& parameters,
                                 PieceFiles& files);

}  // namespace titan::convert::nanotron
