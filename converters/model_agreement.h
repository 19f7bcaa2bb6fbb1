#pragma once
// How a configuration (--config, --set) and the model of a checkpoint that is converted must agree.
#include <string>

#include "ckpt/base/result.h"
#include "ckpt/model/settings.h"
#include "ckpt/read/reader.h"
#include "converters/skip.h"
#include "recipe/model/dims.h"
#include "recipe/model/flavor.h"

namespace titan::convert {

using recipe::ModelDims;

/// How a configuration is compared with a model that says what it is.
struct Comparison {
  /// the configuration is for torchtitan, whose flavours scale RoPE and leave dimensions to the tensors
  bool torchtitan = false;
  bool untie = false;  ///< the model is written untied: model.tied_embeddings may differ
};

/// The rows of `own` with what it leaves open of its model filled from `given`. Values are compared, not their
/// spelling, also those of `given`'s flavour. `what` names the holder of `own`. \error kIncompatible: `own` says what
/// its model is, and `given` says something else
ckpt::Result<ckpt::Settings> agreed_rows(const std::string& what, const ckpt::Settings& own,
                                         const ckpt::Settings& given, const Comparison& how = {});

/// Checks that `source` has the tensors that `model` makes, but for those that are skipped. \error kIncompatible
ckpt::Status check_parameters(const ckpt::CheckpointReader& source, const ModelDims& model, SkipRules& skip);

/// Whether heads and RoPE of torchtitan's flavour apply to `model`: width and depth are equal. People edit the other
/// dimensions in place.
bool fits(const recipe::Flavor& flavor, const ModelDims& model);

/// The rows "model.*" that `given` leaves to its model.flavor, ascending: none without a flavour, or with one that is
/// not known here. RoPE's scaling is not among them: a model that says what it is keeps its own scaling, as in
/// titan-train.
ckpt::Settings flavor_rows(const ckpt::Settings& given);

}  // namespace titan::convert
