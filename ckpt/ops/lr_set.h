#pragma once
// `lr set`: a checkpoint with another learning-rate curve.
#include <optional>
#include <string>
#include <vector>

#include "ckpt/ops/derive.h"
#include "ckpt/ops/lr_show.h"

namespace titan::ckpt {

struct LrSetOptions : RewriteOptions {
  std::uint64_t steps = 0;  ///< new end of the curve and of training
  LrPolicy policy = LrPolicy::kKeep;
  std::optional<double> peak;  ///< what is not given stays as accepted
  std::optional<std::uint64_t> warmup;
  std::optional<std::optional<double>> decay_ratio;
  std::optional<std::string> decay_type;
  std::optional<double> min_factor;
  bool rewarm_from_zero = false;
};

struct LrSetReport {
  std::string src, dst;
  LrSchedule before;
  LrPreview preview;
  std::vector<std::string> changed;  ///< accepted settings that differ, "key: old -> new"
  std::string toml;                  ///< lines of a configuration that resumes the result without a flag
  std::string note;                  ///< what the history says about it
  Digest old_id, new_id;
  bool hidden = false;  ///< a resume would not find DST by its name
  bool written = false;
  bool verified = false;              ///< every byte of SRC was checked; else its members were taken over unread
  std::vector<CarriedFile> files;     ///< when written
  std::vector<std::string> warnings;  ///< leftovers
};

/// Decides everything and checks everything that writing would refuse; writes nothing.
/// \error kInvalid (names, settings that the policy does not take), kIncompatible (steps behind the checkpoint, no
/// schedule), and those of opening SRC
Result<LrSetReport> plan_lr_set(Fs& fs, const LrSetOptions& options);
/// Makes DST: new lr_scheduler.json, train_state.json and manifest.json, all else carried. \error as Rewrite
Status write_lr_set(Fs& fs, const LrSetOptions& options, LrSetReport& report);

}  // namespace titan::ckpt
