#pragma once
// Text of a run on a terminal: step lines, the progress bar, the summary at the end. Pure.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "cli/kit/terminal.h"

namespace titan::cli {

/// "123", "8.5k", "1.2M": at most five characters for values below 10^13. "?" for a negative or non-finite value.
std::string short_count(double value);
/// "9.40e-4": seven characters for 0 and for rates from 1e-9 to below 1.
std::string short_rate(double lr);

/// The values of a step line.
struct StepLook {
  std::uint64_t step = 0, last = 0;  ///< number of this step and of the run's last step
  double loss = 0, lr = 0, grad_norm = 0;
  double tps = 0;              ///< tokens per second over all ranks
  int ranks = 1;               ///< number of ranks; if there are several, the speed per rank is shown, too
  std::optional<double> left;  ///< seconds until the last step is complete
};

/// "step 50/200  loss 2.6312  lr 9.40e-4  norm 0.918  tok/s 8.5k (4.2k a rank)  eta 1m12s". A line longer than `width`
/// columns loses parts in this order: gradient norm, speed per rank, LR, remaining time, speed.
std::string step_text(const StepLook& look, std::size_t width, const Palette& palette);

/// "[12s]  25%  step 50/200  [=====>   ]  eta 1m12s", shorter than `width` columns. `elapsed`: seconds. `doing`: text
/// shown instead of the remaining time, such as "saving"; empty: none.
std::string bar_text(const StepLook& look, double elapsed, const std::string& doing, std::size_t width);

struct RunSummary {
  std::uint64_t first = 1, done = 0,
                last = 0;                   ///< steps of this start: first, last completed, last requested
  double loss = 0, best_loss = 0;           ///< loss of step `done`; least loss of this start
  std::uint64_t best_step = 0, tokens = 0;  ///< step of best_loss; number of tokens trained on in this start
  double seconds = 0;                       ///< duration of this start
  std::optional<double> validation_loss;    ///< the last one
  std::uint64_t validation_step = 0;
  std::string newest;          ///< path of the newest checkpoint; empty if none
  std::string extend_command;  ///< for a complete run: command line that trains it for more steps; else empty
};

/// A line each for steps and time, losses, the newest checkpoint, and the command that trains a complete run for more
/// steps.
std::string summary_text(const RunSummary& summary, std::size_t width, const Palette& palette);

/// A log message after its label ("warning"; may be empty), which is painted as `role`; wrapped between words.
std::string message_text(const std::string& label, Role role, const std::string& message, std::size_t width,
                         const Palette& palette);

}  // namespace titan::cli
