#pragma once
// Confirms damage that a rank found while loading: a second process reads the same part again. Without this, one host
// with bad memory or a bad network could make a step seem damaged.
#include <cstdint>
#include <vector>

#include "ckpt/base/cancel.h"
#include "ckpt/plan/ownership.h"
#include "ckpt/read/reader.h"

namespace titan::ckpt {

class Fs;

/// The part of a checkpoint that rank `rank` reads to resume: its leaves of the parameters and, with `moments`, of the
/// slots (exp_avg, exp_avg_sq, ema).
struct LoadedPart {
  const std::vector<ParameterMeta>& parameters;  ///< all parameters of the model, with stages assigned
  const Ownership& owners;
  std::uint32_t rank = 0;
  bool moments = true;
};

/// Reads `part` of the checkpoint `path` past the page cache, one leaf at a time, and checks every digest. Returns ok
/// if this process finds no damage. \error kCorrupt: the damage is confirmed; kNotFound: a file is missing;
/// kMediaError, kFailed; kInterrupted, kTerminated (by `stop`)
Status read_part(Fs& fs, const std::string& path, const Manifest& manifest, const LoadedPart& part,
                 const CancelToken& stop = {});

}  // namespace titan::ckpt
