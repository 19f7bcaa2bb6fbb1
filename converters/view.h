#pragma once
// A foreign checkpoint is looked at as if it were one of ours.
#include <memory>
#include <string>
#include <vector>

#include "ckpt/ops/verify.h"
#include "converters/format.h"
#include "converters/list.h"

namespace titan::convert {

/// Everything of the manifest that `plan` makes but files, pieces, digests, components, writer and time.
ckpt::Manifest frame_manifest(const ForeignCheckpoint& source, const ImportPlan& plan, std::uint64_t leaf_elements);

/// The type and the size that a tensor of a plan has in a checkpoint of ours.
DType dtype_of(const ForeignCheckpoint& source, const TensorPlan& tensor);
std::uint64_t bytes_of(const ForeignCheckpoint& source, const TensorPlan& tensor);

/// Reads tensors of `source` under our names, rows in our order. Both outlive it. Thread-safe.
class PlannedReader {
 public:
  PlannedReader(const ForeignCheckpoint& source, const ImportPlan& plan);
  /// Reads elements [first, first + out.size() / size of dtype_of) of tensor `index` of the plan.
  Status read(std::size_t index, std::uint64_t first, std::span<std::byte> out) const;

 private:
  Status read_blocks(const TensorPlan& tensor, std::uint64_t first, std::span<std::byte> out) const;
  Status read_stored(const TensorPlan& tensor, std::uint64_t first, std::span<std::byte> out) const;
  const ForeignCheckpoint& source_;
  const ImportPlan& plan_;
};

/// Looks at `source` through `plan` as a checkpoint of ours: our names, no files, no pieces, digests of zeros
/// (CheckpointReader::foreign()).
CheckpointReader view_checkpoint(const Format& format, std::shared_ptr<const ForeignCheckpoint> source,
                                 ImportPlan plan);
/// Opens `path`, ours or foreign, for looking at it. \error as CheckpointReader::open, Format::open and
/// ForeignCheckpoint::plan
Result<CheckpointReader> open_any(Fs& fs, const std::string& path);
/// The same; a foreign one by `options`.
Result<CheckpointReader> open_any_with(Fs& fs, const std::string& path, ImportOptions options);
/// The same for reading one tensor that a user typed, perhaps with a slice. Where `tensor` is a name of the foreign
/// format and not one of ours, the result holds that tensor alone, as it is stored there.
Result<CheckpointReader> open_for_tensor(Fs& fs, const std::string& path, const std::string& tensor);
/// open_any for listing the tensors whose names match `glob`: where it matches none of our names and some of the
/// foreign format's, the checkpoint is those tensors alone, as they are stored there. \error as open_any
Result<CheckpointReader> open_for_pattern(Fs& fs, const std::string& path, const std::string& glob);
/// The names of the tensors of `spec`, a checkpoint as a user types it, of any format; none where it cannot be opened.
std::vector<std::string> tensor_names(Fs& fs, const std::string& spec);
/// ckpt::verify_target for checkpoints of any format. ForeignCheckpoint::verify checks the foreign ones. The steps of a
/// run are those of list_any.
Result<ckpt::VerifySummary> verify_any(Fs& fs, const ckpt::VerifyOptions& options);

}  // namespace titan::convert
