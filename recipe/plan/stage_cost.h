#pragma once
// What embedding, layer and head cost, by the models of parallelism.stage_cost. Pure.
#include <cstdint>
#include <string>

#include "ckpt/base/result.h"
#include "recipe/model/dims.h"
#include "recipe/plan/stage_split.h"

namespace titan::recipe {

/// "flops": products and sums per token of a forward, causal attention over `seq_len` tokens included. "params":
/// parameters. "uniform": embedding and head count as a layer each. Else numbers of one's own, "embedding=0,layer=1,
/// head=3.5", which are exact to 1e-6; a part that is not named costs 0, but a layer must cost something.
/// \error kInvalid: none of these, or costs that do not add up in 63 bits; "measured", which a start replaces by the
/// numbers that `titan-train plan --measure` stored
Result<PartCosts> part_costs(const std::string& model, const ModelDims& dims, std::int64_t seq_len);

/// The numbers of one's own for measured times, in any unit: "embedding=0.01,layer=1,head=2.3", the layer's being 1.
std::string cost_table(double embedding, double layer, double head);

}  // namespace titan::recipe
