#pragma once
// Paths with wildcards, as a shell has them.
#include <string>
#include <string_view>
#include <vector>

#include "ckpt/base/result.h"

namespace titan::ckpt {
class Fs;
}

namespace titan::corpus {

/// Whether a path has a wildcard: "*", "?" or "[".
bool has_wildcard(std::string_view path);

/// What fits `pattern`, by name in each part of the path. "*", "?" and "[..]" fit no hidden name. A part that is there
/// under this very name ("tb[1]") stands for itself alone. A link that leads nowhere is a name like others.
/// \error of the file system: a folder that cannot be listed
ckpt::Result<std::vector<std::string>> paths_that_fit(ckpt::Fs& fs, const std::string& pattern);

}  // namespace titan::corpus
