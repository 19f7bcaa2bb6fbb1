#pragma once
#include <string>

#include "ckpt/ops/lr_set.h"
#include "ckpt/ops/lr_show.h"
#include "cli/kit/verb.h"

namespace titan::cli {

std::string lr_show_text(const ckpt::LrShowReport& report, const TextStyle& style, std::size_t width);

/// The preview: what would change (plot and numbers), and the configuration that matches it.
std::string lr_preview_text(const ckpt::LrSetReport& report, const TextStyle& style, std::size_t width);
/// What was written, after the preview.
std::string lr_written_text(const ckpt::LrSetReport& report, const TextStyle& style);

}  // namespace titan::cli
