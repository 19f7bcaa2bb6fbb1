#pragma once
#include <string>

#include "ckpt/ops/lr_set.h"
#include "ckpt/ops/lr_show.h"
#include "cli/kit/verb.h"

namespace titan::cli {

std::string lr_show_text(const ckpt::LrShowReport& report, const TextStyle& style, std::size_t width);
/// Sets `status` to kInvalid if the schedule has more than 100 million steps, too many for a document.
std::string lr_show_json(const ckpt::LrShowReport& report, ckpt::Status* status);

/// The preview: what would change (plot and numbers), and the configuration that matches it.
std::string lr_preview_text(const ckpt::LrSetReport& report, const TextStyle& style, std::size_t width);
/// What was written, after the preview.
std::string lr_written_text(const ckpt::LrSetReport& report, const TextStyle& style);
std::string lr_set_json(const ckpt::LrSetReport& report, ckpt::Status* status);

}  // namespace titan::cli
