#pragma once
// Stages that a configuration specifies: Megatron's layout, torchtitan's modules per model part, or torchtitan's
// weights of the first and last stage. Pure.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ckpt/base/result.h"
#include "recipe/keys/config.h"

namespace titan::recipe {

/// The stages that a key specifies.
struct GivenStages {
  std::string key;                    ///< "parallelism.pipeline_parallel_layout"
  std::vector<std::uint32_t> layers;  ///< number of layers of each stage
};

/// The stages of parallelism.pipeline_parallel_layout or module_fqns_per_model_part; these keys also fix the number of
/// stages. nullopt if neither key is set.
/// \error kInvalid: two keys that both specify the stages; syntax; unknown, repeated, missing or misplaced parts; an
/// empty stage; another number of layers than the model has. kUnsupported: multi-token prediction
ckpt::Result<std::optional<GivenStages>> written_stages(const Config::Parallelism& keys, std::uint32_t layers);

/// The number of layers that torchtitan's rule counts for the embedding (`first`) and for the head (`last`).
struct StageWeights {
  std::int64_t first = 1, last = 1;
};
/// The values of parallelism.pipeline_parallel_first_stage_less_layers and _last_stage_less_layers. Unset ones are 1,
/// as in torchtitan.
StageWeights stage_weights(const Config::Parallelism& keys);
/// Whether one of the keys of stage_weights() is set.
bool has_stage_weights(const Config::Parallelism& keys);

/// Distributes layers, embedding and head evenly by count; the earliest stages get one more.
/// \source torchtitan v0.2.2 distributed/pipeline_parallel.py generate_llm_fqn_per_model_part
/// \error kInvalid: more stages than parts to distribute, or a weight above a stage's share
ckpt::Result<GivenStages> weighted_stages(const Config::Parallelism& keys, std::uint32_t layers, std::uint32_t stages);

}  // namespace titan::recipe
