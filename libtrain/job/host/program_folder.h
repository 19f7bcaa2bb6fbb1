#pragma once
// Files that belong to a program.
#include <string>

namespace titan::train {

/// Where `name` is, which belongs to this program: beside it, else in ../`folder`, where it may not be.
std::string path_beside_program(const std::string& name, const std::string& folder);

}  // namespace titan::train
