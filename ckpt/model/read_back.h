#pragma once

namespace titan::ckpt {

/// How much of what a save has written it reads again before it publishes the step.
enum class ReadBack {
  kOff,
  kSampled,  ///< manifest, JSON members, leaf tables, envelopes, and one leaf in a hundred (at least one)
  kAll,      ///< every byte
};

}  // namespace titan::ckpt
