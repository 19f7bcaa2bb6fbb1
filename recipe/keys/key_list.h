#pragma once
// The rows of the key table, in two files: keys that titan-train has, and torchtitan's keys that it only tolerates.
#include <vector>

#include "recipe/keys/key_table.h"

namespace titan::recipe {

std::vector<Key> own_keys();
std::vector<Key> torchtitan_keys();
std::vector<Alias> torchtitan_aliases();

}  // namespace titan::recipe
