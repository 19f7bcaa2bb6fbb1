#pragma once
// How a run is shown: torchtitan's lines where standard output is read by a program, else lines for people with a bar
// below them.
#include <memory>
#include <string>
#include <vector>

#include "cli/kit/terminal.h"
#include "libtrain/job/run/run_watcher.h"
#include "recipe/keys/config.h"

namespace titan::cli {

class Console : public train::RunWatcher {
 public:
  /// The end of the run on this rank. `words`: the command line as typed.
  virtual void end(int exit_code, const std::vector<std::string>& words) = 0;
};

/// Step lines as torchtitan's, byte for byte.
std::unique_ptr<Console> make_line_console(const recipe::Config& config, ColorChoice color);
/// Lines that fit the terminal behind stdout; where stderr is one as well, the log is shown there, and a bar that goes
/// away at the end, unless colour is off.
std::unique_ptr<Console> make_terminal_console(const recipe::Config& config, ColorChoice color);

/// The one that suits standard output.
std::unique_ptr<Console> make_console(const recipe::Config& config, ColorChoice color);

/// Erases what a process that is gone may have left where the cursor is.
void clear_bar(ColorChoice color);
/// Of another rank than 0 on a terminal: warnings fold, and erase the bar of rank 0 before them.
void show_log_of_rank(int rank, ColorChoice color);

}  // namespace titan::cli
