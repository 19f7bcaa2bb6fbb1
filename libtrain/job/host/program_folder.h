#pragma once
// Finds files that belong to this program.
#include <string>

namespace titan::train {

/// The path of file `name`: next to the program if it exists there, else in ../`folder` (existing or not).
std::string path_beside_program(const std::string& name, const std::string& folder);

}  // namespace titan::train
