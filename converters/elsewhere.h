#pragma once
// Checkpoints of other programs that are known by their look and not read: what they are, and the way round.
#include <string>

#include "converters/format.h"

namespace titan::convert {

/// \error kUnsupported naming what `path` is, when that is known; ok: it is none of these. By names of files, and the
/// first bytes of a
/// file that was given itself.
Status check_elsewhere(Fs& fs, const std::string& path);

}  // namespace titan::convert
