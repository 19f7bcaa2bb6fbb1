#pragma once
// Configuration drift: settings that shape the loss curve and differ between a checkpoint and the configuration. The
// values in force are compared, including derived ones.
#include <cstdint>
#include <string>
#include <vector>

#include "ckpt/model/data_position.h"
#include "ckpt/model/settings.h"

namespace titan::recipe {

struct Config;
struct RunPlan;

/// One setting that differs. Values are TOML text, or "not set" if a side does not have the key.
struct Drift {
  std::string key, stored, config;
  bool operator==(const Drift&) const = default;
};

/// The settings in force that shape the loss curve: one row per key of class "curve", under the key that a person
/// edits. A flavour is replaced by its dimensions. The micro-batch size is under training.local_batch_size, the
/// resolved global batch under its own key, the last step of the LR schedule under lr_scheduler.total_steps, and the
/// fingerprint of the dataset (without folder names) under training.dataset_path. `seed` is the run's; `data` is the
/// dataset's start position.
ckpt::Settings accepted_settings(const Config& config, const RunPlan& plan, std::uint64_t seed,
                                 const ckpt::DataPosition& data);

/// Differences in key order; empty: the run may resume. A key that `stored` lacks counts as having its default, since
/// older checkpoints lack newer keys. A key that other trainers lack (KeyFacts::own_concept) is compared only if
/// `stored` has it.
std::vector<Drift> find_drift(const ckpt::Settings& stored, const ckpt::Settings& current);

/// Whether two runs cut the data into samples in the same way, so that the same sample number means the same tokens in
/// equal files.
bool same_sample_boundaries(const ckpt::Settings& stored, const ckpt::Settings& current);

/// The difference of two environments: "device: cpu in the checkpoint, NVIDIA H100 80GB HBM3 now" if the devices
/// differ, else the first difference; "" if they are equal.
std::string environment_difference(const ckpt::Settings& stored, const ckpt::Settings& current);

}  // namespace titan::recipe
