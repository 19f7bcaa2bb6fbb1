#pragma once
// Prints the reports of `titan-ckpt lr show` and `lr set`.
#include <string>

#include "ckpt/ops/lr_set.h"
#include "ckpt/ops/lr_show.h"
#include "cli/kit/verb.h"

namespace titan::cli {

/// The LR schedule of a checkpoint as a plot of `width` columns (at most 100), and in numbers.
std::string lr_show_text(const ckpt::LrShowReport& report, const TextStyle& style, std::size_t width);

/// What `lr set` would change: a plot of `width` columns with the old and the new schedule, numbers, and the lines of a
/// configuration file that match the new schedule.
std::string lr_preview_text(const ckpt::LrSetReport& report, const TextStyle& style, std::size_t width);
/// What `lr set` has written. It is printed after the preview.
std::string lr_written_text(const ckpt::LrSetReport& report, const TextStyle& style);

}  // namespace titan::cli
