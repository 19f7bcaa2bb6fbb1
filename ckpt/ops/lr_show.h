#pragma once
// `lr show`: the LR schedule of a checkpoint, and the effect of each policy on it.
#include <optional>
#include <string>
#include <vector>

#include "ckpt/plan/lr_preview.h"
#include "ckpt/read/reader.h"

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
  std::uint64_t step = 0, training_steps = 0;  ///< training.steps of the stored configuration, 0 if unknown
  std::uint64_t last = 0;                      ///< last step to show
  LrSchedule schedule;
  std::optional<LrConfig> config;
  std::vector<std::string> changed;  ///< "key: checkpoint's -> config's"; empty: a resume needs no flag for the LR
  std::vector<LrPreview> previews;   ///< one per policy, if something changed
};

/// Reads the LR schedule of `checkpoint` and compares it with `config`. \error kIncompatible when the checkpoint has no
/// LR schedule, and the errors of opening it
Result<LrShowReport> lr_show(Fs& fs, const std::string& checkpoint, const std::optional<LrConfig>& config);

inline constexpr const char* kTrainingSteps = "training.steps";

/// training.steps of the stored configuration, 0 if it has none.
std::uint64_t stored_training_steps(const Manifest& manifest);
/// "key: before -> after" for every LR setting that differs.
std::vector<std::string> changed_rows(const LrSettings& before, const LrSettings& after);
/// Opens the checkpoint that `spec` names and reads its schedule into `schedule`. \error kIncompatible when it has
/// none, and the errors of opening it
Result<CheckpointReader> open_with_schedule(Fs& fs, const std::string& spec, LrSchedule* schedule);

}  // namespace titan::ckpt
