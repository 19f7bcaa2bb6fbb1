#pragma once
// Signals that come before a run has begun. LibTorch's constructors take a fifth of a second before main begins.
#include "cli/kit/command_line.h"

namespace titan::cli {

/// Notes stop signals from now on. Call it first in main; where the program can, it runs even before the constructors
/// of libraries.
void note_early_stops();

/// A rank continues to note signals and says why it leaves. Every other process ends at once, with a line, now or
/// later.
void answer_early_stops(const Command& command);

}  // namespace titan::cli
