#pragma once
// What can be verified of files without checksums.
#include "ckpt/ops/verify.h"
#include "converters/format.h"

namespace titan::convert {

/// Reads every element of `source`, 4 MiB at a time. `note` says what that does not find. \error as
/// ForeignCheckpoint::read; what `progress` returns
Result<ckpt::VerifyReport> read_all(const ForeignCheckpoint& source, const char* note, const Progress& progress);

}  // namespace titan::convert
