#pragma once
// Presents a foreign checkpoint as a Titan checkpoint.
#include <memory>
#include <string>
#include <vector>

#include "ckpt/ops/verify.h"
#include "converters/format.h"
#include "converters/list.h"

namespace titan::convert {

/// The manifest described by `plan`, without files, pieces, digests, components, writer and time.
ckpt::Manifest frame_manifest(const ForeignCheckpoint& source, const ImportPlan& plan, std::uint64_t leaf_elements);

/// The type and the size that a tensor of a plan has in a Titan checkpoint.
DType dtype_of(const ForeignCheckpoint& source, const TensorPlan& tensor);
std::uint64_t bytes_of(const ForeignCheckpoint& source, const TensorPlan& tensor);

/// Reads tensors of `source` under Titan's names and in Titan's row order. `source` and `plan` must outlive it.
/// Thread-safe.
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

/// `source` as a Titan checkpoint, mapped by `plan`: Titan's names, no files, no pieces, and zero digests
/// (CheckpointReader::foreign()).
CheckpointReader view_checkpoint(const Format& format, std::shared_ptr<const ForeignCheckpoint> source,
                                 ImportPlan plan);
/// Opens `path`, a Titan or a foreign checkpoint, for reading. \error as CheckpointReader::open, Format::open and
/// ForeignCheckpoint::plan
Result<CheckpointReader> open_any(Fs& fs, const std::string& path);
/// Like open_any(); opens a foreign checkpoint with `options`.
Result<CheckpointReader> open_any_with(Fs& fs, const std::string& path, ImportOptions options);
/// Like open_any(), to read one tensor. `tensor` is the name as a user typed it, perhaps with a slice. If `tensor` is a
/// name of the foreign format and not one of Titan's, the result holds only that tensor, as the foreign format stores
/// it.
Result<CheckpointReader> open_for_tensor(Fs& fs, const std::string& path, const std::string& tensor);
/// Like open_any(), to list tensors whose names match `glob`. If `glob` matches none of Titan's names and some of the
/// foreign format's, the result holds only those tensors, as the foreign format stores them. \error as open_any
Result<CheckpointReader> open_for_pattern(Fs& fs, const std::string& path, const std::string& glob);
/// Tensor names of `spec`, a checkpoint of any format as typed; empty if it cannot be opened.
std::vector<std::string> tensor_names(Fs& fs, const std::string& spec);
/// ckpt::verify_target for checkpoints of any format; ForeignCheckpoint::verify checks foreign ones. The steps of a run
/// are those that list_any() lists.
Result<ckpt::VerifySummary> verify_any(Fs& fs, const ckpt::VerifyOptions& options);

}  // namespace titan::convert
