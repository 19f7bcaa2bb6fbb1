#pragma once
// The files of a DeepSpeed step by their names.
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "ckpt/base/fs.h"

namespace titan::convert::deepspeed {

inline constexpr std::string_view kStates = "_optim_states.pt";

struct StepFiles {
  std::string model;                           ///< of the first rank
  std::map<std::uint32_t, std::string> ranks;  ///< of the optimizer, by data-parallel rank; none, or all of them
};

/// Sorts what lies in `folder`. \error kCorrupt: ranks or the model's file lack, a name is none of DeepSpeed's;
/// kUnsupported: files of pipelines, experts, tensor-parallel ranks, by name; kFailed
ckpt::Result<StepFiles> files_of_step(ckpt::Fs& fs, const std::string& folder);

/// The data-parallel rank in the name of a file of ZeRO's, with its extension or without; nothing where it has none, or
/// writes it otherwise than DeepSpeed does.
std::optional<std::uint32_t> rank_in_name(std::string_view name);

}  // namespace titan::convert::deepspeed
