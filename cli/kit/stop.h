#pragma once
// Handling of Ctrl-C and stop signals. At first a stop signal ends the process with a message and its exit code. Once a
// long operation polls for it, the first signal lets the operation clean up, and a second one ends the process at once.
#include <string>
#include <vector>

#include "ckpt/base/cancel.h"
#include "cli/kit/terminal.h"

namespace titan::cli {

struct StopLines {
  bool json = false;
  ColorChoice color = ColorChoice::kAuto;
  std::string hint;            ///< printed if the process ends at once
  std::vector<int> more = {};  ///< signals that ask for a stop in addition to SIGINT, SIGTERM and SIGHUP
};
/// From now on SIGINT, SIGTERM and SIGHUP end the process at once, with exit code 130 or 143. Signals that the parent
/// ignored stay ignored.
void stop_at_once(const StopLines& lines);

/// From now on the first stop signal cancels the running operation through the returned token.
ckpt::CancelToken stop_on_signals();

/// Sets a file that is removed if a signal ends the process at once; empty: none.
void remove_at_stop(const std::string& path);

}  // namespace titan::cli
