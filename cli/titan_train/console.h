#pragma once
// How a run is displayed: torchtitan's lines if standard output is not a terminal; otherwise human-readable lines with
// a progress bar below.
#include <memory>
#include <string>
#include <vector>

#include "cli/kit/terminal.h"
#include "libtrain/job/run/run_watcher.h"

namespace titan::recipe {
struct Config;
}

namespace titan::cli {

class Console : public train::RunWatcher {
 public:
  /// Shows the end of the run on this rank. `words`: the command line as typed.
  virtual void end(int exit_code, const std::vector<std::string>& words) = 0;
};

/// Step lines as torchtitan's, byte for byte.
std::unique_ptr<Console> make_line_console(const recipe::Config& config, ColorChoice color);
/// Lines that fit the terminal on stdout. If stderr is a terminal too, it shows the log and, unless colour is off, a
/// progress bar that is removed at the end.
std::unique_ptr<Console> make_terminal_console(const recipe::Config& config, ColorChoice color);

/// The console that suits standard output.
std::unique_ptr<Console> make_console(const recipe::Config& config, ColorChoice color);

/// Erases a bar that an ended process may have left at the cursor.
void clear_bar(ColorChoice color);
/// For ranks other than 0 on a terminal: wraps warnings, and erases rank 0's bar before them.
void show_log_of_rank(int rank, ColorChoice color);

}  // namespace titan::cli
