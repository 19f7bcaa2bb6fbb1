#pragma once
// What torchtitan's configuration says beyond its checkpoints: a DCP directory holds no curve, no head counts, no rope,
// no eps.
#include <cstdint>
#include <string>
#include <vector>

#include "ckpt/base/result.h"
#include "ckpt/model/lr.h"
#include "ckpt/model/settings.h"
#include "ckpt/plan/lr_schedule.h"
#include "recipe/keys/rows.h"

namespace titan::convert::dcp {

/// What the rows say of the keys that shape a run. Their defaults are the same in torchtitan (v0.2.2) and here.
/// \error kInvalid naming the key and its value
ckpt::Result<recipe::Config> read_torchtitan(const ckpt::Settings& rows);

/// The flavour; without one, torchtitan's default "debugmodel".
std::string flavor_name(const recipe::Config& config);
/// Replicate x shard degree where both are given as numbers, else 0.
std::uint64_t data_ranks(const recipe::Config& config);

/// Ranks that had data of their own, at least 1. \error kIncompatible: without a global batch nothing says how many
/// sequences a step has
ckpt::Result<std::uint64_t> world_of(const recipe::Config& config);
/// Sequences of a step on `world` such ranks.
std::uint64_t batch_of(const recipe::Config& config, std::uint64_t world);
/// Whether a configuration is about a run, not about the model alone.
bool says_run(const ckpt::Settings& rows);

/// The learning rate that torchtitan's checkpoint of `step` stores: that of the next step, also after the last one.
double next_lr(const ckpt::LrSettings& settings, std::uint64_t step);

/// The keys that read_torchtitan looks at, besides their aliases.
const std::vector<std::string>& torchtitan_keys();

/// The rows of `config` that are compared when a run goes on, without the model's, ascending. `world` is the number of
/// ranks that had data of their own: it resolves a global batch of -1.
ckpt::Settings curve_rows(const recipe::Config& config, std::uint64_t world);

}  // namespace titan::convert::dcp
