#pragma once
// Paths with shell wildcards.
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

/// The paths that match `pattern`, ordered by name in each part of the path. "*", "?" and "[..]" match no hidden name.
/// A part that exists literally ("tb[1]") matches only itself. A dangling link counts as a name.
/// \error of the file system: a folder that cannot be listed
ckpt::Result<std::vector<std::string>> paths_that_fit(ckpt::Fs& fs, const std::string& pattern);

}  // namespace titan::corpus
