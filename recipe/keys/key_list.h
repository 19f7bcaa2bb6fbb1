#pragma once
// The rows of the key table, in two files: Titan's keys, and keys of torchtitan that are accepted without effect.
#include <vector>

#include "recipe/keys/config.h"
#include "recipe/keys/key_table.h"

namespace titan::recipe {

std::vector<Key> own_keys();
std::vector<Key> torchtitan_keys();

// Conditions under which an unsupported value in torchtitan's files may be ignored (KeyFacts::pass_over).
inline bool always(Config&, const Value&) { return true; }
inline bool without_stages(Config& config, const Value&) { return config.parallelism.pipeline_parallel_degree == 1; }

}  // namespace titan::recipe
