#pragma once
// Configuration drift: the settings that shape the curve and differ between a checkpoint and the configuration,
// compared by derived values.
#include <cstdint>
#include <string>
#include <vector>

#include "ckpt/model/data_position.h"
#include "ckpt/model/settings.h"

namespace titan::recipe {

struct Config;
struct RunPlan;

/// One difference; values are as TOML would write them, "not set" where a side does not have the key.
struct Drift {
  std::string key, stored, config;
  bool operator==(const Drift&) const = default;
};

/// The settings in force that shape the curve, on derived values, under the key that a person would edit: one row per
/// key of class "curve", with dimensions for the flavour, the micro-batch size under training.local_batch_size, the
/// global batch resolved, the end of the curve under lr_scheduler.total_steps, and the dataset's fingerprint (no folder
/// names) under training.dataset_path. `seed`: of the run. `data`: the dataset's position at its start.
ckpt::Settings accepted_settings(const Config& config, const RunPlan& plan, std::uint64_t seed,
                                 const ckpt::DataPosition& data);

/// Differences in key order; empty: the run may go on. A key that an older checkpoint lacks counts as its default.
std::vector<Drift> find_drift(const ckpt::Settings& stored, const ckpt::Settings& current);

/// Whether both say the same of how the data are cut into samples: what a sample number stands for, but for the files.
bool cut_alike(const ckpt::Settings& stored, const ckpt::Settings& current);

/// The device of two environments as "device: cpu in the checkpoint, NVIDIA H100 80GB HBM3 now" where that differs,
/// else their first difference; "" when they are equal.
std::string environment_difference(const ckpt::Settings& stored, const ckpt::Settings& current);

}  // namespace titan::recipe
