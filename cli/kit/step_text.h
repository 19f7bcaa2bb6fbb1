#pragma once
// The text of a run on a terminal: step lines, the bar below them, the summary at the end. Pure.
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
  double tps = 0;              ///< of all ranks
  int ranks = 1;               ///< the speed per rank is shown if there are several
  std::optional<double> left;  ///< seconds to the last step
};

/// "step 50/200 loss 2.6312 lr 9.40e-4 tok/s 8.5k (4.2k a rank) eta 1m12s"; if `width` is too small, the speed per rank
/// is left out first, then learning rate, time left and speed. If there is room, the gradient's norm is shown too.
std::string step_text(const StepLook& look, std::size_t width, const Palette& palette);

/// "[12s] 25% step 50/200 [=====> ] eta 1m12s", shorter than `width`. `doing`: text in place of the bar.
std::string bar_text(const StepLook& look, double elapsed, const std::string& doing, std::size_t width);

struct RunSummary {
  std::uint64_t first = 1, done = 0,
                last = 0;  ///< steps of this start: the first, the last one done, the last one asked for
  double loss = 0, best_loss = 0;
  std::uint64_t best_step = 0, tokens = 0;  ///< tokens of this start
  double seconds = 0;
  std::optional<double> validation_loss;
  std::uint64_t validation_step = 0;
  std::string newest;  ///< checkpoint; empty: none
  std::string go_on;   ///< command line to resume; empty: another program prints it
};

/// One line each: what was done, losses, the newest checkpoint, how to resume.
std::string summary_text(const RunSummary& summary, std::size_t width, const Palette& palette);

/// A message of the log: broken between words, with its level in front.
std::string message_text(const std::string& label, Role role, const std::string& message, std::size_t width,
                         const Palette& palette);

}  // namespace titan::cli
