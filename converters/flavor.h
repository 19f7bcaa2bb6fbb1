#pragma once
// What a named flavour of torchtitan's llama3 says of a model.
#include "ckpt/model/settings.h"
#include "recipe/model/flavor.h"

namespace titan::convert {

struct ModelConfig;

/// Whether heads and RoPE of the flavour go for `model`. People edit the other dimensions in place.
bool fits(const recipe::Flavor& flavor, const ModelConfig& model);

/// The rows "model.*" that `given` leaves to its model.flavor, ascending: none without a flavour, or with one that is
/// not known here. RoPE's scaling is not among them: a model that says what it is keeps its own, as in titan-train,
/// which a flavour alone does not overrule.
ckpt::Settings flavor_rows(const ckpt::Settings& given);

/// The rows of flavor_rows that an import of `model` from torchtitan would take from `given`'s flavour: heads, eps,
/// RoPE and its scaling, for dimensions are the tensors'. A flavour of another size says all, unless `given` says heads
/// and RoPE itself.
ckpt::Settings torchtitan_rows(const ckpt::Settings& given, const ModelConfig& model);

}  // namespace titan::convert
