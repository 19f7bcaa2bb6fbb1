#pragma once
// Signals that come before a run has begun. LibTorch's constructors take a fifth of a second before main begins.
#include "cli/kit/command_line.h"

namespace titan::cli {

/// Signals are taken note of from now on: the first thing in main, and done before the constructors of libraries where
/// the program can.
void note_early_stops();

/// A rank goes on to take note, and says why it leaves; everything else ends at once, with a line, now or later.
void answer_early_stops(const Command& command);

}  // namespace titan::cli
