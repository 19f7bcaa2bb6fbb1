#pragma once

namespace titan::ckpt {

/// What a save reads again of the shard files that it has written.
enum class ReadBack {
  kOff,
  kSampled,  ///< leaf tables, envelopes, and at most one leaf of a hundred (one at least)
  kAll,      ///< every byte
};

}  // namespace titan::ckpt
