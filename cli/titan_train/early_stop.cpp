#include "cli/titan_train/program.h"

#include <csignal>
#include <cstdlib>

#include "cli/kit/stop.h"
#include "cli/titan_train/engine.h"
#include "libtrain/job/launch/rank_process.h"
#include "libtrain/job/launch/signals.h"
#include "libtrain/job/start/resume_command.h"

namespace titan::cli {
namespace {

// Sanitizer builds cannot run code this early: the sanitizer is initialised later.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
void before_constructors(int, char**, char**) { train::install_stop_handlers(); }
__attribute__((section(".preinit_array"), used)) void (*const kBeforeConstructors)(int, char**,
                                                                                   char**) = before_constructors;
#endif

}  // namespace

void note_early_stops() {
  train::install_stop_handlers();
  const bool held = std::getenv(kStopsHeld) != nullptr;
  unsetenv(kStopsHeld);
  if (held || train::threads_of_restart() > 0) train::release_stop_signals();
}

void answer_early_stops(const Command& command) {
  if (command.verb == "run" && std::getenv("RANK") != nullptr) return;
  const std::string again = "nothing is lost: no rank had started; the same command continues: ";
  stop_at_once({.json = command.has("json"),
                .hint = command.verb == "run" ? again + train::shell_line(command.words) : "",
                .more = {SIGUSR1}});
  if (train::stop_requested()) std::raise(train::stop_signal());
  if (command.verb != "run") train::handle_stops_in_own_thread();  // `run` waits for signals in its launcher
}

}  // namespace titan::cli
