#pragma once
// Shared by lr_show.cpp and lr_set.cpp.
#include "ckpt/io/reader.h"

namespace titan::ckpt {

inline constexpr const char* kTrainingSteps = "training.steps";

/// training.steps of the stored configuration, 0 when it says none.
std::uint64_t stored_training_steps(const Manifest& manifest);
/// "key: before -> after" of every LR setting that differs.
std::vector<std::string> changed_rows(const LrSettings& before, const LrSettings& after);
/// Opens what the user named and reads its schedule. \error kIncompatible when it has none
Result<CheckpointReader> open_with_schedule(Fs& fs, const std::string& spec, LrSchedule* schedule);

}  // namespace titan::ckpt
