#pragma once
// Stages that a configuration writes down instead of leaving them to the cost: Megatron's layout, torchtitan's modules
// of each part, torchtitan's weights of the first and the last stage. Pure.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ckpt/base/result.h"
#include "recipe/keys/config.h"

namespace titan::recipe {

/// Stages as a key says them.
struct GivenStages {
  std::string key;                    ///< "parallelism.pipeline_parallel_layout"
  std::vector<std::uint32_t> layers;  ///< of each stage
};

/// parallelism.pipeline_parallel_layout or module_fqns_per_model_part, which also say how many stages there are;
/// nothing where neither is given.
/// \error kInvalid: two keys that both say what the stages are; syntax; unknown, repeated, missing or misplaced parts;
/// an empty stage; another number of layers than the model has. kUnsupported: multi-token prediction
ckpt::Result<std::optional<GivenStages>> written_stages(const Config::Parallelism& keys, std::uint32_t layers);

/// Layers that count for embedding and head in torchtitan's rule.
struct StageWeights {
  std::int64_t first = 1, last = 1;
};
/// parallelism.pipeline_parallel_first_stage_less_layers and _last_; one that is not given is 1, as there.
StageWeights stage_weights(const Config::Parallelism& keys);
bool has_stage_weights(const Config::Parallelism& keys);

/// Layers, embedding and head dealt out evenly by number, one more to the earliest stages.
/// \source torchtitan v0.2.2 distributed/pipeline_parallel.py generate_llm_fqn_per_model_part
/// \error kInvalid: more stages than there are to deal out, or a weight above a stage's share
ckpt::Result<GivenStages> weighted_stages(const Config::Parallelism& keys, std::uint32_t layers, std::uint32_t stages);

}  // namespace titan::recipe
