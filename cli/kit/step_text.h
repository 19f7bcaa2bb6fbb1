#pragma once
// Terminal output of a run: step lines, the progress bar, the summary at the end. Pure.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/kit/terminal.h"

namespace titan::cli {

/// 8.5k, 123, 1.2M: at most four characters and a letter.
std::string short_count(double value);
/// 9.40e-4; always of the same width for rates below 1.
std::string short_rate(double lr);

struct StepLook {
  std::uint64_t step = 0, last = 0;
  double loss = 0, lr = 0, grad_norm = 0;
  double tps = 0;              ///< tokens per second over all ranks
  int ranks = 1;               ///< the speed per rank is shown if there are several
  std::optional<double> left;  ///< seconds to the last step
};

/// "step 50/200 loss 2.6312 lr 9.40e-4 tok/s 8.5k (4.2k a rank) eta 1m12s". If `width` is too small, drops first the
/// speed per rank, then LR, remaining time and speed. If there is room, the gradient norm is added.
std::string step_text(const StepLook& look, std::size_t width, const Palette& palette);

/// "[12s] 25% step 50/200 [=====> ] eta 1m12s", shorter than `width`. `doing`: text shown instead of the bar.
std::string bar_text(const StepLook& look, double elapsed, const std::string& doing, std::size_t width);

struct RunSummary {
  std::uint64_t first = 1, done = 0,
                last = 0;  ///< steps of this start: first, last completed, last requested
  double loss = 0, best_loss = 0;
  std::uint64_t best_step = 0, tokens = 0;  ///< `tokens`: trained in this start
  double seconds = 0;
  std::optional<double> validation_loss;
  std::uint64_t validation_step = 0;
  std::string newest;  ///< path of the newest checkpoint; empty if none
  std::string go_on;   ///< command line to resume; empty: another program prints it
};

/// One line each: steps and time, losses, the newest checkpoint, how to resume.
std::string summary_text(const RunSummary& summary, std::size_t width, const Palette& palette);

/// A log message with its level in front, wrapped between words.
std::string message_text(const std::string& label, Role role, const std::string& message, std::size_t width,
                         const Palette& palette);

}  // namespace titan::cli
