#pragma once
#include <string>

#include "ckpt/ops/lr_set.h"
#include "ckpt/ops/lr_show.h"
#include "cli/kit/verb.h"

namespace titan::cli {

std::string lr_show_text(const ckpt::LrShowReport& report, const TextStyle& style, std::size_t width);
/// \error in `status`: kInvalid when the curve has more steps than a document should have (100 million)
std::string lr_show_json(const ckpt::LrShowReport& report, ckpt::Status* status);

/// Only the preview: what would change, drawn and in numbers, and the configuration that matches it.
std::string lr_preview_text(const ckpt::LrSetReport& report, const TextStyle& style, std::size_t width);
/// What was written, after the preview.
std::string lr_written_text(const ckpt::LrSetReport& report, const TextStyle& style);
std::string lr_set_json(const ckpt::LrSetReport& report, ckpt::Status* status);

}  // namespace titan::cli
