#pragma once
// A second reader checks damage that a rank met while loading. One node's bad memory or network does not prove that a
// step is damaged.
#include <cstdint>
#include <vector>

#include "ckpt/base/cancel.h"
#include "ckpt/base/fs.h"
#include "ckpt/plan/ownership.h"
#include "ckpt/read/reader.h"

namespace titan::ckpt {

/// What a resume of rank `rank` reads: its own leaves of the parameters and, with `moments`, of both moments.
struct RankPart {
  const std::vector<ParameterMeta>& parameters;  ///< of the model, stages assigned
  const Ownership& owners;
  std::uint32_t rank = 0;
  bool moments = true;
};

/// Reads `part` of the checkpoint `path` with every digest, past the page cache, one leaf at a time; keeps nothing.
/// \error kCorrupt: the damage is confirmed; ok: this reader finds none; kMediaError, kFailed;
/// kInterrupted, kTerminated (by `stop`)
Status read_part(Fs& fs, const std::string& path, const Manifest& manifest, const RankPart& part,
                 const CancelToken& stop = {});

}  // namespace titan::ckpt
