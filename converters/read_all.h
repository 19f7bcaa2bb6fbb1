#pragma once
// Verifies files without checksums.
#include "ckpt/ops/verify.h"
#include "converters/format.h"

namespace titan::convert {

/// Reads every element of `source`, 4 MiB at a time. `note` says what this check cannot find. A tensor whose read is
/// kCorrupt is damage in the report. \error other errors of ForeignCheckpoint::read; errors of `progress`
Result<ckpt::VerifyReport> read_all(const ForeignCheckpoint& source, const char* note, const Progress& progress);

}  // namespace titan::convert
