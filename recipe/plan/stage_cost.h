#pragma once
// The cost of embedding, layer and head, by the cost models of parallelism.stage_cost. Pure.
#include <cstdint>
#include <string>

#include "ckpt/base/result.h"
#include "recipe/model/dims.h"
#include "recipe/plan/stage_split.h"

namespace titan::recipe {

/// Costs under the cost model `model`. "flops": multiplications and additions per token in the forward pass, with
/// causal attention over `seq_len` tokens. "params": number of parameters. "uniform": embedding and head cost as much
/// as a layer. Else numbers, "embedding=0,layer=1,head=3.5", exact to 1e-6; a part that is not named costs 0, but a
/// layer must cost more than 0.
/// \error kInvalid: another text, or costs whose sum does not fit in 63 bits; also "measured", which a start must
/// replace by the numbers that `titan-train plan --measure` stored
Result<PartCosts> part_costs(const std::string& model, const ModelDims& dims, std::int64_t seq_len);

/// A text for part_costs() from measured times in any unit: "embedding=0.01,layer=1,head=2.3", scaled so that a layer
/// costs 1.
std::string cost_table(double embedding, double layer, double head);

}  // namespace titan::recipe
