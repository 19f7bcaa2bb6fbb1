#pragma once
#include <string>

#include "ckpt/ops/merge.h"
#include "cli/kit/verb.h"

namespace titan::cli {

/// "linear", "1-sqrt" or "cosine": a decay as --weights calls it.
const char* decay_name(ckpt::PhaseKind kind);
/// The curve that the weights correspond to, drawn, and what was written.
std::string merge_text(const ckpt::MergeReport& report, const TextStyle& style, std::size_t width);
std::string merge_json(const ckpt::MergeReport& report);

}  // namespace titan::cli
