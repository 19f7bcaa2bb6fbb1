#pragma once
// Finds files that belong to this program.
#include <string>

namespace titan::train {

/// The path of the file `name`: next to the program if it exists there, else in ../`folder`, whether or not it exists
/// there.
std::string path_beside_program(const std::string& name, const std::string& folder);

}  // namespace titan::train
