#pragma once
// Displays a run: as torchtitan's log lines if standard output is not a terminal, else as shorter lines with a progress
// bar below.
#include <memory>
#include <string>
#include <vector>

#include "cli/kit/terminal.h"
#include "libtrain/job/run/run_watcher.h"

namespace titan::recipe {
struct Config;
}

namespace titan::cli {

/// Shows the events of a run (RunWatcher) and its end.
class Console : public train::RunWatcher {
 public:
  /// Shows the end of the run: for a terminal a summary. `words`: the command line as typed.
  virtual void end(int exit_code, const std::vector<std::string>& words) = 0;
};

/// A console whose step lines are those of torchtitan, byte for byte.
std::unique_ptr<Console> make_line_console(const recipe::Config& config, ColorChoice color);
/// A console whose lines fit the width of the terminal on stdout. If stderr is a terminal too, the console shows the
/// log there and, unless colour is off, a progress bar that is erased at the end.
std::unique_ptr<Console> make_terminal_console(const recipe::Config& config, ColorChoice color);

/// make_terminal_console() if stdout is a terminal, else make_line_console().
std::unique_ptr<Console> make_console(const recipe::Config& config, ColorChoice color);

/// Erases the progress bar that a killed rank may have left at the cursor.
void clear_bar(ColorChoice color);
/// For ranks other than 0: if stderr is a terminal, log messages are wrapped, begin with the rank's number, and erase
/// rank 0's progress bar.
void show_log_of_rank(int rank, ColorChoice color);

}  // namespace titan::cli
