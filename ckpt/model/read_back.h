#pragma once

namespace titan::ckpt {

/// How much of a save is read back and verified before the step is published.
enum class ReadBack {
  kOff,      ///< nothing
  kSampled,  ///< manifest, JSON members, leaf tables, envelopes, and one leaf in a hundred (at least one)
  kAll,      ///< every byte
};

}  // namespace titan::ckpt
