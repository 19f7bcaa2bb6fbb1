#pragma once
// What rank 0 tells the other ranks of a start: where it begins, and what the checkpoint says of itself. They then open
// the checkpoint without looking for it: at thousands of ranks, looks at member files are what a start would spend its
// time on.
#include <map>
#include <string>
#include <string_view>

#include "libtrain/job/start/resume_point.h"

namespace titan::train {

struct StartWord {
  StartDecision decision;                   ///< `reason`, `skipped` and `notes` stay with rank 0
  std::map<std::string, std::string> json;  ///< the JSON components of a resumed checkpoint, component -> text
  std::uint64_t seed = 0;                   ///< of a new run
  std::string processor;                    ///< rank 0's: hosts of several kinds compute alike
};

std::string encode_start(const StartWord& word);
/// \error kFailed (damaged on its way); throws std::runtime_error when it is cut off
ckpt::Result<StartWord> decode_start(std::string_view bytes);

/// The texts of the JSON components that `reader` has. \error kCorrupt, kFailed
ckpt::Result<std::map<std::string, std::string>> json_texts(const ckpt::CheckpointReader& reader);

}  // namespace titan::train
