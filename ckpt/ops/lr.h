#pragma once
// `lr show` and `lr set`: a checkpoint's learning-rate curve, what a policy would make of it, and a checkpoint with it.
#include <optional>
#include <string>
#include <vector>

#include "ckpt/ops/derive.h"
#include "ckpt/plan/lr_preview.h"

namespace titan::ckpt {

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
