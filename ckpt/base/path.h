#pragma once
// Functions on the text of paths with '/' separators. They do no I/O.
#include <string>

namespace titan::ckpt {

/// The folder part of `path`: "." when there is none, "/" for a name in the root.
std::string parent_path(const std::string& path);
/// The part of `path` after its last '/'.
std::string base_name(const std::string& path);
/// `path` without slashes at its end; "/" stays "/".
std::string without_slashes(std::string path);
/// Joins two parts with one '/'.
std::string join_path(const std::string& a, const std::string& b);

}  // namespace titan::ckpt
