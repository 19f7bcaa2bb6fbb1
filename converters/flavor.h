#pragma once
// What a named flavour of torchtitan's llama3 says of a model.
#include <cstdint>
#include <string>

#include "ckpt/model/schedule.h"

namespace titan::convert {

struct ModelConfig;

/// A llama3 flavour of torchtitan 0.2.2.
struct Flavor {
  const char* name;
  std::uint64_t dim, n_layers, n_heads, n_kv_heads, vocab_size, multiple_of;
  double multiplier;  ///< of the feed-forward layers
  /// Whether heads and RoPE of the flavour go for `model`. People edit the other dimensions in place.
  bool fits(const ModelConfig& model) const;
};

/// The flavour `name`, or nullptr.
const Flavor* find_flavor(const std::string& name);

/// The rows "model.*" that `given` leaves to its model.flavor, ascending: none without a flavour, or with one that is not known here. RoPE's
/// scaling is not among them, for torchtitan's flavours have one and titan-train's have none.
ckpt::Settings flavor_rows(const ckpt::Settings& given);

/// The rows of flavor_rows that an import of `model` from torchtitan would take from `given`'s flavour: heads, eps, RoPE and its scaling, for
/// dimensions are the tensors'. A flavour of another size says all, unless `given` says heads and RoPE itself.
ckpt::Settings torchtitan_rows(const ckpt::Settings& given, const ModelConfig& model);

}  // namespace titan::convert
