#pragma once
// Pipeline stages as one line of text in Megatron's grammar: "Et*2|(t*3|)*2tL". E: embedding; t: a layer; L: final
// norm, head and loss. "|" begins the next stage, "x*n" repeats the character x n times, "(..)*n" what is in the
// parentheses; commas are ignored. Pure.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ckpt/base/result.h"

namespace titan::ckpt {

/// Returns the first group (0: embedding; 1, 2, ...: layers; last: head) of stages 1, 2, ... of `layout` for a model
/// with `layers` layers. \error kInvalid: syntax, E not first, L not last, another number of layers, an empty stage,
/// more than 65,536 characters after repetition; kUnsupported: an 'm' (Megatron's MTP layer)
Result<std::vector<std::uint32_t>> parse_stage_layout(std::string_view layout, std::uint32_t layers);

/// The inverse of parse_stage_layout(). Example: "Et*2|t*3|tL" for `cuts` 3 and 6 and 6 layers.
std::string stage_layout_text(const std::vector<std::uint32_t>& cuts, std::uint32_t layers);

}  // namespace titan::ckpt
