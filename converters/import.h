#pragma once
// A foreign checkpoint becomes one of ours, or is looked at as if it were.
#include <memory>
#include <string>

#include "ckpt/ops/list.h"
#include "ckpt/ops/verify.h"
#include "converters/format.h"

namespace titan::convert {

/// Everything of the manifest that `plan` makes but files, pieces, digests, components, writer and time.
ckpt::Manifest frame_manifest(const ForeignCheckpoint& source, const ImportPlan& plan, std::uint64_t leaf_elements);

/// Reads tensors of `source` under our names, rows in our order. Both outlive it. Thread-safe.
class PlannedReader {
 public:
  PlannedReader(const ForeignCheckpoint& source, const ImportPlan& plan);
  /// Reads elements [first, first + out.size() / element size) of tensor `index` of the plan.
  Status read(std::size_t index, std::uint64_t first, std::span<std::byte> out) const;

 private:
  const ForeignCheckpoint& source_;
  const ImportPlan& plan_;
};

struct ImportTarget {
  std::string destination;  ///< folder to be made
  bool force = false;       ///< replaces `destination` where it is a checkpoint
  bool dry_run = false;     ///< checks and reports, writes nothing
  std::uint64_t leaf_elements = ckpt::kDefaultLeafElements;
  std::string created, writer;  ///< of the manifest
};

/// Writes `plan` as a checkpoint: streams leaf by leaf, publishes whole or leaves nothing.
/// \error kInvalid (destination), kLocked, kCorrupt (the source), kFailed
Result<ConversionReport> import_checkpoint(Fs& fs, const Format& format, const ForeignCheckpoint& source,
                                           const ImportPlan& plan, const ImportTarget& target,
                                           const Progress& progress = {});

/// Looks at `source` through `plan` as a checkpoint of ours: our names, no files, no pieces, digests of zeros
/// (CheckpointReader::foreign()).
CheckpointReader view_checkpoint(const Format& format, std::shared_ptr<const ForeignCheckpoint> source,
                                 ImportPlan plan);
/// Opens `path`, ours or foreign, for looking at it. \error as CheckpointReader::open, Format::open and
/// ForeignCheckpoint::plan
Result<CheckpointReader> open_any(Fs& fs, const std::string& path);
/// The same for reading one tensor that a user typed, perhaps with a slice. Where `tensor` is a name of the foreign
/// format and not one of ours, the result holds that tensor alone, as it is stored there.
Result<CheckpointReader> open_for_tensor(Fs& fs, const std::string& path, const std::string& tensor);
/// What RUN@step and RUN@latest name where the steps of RUN are of another format ("step-10" of torchtitan); else
/// `spec` as it is.
std::string resolve_any(Fs& fs, const std::string& spec);
/// ckpt::list_run for folders of any format. Foreign checkpoints are listed as steps that no resume takes. `run` may be
/// one checkpoint, or a folder that holds some, directly or in its folder `checkpoint` as torchtitan's runs do.
Result<ckpt::ListReport> list_any(Fs& fs, const std::string& run);
/// ckpt::verify_target for checkpoints of any format. ForeignCheckpoint::verify checks the foreign ones. The steps of a
/// run are those of list_any.
Result<ckpt::VerifySummary> verify_any(Fs& fs, const ckpt::VerifyOptions& options);

}  // namespace titan::convert
