#pragma once
// Stop signals: what SIGTERM, SIGHUP, SIGUSR1 and SIGINT mean for a training rank, and what the rank that speaks for
// the run prints.
#include <cstdint>
#include <string>
#include <vector>

#include "ckpt/base/cancel.h"

namespace titan::train {

/// The signals that ask for a stop. SIGHUP is not among them where it is ignored, as under nohup: it stays ignored.
std::vector<int> stop_signals();
/// Installs handlers that note a stop. The first of stop_signals() asks for a save and an early end at the step
/// boundary. A second SIGINT ends the process at once with 130 and prints a line, except in ranks of our launcher, for
/// which rank 0 speaks. Other repetitions change nothing. SIGPIPE is ignored.
void install_stop_handlers();
/// Blocks stop signals while this process executes itself again: a stop that was noted before would be lost.
void hold_stop_signals();
void release_stop_signals();
/// From now on a thread of its own runs the handlers of stop signals; the calling one, and those that it starts from
/// here on, never do. Call it before the first tensor operation: some of oneDNN's products keep a heap address in the
/// stack pointer (https://github.com/uxlfoundation/oneDNN/issues/4845), and a handler would write over the heap. A
/// later call changes nothing.
void handle_stops_in_own_thread();
/// True once a stop was asked for. Async-signal-safe and thread-safe, as is stop_signal().
bool stop_requested();
/// The first signal that asked for a stop; 0 when none did.
int stop_signal();
/// The same for long work, which polls it: its check() is kInterrupted after SIGINT, else kTerminated.
ckpt::CancelToken stop_token();
/// Whether work ended since its token asked for that.
bool is_stop(const ckpt::Status& status);
/// How people call it: "Ctrl-C", "SIGTERM".
std::string stop_name(int signal);

/// Who asked for the stop: "SIGTERM", "Ctrl-C", or that another rank has heard it. May wait 0.2 s for a signal that is
/// on its way.
std::string who_asks();
/// The exit code of a stop that saves nothing: 130 behind Ctrl-C, else 143.
int code_without_save();

struct StopSpeaker {
  std::string log_path;  ///< gets the lines as well as stderr; empty: none
  bool saves = true;     ///< checkpoint.enable
  std::string go_on;     ///< how the job goes on after a second Ctrl-C; empty: the launcher says it
};
/// From now on this process answers a stop signal at once with a line of the log: what happens, what a second Ctrl-C
/// would lose, or has lost. Call it in one process of a run.
void speak_of_stops(const StopSpeaker& speaker);

enum class StopPhase { kStarting, kTraining, kEnding, kMeeting };  ///< kMeeting, before kStarting: the ranks meet
/// Keeps the facts of these lines: the last step that was finished, and the newest that is saved (0: none).
void note_progress(StopPhase phase, std::uint64_t step, std::uint64_t saved);

}  // namespace titan::train
