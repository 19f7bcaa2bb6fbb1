#pragma once
// Reports of `lr show` and `lr set`, and what tools that carry files say about them. Pure.
#include <string>
#include <vector>

#include "ckpt/ops/lr_set.h"
#include "ckpt/ops/lr_show.h"
#include "cli/ui/reports.h"

namespace titan::ui {

std::string lr_show_text(const ckpt::LrShowReport& report, const TextStyle& style, std::size_t width);
/// \error in `status`: kInvalid when the curve has more steps than a document should have (100 million)
std::string lr_show_json(const ckpt::LrShowReport& report, ckpt::Status* status);

/// The preview alone: what would change, drawn and in numbers, and the configuration that agrees with it.
std::string lr_preview_text(const ckpt::LrSetReport& report, const TextStyle& style, std::size_t width);
/// What was written, after the preview.
std::string lr_written_text(const ckpt::LrSetReport& report, const TextStyle& style);
std::string lr_set_json(const ckpt::LrSetReport& report, ckpt::Status* status);

/// "5 files, 1.2 MiB: hard links", then a line for each file that is something else, with the reason.
std::string carried_text(const std::vector<ckpt::CarriedFile>& files, bool verified, const TextStyle& style);
/// "files":[{"path","bytes","method","reason"}].
void carried_json(JsonOut& json, const std::vector<ckpt::CarriedFile>& files);

}  // namespace titan::ui
