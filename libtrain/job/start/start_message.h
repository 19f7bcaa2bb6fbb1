#pragma once
// What rank 0 sends the other ranks about a start: the start step, and the checkpoint's manifest and JSON components.
// The other ranks open the checkpoint by this message, without checking member files: such checks would take most of
// the time of a start of thousands of ranks.
#include <map>
#include <string>
#include <string_view>

#include "libtrain/job/start/resume_point.h"

namespace titan::train {

struct StartMessage {
  StartDecision decision;                   ///< `reason`, `skipped` and `notes` stay with rank 0
  std::map<std::string, std::string> json;  ///< the JSON components of a resumed checkpoint, component -> text
  std::uint64_t seed = 0;                   ///< for a new run
  std::string processor;                    ///< rank 0's, so that different hosts choose the same GEMM library
};

std::string encode_start(const StartMessage& word);
/// \error kFailed (damaged in transit); throws std::runtime_error if the message is incomplete
ckpt::Result<StartMessage> decode_start(std::string_view bytes);

/// The texts of the JSON components that `reader` has. \error kCorrupt, kFailed
ckpt::Result<std::map<std::string, std::string>> json_texts(const ckpt::CheckpointReader& reader);

}  // namespace titan::train
