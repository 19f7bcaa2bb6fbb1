#pragma once
// `inspect`: what the manifest and the JSON components of a checkpoint contain. Reads no tensor data.
#include <optional>
#include <string>
#include <vector>

#include "ckpt/format/manifest.h"
#include "ckpt/read/reader.h"

namespace titan::ckpt {

class Fs;

/// One stored tensor, of a parameter or of one of its slots.
struct TensorRow {
  TensorRef ref;
  std::string component;
  std::string name;
  DType dtype = DType::kF32;
  std::vector<std::uint64_t> shape;
  Digest digest;
  std::uint32_t stage = 0;
  std::uint64_t bytes = 0;
  std::uint64_t leaves = 0;
  std::uint64_t pieces = 0;
  bool operator==(const TensorRow&) const = default;
};

/// All stored tensors, at most `limit`: the model's in model order, then the optimizer's.
std::vector<TensorRow> tensor_rows(const Manifest& manifest, std::size_t limit = SIZE_MAX);
/// The number of stored tensors.
std::size_t tensor_count(const Manifest& manifest);
/// The rows whose names match the glob ("*" also matches dots; a name without wildcards matches itself).
std::vector<TensorRow> matching_rows(const std::vector<TensorRow>& rows, const std::string& glob);
/// A hint for a name or glob that matches none of `rows`: similar names, or the command that lists the tensors of
/// `checkpoint`.
std::string no_match_hint(const std::vector<TensorRow>& rows, const std::string& typed, const std::string& checkpoint);

/// The parameters of one pipeline rank, which may have several stages.
struct StageSummary {
  std::uint64_t parameters = 0;  ///< number of tensors
  std::uint64_t elements = 0;
  std::string first, last;  ///< names of its first and last parameter in model order
  bool operator==(const StageSummary&) const = default;
};
/// One entry per pipeline rank (at least one).
std::vector<StageSummary> stage_summaries(const Manifest& manifest);

struct InspectReport {
  std::string path;
  Manifest manifest;
  std::optional<LrSchedule> lr;  ///< nullopt: the component is absent (also for the next two)
  std::optional<DataPosition> data;
  std::optional<TrainState> train;
  bool foreign = false;               ///< of another format, named in `manifest.writer`; id and digests are zeros
  std::vector<std::string> left_out;  ///< for another format: names that cannot be shown as Titan tensors
};

/// "2: 'a', 'b'": the count and the first five names; "none" if there are none.
std::string left_out_text(const std::vector<std::string>& names);

/// For a `glob` that matched no tensor: checks that it matches no name of `left_out` either. \error kNotFound, with the
/// reason why that name cannot be shown
Status check_left_out(const std::vector<std::string>& left_out, const std::string& glob);

/// Opens the checkpoint that `spec` names. \error as resolve_checkpoint() and CheckpointReader::open
Result<InspectReport> inspect_checkpoint(Fs& fs, const std::string& spec,
                                         const CheckpointOpener& open = CheckpointReader::open);

}  // namespace titan::ckpt
