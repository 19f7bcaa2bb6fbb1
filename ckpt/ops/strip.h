#pragma once
// `strip`: makes a checkpoint without the optimizer state, or with only the parameters, for transfer.
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ckpt/ops/convert_dtype.h"
#include "ckpt/ops/derive.h"

namespace titan::ckpt {

/// What is kept.
enum class StripKeep {
  kAllButOptimizer,  ///< also LR schedule, data position and history, which record where the parameters come from
  kModel,            ///< only the parameters
};

struct StripOptions : RewriteOptions {
  StripKeep keep = StripKeep::kAllButOptimizer;
  std::optional<DType> dtype;  ///< kF32 or kBF16, for all floating-point parameters
  std::function<void(std::uint64_t done, std::uint64_t total)> progress;  ///< bytes of converted shards
};

struct StripReport {
  std::string src, dst;
  std::uint64_t step = 0;
  Digest old_id, new_id;                   ///< new_id: set when written, or if nothing is converted
  std::vector<std::string> kept, dropped;  ///< names of components
  std::uint64_t model_bytes = 0, dropped_bytes = 0;
  std::optional<DType> dtype;  ///< set if something is converted to it
  RoundingError error;         ///< over all tensors; `at` is an index into worst_tensor
  std::string worst_tensor;    ///< the tensor with the largest error; empty if there is no error
  std::string overflowing;     ///< the first tensor with an element (error.overflow_at) that became infinite
  bool written = false;
  bool verified = false;  ///< every byte of SRC was checked; else kept shards were taken over unchecked
  std::vector<CarriedFile> files;
  std::vector<std::string> rewritten;  ///< members that were written anew
  std::string full_from;               ///< path of SRC if it can be resumed, else empty
  std::vector<std::string> warnings;   ///< parity_left_out(), Rewrite::warnings()
};

/// Drops the components that `options` does not keep, with their members, and the parity files. What is kept stays in
/// its order, and the manifest still has the old id. \error kUnsupported (a file holds leaves of kept and dropped
/// components)
Status drop_components(Manifest& manifest, const StripOptions& options);
/// Sets the id of a manifest from drop_components(); `source` is the original. \error as CheckpointReader::lr_schedule
Status seal_stripped(Manifest& manifest, const CheckpointReader& source);

/// Plans the work, and makes all checks that could refuse the write; writes nothing. \error kInvalid (names),
/// kIncompatible (SRC has no parameters), kUnsupported (as drop_components()), kFailed (DST cannot be made), the errors
/// of opening SRC and of verify_source()
Result<StripReport> plan_strip(Fs& fs, const StripOptions& options);
/// Makes DST: takes over the kept members, writes converted shards as a stream (a few leaves in memory), and rebuilds
/// model/model.h5 for these shards. \error as Rewrite (rewrite.h); kCorrupt (a leaf that was to be converted)
Status write_strip(Fs& fs, const StripOptions& options, StripReport& report);

}  // namespace titan::ckpt
