#pragma once
// Converts a foreign checkpoint to a Titan checkpoint.
#include <string>

#include "converters/format.h"

namespace titan::convert {

struct ImportTarget {
  std::string destination;  ///< folder to create
  bool force = false;       ///< replaces `destination` if it is a Titan checkpoint
  bool dry_run = false;     ///< checks and reports, writes nothing
  std::uint64_t leaf_elements = ckpt::kDefaultLeafElements;
  std::string created, writer;  ///< for the manifest
};

/// Writes `plan` as a checkpoint, leaf by leaf. The checkpoint appears complete or not at all. \error kInvalid
/// (destination), kLocked, kCorrupt, kMediaError (the source), kIncompatible (a run to resume has a value that is not
/// finite, or a negative second moment), kFailed
Result<ConversionReport> import_checkpoint(Fs& fs, const Format& format, const ForeignCheckpoint& source,
                                           const ImportPlan& plan, const ImportTarget& target,
                                           const Progress& progress = {});

}  // namespace titan::convert
