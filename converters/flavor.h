#pragma once
// What a named flavour of torchtitan's llama3 says of a model.
#include "ckpt/model/schedule.h"

namespace titan::convert {

/// The rows "model.*" that `given` leaves to its model.flavor, ascending: none without a flavour, or with one that is not known here. RoPE's
/// scaling is not among them, for torchtitan's flavours have one and titan-train's have none.
ckpt::Settings flavor_rows(const ckpt::Settings& given);

}  // namespace titan::convert
