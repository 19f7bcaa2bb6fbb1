#pragma once
// The rows of the key table: Titan's keys (own_keys.cpp), and keys of torchtitan that have no effect in Titan
// (torchtitan_keys.cpp).
#include <vector>

#include "recipe/keys/config.h"
#include "recipe/keys/key_table.h"

namespace titan::recipe {

std::vector<Key> own_keys();
std::vector<Key> torchtitan_keys();

// Functions for KeyFacts::ignore_if: the conditions under which an unsupported value may be ignored.
inline bool always(Config&, const Value&) { return true; }
inline bool without_stages(Config& config, const Value&) { return config.parallelism.pipeline_parallel_degree == 1; }

}  // namespace titan::recipe
