#pragma once
// The rows of the key table, in two files: keys that titan-train has, and torchtitan's keys that it only tolerates.
#include <vector>

#include "recipe/keys/key_table.h"

namespace titan::recipe {

std::vector<Key> own_keys();
std::vector<Key> torchtitan_keys();

// Where a value of torchtitan's files may be passed over (KeyFacts::pass_over).
inline bool always(Config&, const Value&) { return true; }
inline bool without_stages(Config& config, const Value&) { return config.parallelism.pipeline_parallel_degree == 1; }

}  // namespace titan::recipe
