#pragma once
// Recognises checkpoints of programs that we do not read, and says how to convert them.
#include <string>

#include "converters/format.h"

namespace titan::convert {

/// Looks at the names of files in a folder, and at the first bytes of a file. \error kUnsupported naming what `path`
/// is; ok: it is none of these programs'
Status check_elsewhere(Fs& fs, const std::string& path);

}  // namespace titan::convert
