#pragma once
// `lr set`: makes a checkpoint with another LR schedule.
#include <optional>
#include <string>
#include <vector>

#include "ckpt/ops/derive.h"
#include "ckpt/ops/lr_show.h"

namespace titan::ckpt {

struct LrSetOptions : RewriteOptions {
  std::uint64_t steps = 0;  ///< new last step of the schedule and of training
  LrPolicy policy = LrPolicy::kKeep;
  std::optional<double> peak;  ///< settings that are not given keep their accepted values
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
  std::string toml;                  ///< lines of a configuration with which DST resumes without a flag
  std::string note;                  ///< the note in the history of DST
  Digest old_id, new_id;
  bool hidden = false;  ///< hidden_from_resume(): DST is not named step-%08d with its step
  bool written = false;
  bool verified = false;              ///< every byte of SRC was checked; else its shards were taken over unchecked
  std::vector<CarriedFile> files;     ///< members taken over; set when written
  std::vector<std::string> warnings;  ///< parity_left_out(), Rewrite::warnings()
};

/// Plans the change, and makes all checks that could refuse the write; writes nothing.
/// \error kInvalid (names, settings that the policy does not accept), kIncompatible (an end before the checkpoint's
/// step, no schedule), kFailed (DST cannot be made), the errors of opening SRC and of verify_source()
Result<LrSetReport> plan_lr_set(Fs& fs, const LrSetOptions& options);
/// Makes DST with a new lr_scheduler.json, train_state.json and manifest.json; takes over all other members except
/// parity files.
/// \error as Rewrite (rewrite.h)
Status write_lr_set(Fs& fs, const LrSetOptions& options, LrSetReport& report);

}  // namespace titan::ckpt
