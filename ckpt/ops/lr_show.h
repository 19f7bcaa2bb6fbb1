#pragma once
// `lr show`: a checkpoint's learning-rate curve, and what a policy would make of it.
#include <optional>
#include <string>
#include <vector>

#include "ckpt/io/reader.h"
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

inline constexpr const char* kTrainingSteps = "training.steps";

/// training.steps of the stored configuration, 0 when it says none.
std::uint64_t stored_training_steps(const Manifest& manifest);
/// "key: before -> after" of every LR setting that differs.
std::vector<std::string> changed_rows(const LrSettings& before, const LrSettings& after);
/// Opens what the user named and reads its schedule. \error kIncompatible when it has none
Result<CheckpointReader> open_with_schedule(Fs& fs, const std::string& spec, LrSchedule* schedule);

}  // namespace titan::ckpt
