#pragma once
// `lr show` and `lr set`: a checkpoint's learning-rate curve, what a policy would make of it, and a checkpoint with it.
#include <optional>
#include <string>
#include <vector>

#include "ckpt/ops/derive.h"
#include "ckpt/plan/lr_policy.h"

namespace titan::ckpt {

/// What a policy makes of a curve at a checkpoint's step.
struct LrPreview {
  LrPolicy policy = LrPolicy::kKeep;
  Status refused;  ///< not ok: the policy does not take these settings; nothing below counts
  LrSchedule after;
  std::vector<std::string> warnings;
  std::uint64_t step = 0;                  ///< the checkpoint's; step + 1 is the next
  std::uint64_t last = 0;                  ///< last step worth showing: the end of the longer curve, or of training
  double applied = 0;                      ///< rate of `step`
  double next_before = 0, next_after = 0;  ///< rate of step + 1 on the old and on the new curve
};

/// Applies `policy`; a refusal is a field, not an error. `training_steps`: of the new settings, 0 unknown.
LrPreview preview_lr(const LrSchedule& so_far, std::uint64_t step, const LrSettings& next, LrPolicy policy,
                     bool rewarm_from_zero, std::uint64_t training_steps);

/// The LR settings of a configuration file.
struct LrConfig {
  std::string path;
  LrSettings settings;
  std::uint64_t training_steps = 0;
  bool rewarm_from_zero = false;
};

struct LrShowReport {
  std::string path;
  std::uint64_t step = 0, training_steps = 0;  ///< training.steps of the stored configuration, 0 unknown
  std::uint64_t last = 0;                      ///< last step worth showing
  LrSchedule schedule;
  std::optional<LrConfig> config;
  std::vector<std::string> changed;  ///< "key: checkpoint's -> config's"; empty = the config resumes without a flag
  std::vector<LrPreview> previews;   ///< of every policy, when something changed
};

/// \error kIncompatible when the checkpoint has no LR schedule, and those of opening it
Result<LrShowReport> lr_show(Fs& fs, const std::string& checkpoint, const std::optional<LrConfig>& config);

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
/// schedule),
/// and those of opening SRC
Result<LrSetReport> plan_lr_set(Fs& fs, const LrSetOptions& options);
/// Makes DST: new lr_scheduler.json, train_state.json and manifest.json, all else carried. \error as Rewrite
Status write_lr_set(Fs& fs, const LrSetOptions& options, LrSetReport& report);

}  // namespace titan::ckpt
