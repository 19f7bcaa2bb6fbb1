#pragma once
// Handles Ctrl-C and other stop signals. After stop_at_once(), a signal ends the process with a message and an exit
// code. After stop_on_signals(), the first signal only sets a token, which a long operation polls so that it can clean
// up; a second signal ends the process at once.
#include <string>
#include <vector>

#include "ckpt/base/cancel.h"
#include "cli/kit/terminal.h"

namespace titan::cli {

struct StopLines {
  bool json = false;
  ColorChoice color = ColorChoice::kAuto;
  std::string hint;            ///< hint of the error that is printed when the first signal ends the process
  std::vector<int> more = {};  ///< at most one more signal that ends the process at once
};
/// From now on SIGINT (exit code 130), SIGTERM and SIGHUP (143) end the process at once. Signals that the parent
/// process ignores stay ignored.
void stop_at_once(const StopLines& lines);

/// From now on the first SIGINT, SIGTERM or SIGHUP cancels the running operation through the returned token, and the
/// next one ends the process at once.
ckpt::CancelToken stop_on_signals();

/// Sets the path of a file that is removed if a signal ends the process at once; empty: none.
void remove_at_stop(const std::string& path);

}  // namespace titan::cli
