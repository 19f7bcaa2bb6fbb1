#pragma once
// `lr set`: makes a checkpoint with another learning-rate curve.
#include <optional>
#include <string>
#include <vector>

#include "ckpt/ops/derive.h"
#include "ckpt/ops/lr_show.h"

namespace titan::ckpt {

struct LrSetOptions : RewriteOptions {
  std::uint64_t steps = 0;  ///< new end of the curve and of training
  LrPolicy policy = LrPolicy::kKeep;
  std::optional<double> peak;  ///< settings that are not given stay as accepted
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
  std::string toml;                  ///< lines of a configuration with which the result resumes without a flag
  std::string note;                  ///< the note in the history of the result
  Digest old_id, new_id;
  bool hidden = false;  ///< a resume would not find DST, because of its name
  bool written = false;
  bool verified = false;              ///< every byte of SRC was checked; else its members were carried unread
  std::vector<CarriedFile> files;     ///< set when written
  std::vector<std::string> warnings;  ///< leftovers
};

/// Decides everything, and checks everything for which writing would be refused; writes nothing.
/// \error kInvalid (names, settings that the policy does not accept), kIncompatible (an end before the checkpoint's
/// step, no schedule), and those of opening SRC
Result<LrSetReport> plan_lr_set(Fs& fs, const LrSetOptions& options);
/// Makes DST: new lr_scheduler.json, train_state.json and manifest.json; everything else is carried. \error as Rewrite
Status write_lr_set(Fs& fs, const LrSetOptions& options, LrSetReport& report);

}  // namespace titan::ckpt
