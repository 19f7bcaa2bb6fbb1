#pragma once
// Clean Ctrl-C. From the start of main, a stop signal ends the process with a line and its exit code. Once a long
// operation polls for it, the first signal lets the operation clean up, and a second one ends the process at once.
#include <string>
#include <vector>

#include "ckpt/base/cancel.h"
#include "cli/kit/terminal.h"

namespace titan::cli {

struct StopLines {
  bool json = false;
  ColorChoice color = ColorChoice::kAuto;
  std::string hint;            ///< of a stop at once
  std::vector<int> more = {};  ///< signals that ask for a stop beside SIGINT, SIGTERM and SIGHUP
};
/// From now on SIGINT, SIGTERM and SIGHUP end the process at once, with 130 or 143. What the parent ignored stays
/// ignored.
void stop_at_once(const StopLines& lines);

/// From now on the first of these signals asks the running operation to stop: returns the token to hand to it.
ckpt::CancelToken stop_on_signals();

/// A file that a stop at once removes; empty: none.
void remove_at_stop(const std::string& path);

}  // namespace titan::cli
