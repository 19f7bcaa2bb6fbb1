#pragma once
// Checks that a configuration (--config, --set) agrees with the model of a checkpoint to convert.
#include <string>
#include <vector>

#include "ckpt/base/result.h"
#include "ckpt/model/settings.h"
#include "ckpt/read/reader.h"
#include "converters/skip_rules.h"
#include "recipe/model/dims.h"
#include "recipe/model/flavor.h"

namespace titan::convert {

using recipe::ModelDims;

/// How a configuration is compared with a known model.
struct Comparison {
  /// the configuration is torchtitan's: its flavours include RoPE scaling, and tensor shapes override a flavour's
  /// dimensions
  bool torchtitan = false;
  bool untie = false;  ///< the model is written untied: model.tied_embeddings may differ
};

/// The rows of `own` (the checkpoint's settings), which must agree with `given` (the configuration's). Compares values,
/// not spelling, including those of `given`'s flavour. If `own` does not describe a whole model, nothing is compared,
/// and the model keys that `given` sets replace those of `own`. `what` names the owner of `own` in messages. \error
/// kIncompatible: `own` and `given` differ
ckpt::Result<ckpt::Settings> agreed_rows(const std::string& what, const ckpt::Settings& own,
                                         const ckpt::Settings& given, const Comparison& how = {});

/// Checks that `source` has all tensors of `model` in their shapes, and that `skip` leaves none of them out. \error
/// kIncompatible
ckpt::Status check_parameters(const ckpt::CheckpointReader& source, const ModelDims& model, SkipRules& skip);
/// The error that the user skips `left_out`, which are parameters of the model in `path`. \error kIncompatible always
ckpt::Status part_of_model(const std::string& path, const std::vector<std::string>& left_out);

/// Whether the heads and RoPE of torchtitan's `flavor` apply to `model`: width and depth must be equal. Other
/// dimensions may differ, because users of torchtitan edit flavours in place.
bool fits(const recipe::Flavor& flavor, const ModelDims& model);

/// The rows "model.*" that `given` does not set itself and takes from its model.flavor, ascending. Empty without a
/// flavour, or with an unknown one. Excludes RoPE scaling: a known model keeps its own scaling, as in titan-train.
ckpt::Settings flavor_rows(const ckpt::Settings& given);

}  // namespace titan::convert
