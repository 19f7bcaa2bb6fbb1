#pragma once
// Converts a Titan checkpoint to a foreign format: writes it into a temporary folder, makes it durable, then renames it
// into place.
#include <string>

#include "ckpt/save/rewrite.h"
#include "converters/format.h"

namespace titan::convert {

struct ExportTarget {
  std::string destination;  ///< folder to create, or file if the format is a single file
  bool force = false;       ///< replaces `destination` if it is a checkpoint of `format` and nothing else
  bool dry_run = false;     ///< checks and reports, writes nothing
};

/// The rule for what a new checkpoint of `format` may replace: a folder of this format that holds no other files, or a
/// single file that opens as this format.
ckpt::ReplaceCheck replaceable_by(const Format& format);

/// Writes the checkpoint that `writer` makes of `source` to the destination, completely or not at all; first removes
/// leftover temporaries for the same destination. \error kInvalid (destination), kLocked (another conversion to it), as
/// ForeignWriter::write
Result<ConversionReport> export_checkpoint(Fs& fs, const Format& format, const CheckpointReader& source,
                                           ForeignWriter& writer, const ExportTarget& target,
                                           const Progress& progress = {});

}  // namespace titan::convert
