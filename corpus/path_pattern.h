#pragma once
// Expands paths with shell wildcards.
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

/// The paths that match `pattern`, sorted by name within each folder. "*", "?" and "[..]" match no name that begins
/// with a dot. A part of the path that exists literally (a folder "tb[1]") matches only itself. A link whose target is
/// missing can match the last part. \error the file system's error: a folder cannot be listed
ckpt::Result<std::vector<std::string>> matching_paths(ckpt::Fs& fs, const std::string& pattern);

}  // namespace titan::corpus
