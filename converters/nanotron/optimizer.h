#pragma once
// The optimizer files of a nanotron checkpoint: moments, float32 masters and settings, for any ZeRO stage, TP, PP and
// DP.
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "converters/nanotron/shards.h"
#include "converters/torch_save/trained_source.h"

namespace titan::convert::nanotron {

/// The state of one parameter, in the parameter's shape. It has float32 master weights if gradients were accumulated in
/// float32.
struct ParameterState {
  PiecedTensor exp_avg, exp_avg_sq;
  std::optional<PiecedTensor> master;
  double step = 0;
};

struct Optimizer {
  std::map<std::string, ParameterState> states;  ///< by nanotron's name of the parameter
  std::map<std::string, GroupValues> groups;     ///< by nanotron's name of the parameter
  bool ranks_recorded = true;                    ///< every file records the rank that saved it
};

/// Reads the optimizer in `folder`; empty if `folder` does not exist. \error kCorrupt (a file of another rank than its
/// name says, a name without a parameter, pieces that are missing or overlap, steps or settings that differ between
/// ranks, masters that differ from the model's weights, two files with the same content), kIncompatible (settings that
/// are not numbers), kUnsupported (experts, an element type that Titan lacks), kFailed
Result<Optimizer> read_optimizer(Fs& fs, const std::string& folder, const std::vector<Parameter>& parameters,
                                 PieceFiles& files);

}  // namespace titan::convert::nanotron
