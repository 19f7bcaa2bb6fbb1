#pragma once
// Settings from torchtitan's configuration that its checkpoints lack: a DCP directory stores no LR schedule, head
// counts, RoPE or eps.
#include <cstdint>
#include <string>
#include <vector>

#include "ckpt/base/result.h"
#include "ckpt/model/lr.h"
#include "ckpt/model/settings.h"
#include "ckpt/plan/lr_schedule.h"
#include "converters/format.h"
#include "recipe/keys/rows.h"

namespace titan::recipe {
struct Config;
}

namespace titan::convert::dcp {

/// Reads the keys torchtitan_keys() from `rows`; they define a run. A key without a row has its default, which is the
/// same in torchtitan v0.2.2 and Titan. \error kInvalid naming the key and its value
ckpt::Result<recipe::Config> read_torchtitan(const ckpt::Settings& rows);

/// The flavour; without one, torchtitan's default "debugmodel".
std::string flavor_name(const recipe::Config& config);
/// The number of data-parallel ranks: replicate degree (by default 1) x shard degree. 0 if the shard degree is not a
/// positive number (by default it is -1).
std::uint64_t data_ranks(const recipe::Config& config);

/// data_ranks(); 1 if that is 0 and a global batch size is given. \error kIncompatible: neither this size nor a
/// positive shard degree is given, so the number of sequences per step is unknown
ckpt::Result<std::uint64_t> world_of(const recipe::Config& config);
/// Sequences per step: the global batch size if it is given, else the local one x `world`, the number of ranks that
/// read different data.
std::uint64_t batch_of(const recipe::Config& config, std::uint64_t world);
/// A note with the settings of `config` that no file of a trainer has, so that they cannot be compared.
std::string uncompared_settings(const recipe::Config& config);
/// Adds the note that the EMA of the parameters, if `config` asks for one, begins at this step: no trainer's files
/// contain one.
void note_average(const recipe::Config& config, ImportPlan& plan);
/// Whether a configuration sets any key of a run: optimizer.*, lr_scheduler.* or training.steps.
bool has_run_settings(const ckpt::Settings& rows);

/// The learning rate that a torchtitan checkpoint of `step` stores: that of the next step, even after the last one.
double next_lr(const ckpt::LrSettings& settings, std::uint64_t step);

/// The keys that read_torchtitan() reads, without aliases.
const std::vector<std::string>& torchtitan_keys();

/// The settings of `config` that a resume compares, except those of the model, in ascending order of their keys. Keys
/// that torchtitan lacks are among them only if their values are not the defaults. `world`, the number of ranks that
/// read different data, resolves a global batch of -1.
ckpt::Settings curve_rows(const recipe::Config& config, std::uint64_t world);

}  // namespace titan::convert::dcp
