#pragma once

namespace titan::ckpt {

/// What a save reads again of what it has written, before it publishes.
enum class ReadBack {
  kOff,
  kSampled,  ///< manifest, JSON members, leaf tables, envelopes, and at most one leaf of a hundred (one at least)
  kAll,      ///< every byte
};

}  // namespace titan::ckpt
