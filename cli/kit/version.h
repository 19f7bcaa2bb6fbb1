#pragma once
#include <string>

namespace titan::cli {

std::string version();   ///< "0.1.0"
std::string git_hash();  ///< of the built tree, with "-dirty" when it had changes; "unknown" outside a repository
/// "<program> 0.1.0 (0123456789ab)"
std::string version_line(const std::string& program);
/// The lines of `--version` after the first: versions of checkpoints, and of the linked libraries.
std::string version_details(const std::string& libraries_of_program);
/// What `--licenses` prints: the notices of everything that a program is linked with. Each program holds its own.
extern const char* const kNoticesOfTitanCkpt;
extern const char* const kNoticesOfTitanTrain;

}  // namespace titan::cli
