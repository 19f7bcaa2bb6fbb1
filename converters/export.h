#pragma once
// One of our checkpoints becomes a foreign one: written into a temporary folder, made durable, then renamed into place.
#include <string>

#include "ckpt/save/rewrite.h"
#include "converters/format.h"

namespace titan::convert {

struct ExportTarget {
  std::string destination;  ///< folder to be made; or file, where the format has one
  bool force = false;       ///< replaces `destination` where it is a checkpoint of `format` and nothing else
  bool dry_run = false;     ///< checks and reports, writes nothing
};

/// What may be replaced by a checkpoint of `format`: a folder of it with nothing else in it, or a file of it that can
/// be opened.
ckpt::ReplaceCheck replaceable_by(const Format& format);

/// Writes `writer`'s checkpoint to the destination whole, or leaves nothing; temporaries that died for the same
/// destination are cleared first. \error kInvalid (destination), kLocked (another conversion to it), kCorrupt (the
/// source), kFailed
Result<ConversionReport> export_checkpoint(Fs& fs, const Format& format, const CheckpointReader& source,
                                           ForeignWriter& writer, const ExportTarget& target,
                                           const Progress& progress = {});

}  // namespace titan::convert
