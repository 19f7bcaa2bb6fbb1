#pragma once
// What torchtitan's configuration says beyond its checkpoints: a DCP directory holds no curve, no head counts, no rope,
// no eps.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ckpt/base/result.h"
#include "ckpt/model/lr.h"
#include "ckpt/model/settings.h"
#include "ckpt/plan/lr_schedule.h"

namespace titan::convert::dcp {

/// The part of torchtitan 0.2.2's configuration that shapes a run, with its defaults.
struct TorchtitanConfig {
  ckpt::LrSettings lr;
  std::string optimizer = "AdamW";
  double beta1 = 0.9, beta2 = 0.95, eps = 1e-8, weight_decay = 0.1;
  std::uint64_t local_batch_size = 8, seq_len = 2048, steps = 10000;
  std::int64_t global_batch_size = -1;
  double max_norm = 1;
  std::string dtype = "float32", mixed_precision_param = "bfloat16", mixed_precision_reduce = "float32";
  std::optional<std::uint64_t> seed;
  std::string flavor = "debugmodel";
  std::uint64_t data_ranks = 0;  ///< replicate x shard degree where both are given as numbers, else 0
  bool operator==(const TorchtitanConfig&) const = default;
};

/// Takes the values out of rows (dotted key, TOML text); keys that do not concern a checkpoint are ignored.
/// \error kInvalid naming the key and its value
ckpt::Result<TorchtitanConfig> read_torchtitan(const ckpt::Settings& rows);

/// The learning rate that torchtitan's checkpoint of `step` stores: that of the next step, also after the last one.
double next_lr(const ckpt::LrSettings& settings, std::uint64_t step);

/// The keys that read_torchtitan looks at.
std::vector<std::string> torchtitan_keys();

/// The rows of `config` that are compared when a run goes on, without the model's, ascending. `world` is the number of
/// ranks that had data of their own: it resolves a global batch of -1.
ckpt::Settings curve_rows(const TorchtitanConfig& config, std::uint64_t world);

}  // namespace titan::convert::dcp
