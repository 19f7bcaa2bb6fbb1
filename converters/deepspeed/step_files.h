#pragma once
// The files of a DeepSpeed step, found by their names.
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "ckpt/base/result.h"

namespace titan::ckpt {
class Fs;
}

namespace titan::convert::deepspeed {

inline constexpr std::string_view kStates = "_optim_states.pt";

struct StepFiles {
  std::string model;                           ///< model file of the first rank
  std::map<std::uint32_t, std::string> ranks;  ///< optimizer files by data-parallel rank; either none or all
};

/// Finds the files of a step in `folder`. \error kCorrupt: missing ranks or model file, or a name that is not
/// DeepSpeed's; kUnsupported: files of pipelines, experts, tensor-parallel ranks; kFailed
ckpt::Result<StepFiles> files_of_step(ckpt::Fs& fs, const std::string& folder);

/// The data-parallel rank in the name of a ZeRO file, with or without extension; nullopt if the name is not of
/// DeepSpeed's form.
std::optional<std::uint32_t> rank_in_name(std::string_view name);

}  // namespace titan::convert::deepspeed
