#pragma once
// Versions and license notices of the programs.
#include <string>

namespace titan::cli {

std::string version();   ///< "0.1.0"
std::string git_hash();  ///< commit of the built tree, and "-dirty" if the tree had changes; "unknown": no repository
/// "<program> 0.1.0 (0123456789ab)"
std::string version_line(const std::string& program);
/// The lines of `--version` after the first: checkpoint format versions, and versions of the linked libraries.
/// `libraries_of_program`: ", NAME VERSION" of each library that only this program links.
std::string version_details(const std::string& libraries_of_program);
/// What `--licenses` prints: the license notices of all code that the program is linked with.
extern const char* const kNoticesOfTitanCkpt;
extern const char* const kNoticesOfTitanTrain;

}  // namespace titan::cli
