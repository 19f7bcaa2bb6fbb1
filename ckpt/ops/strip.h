#pragma once
// `strip`: a checkpoint without the optimizer state, or of the parameters alone, for transfer.
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ckpt/ops/convert_dtype.h"
#include "ckpt/ops/derive.h"

namespace titan::ckpt {

enum class StripKeep {
  kAllButOptimizer,  ///< schedule, data position and history stay: they say where the parameters come from
  kModel,            ///< the parameters alone
};

struct StripOptions : RewriteOptions {
  StripKeep keep = StripKeep::kAllButOptimizer;
  std::optional<DType> dtype;  ///< kF32 or kBF16: of all floating-point parameters
  std::function<void(std::uint64_t done, std::uint64_t total)> progress;  ///< bytes of converted shards
};

struct StripReport {
  std::string src, dst;
  std::uint64_t step = 0;
  Digest old_id, new_id;                   ///< new_id: when written, or when nothing is converted
  std::vector<std::string> kept, dropped;  ///< components
  std::uint64_t model_bytes = 0, dropped_bytes = 0;
  std::optional<DType> dtype;  ///< set when something is converted to it
  RoundingError error;         ///< over all tensors; `at` is an index into worst_tensor
  std::string worst_tensor;    ///< of the largest error; empty when there is none
  bool written = false;
  bool verified = false;  ///< every byte of SRC was checked; else members that stay were taken over unread
  std::vector<CarriedFile> files;
  std::vector<std::string> rewritten;  ///< members made anew
  std::string full_from;               ///< the checkpoint that can be resumed; empty when SRC cannot either
  std::vector<std::string> warnings;   ///< leftovers
};

/// Drops the components that `options` does not keep, with their members; what is left keeps its order. The id is still
/// the old one. \error kUnsupported (a file holds leaves of both)
Status drop_components(Manifest& manifest, const StripOptions& options);
/// Gives such a manifest of `source` its id. \error those of CheckpointReader::lr_schedule
Status seal_stripped(Manifest& manifest, const CheckpointReader& source);

/// Decides and checks everything that writing would refuse; writes nothing.
/// \error kInvalid (names), kIncompatible (SRC has no parameters), kUnsupported (a file holds both components), those
/// of opening SRC
Result<StripReport> plan_strip(Fs& fs, const StripOptions& options);
/// Makes DST: kept members carried, converted shards written while streaming (a few leaves in memory), model/model.h5
/// rebuilt for them. \error as Rewrite; kCorrupt (a leaf that was to be converted)
Status write_strip(Fs& fs, const StripOptions& options, StripReport& report);

}  // namespace titan::ckpt
