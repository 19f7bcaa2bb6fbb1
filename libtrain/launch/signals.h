#pragma once
// The wish to stop: what SIGTERM, SIGHUP, SIGUSR1 and SIGINT mean for a training rank, and what the one that speaks for
// the run says to them.
#include <cstdint>
#include <string>
#include <vector>

namespace titan::train {

/// The signals that ask for a stop. SIGHUP is not among them where it is ignored, as under nohup: it stays ignored.
std::vector<int> stop_signals();
/// Installs handlers that take a note: the first of stop_signals() asks for a save and an early end at the
/// step boundary, a second SIGINT ends the process at once with 130, and a line, but for ranks of our launcher for
/// which rank 0 speaks. Other repetitions change nothing. SIGPIPE is ignored.
void install_stop_handlers();
/// Keeps stop signals back while this process executes itself anew: a note that is taken before is lost with it.
void hold_stop_signals();
void release_stop_signals();
/// True once a stop was asked for. Async-signal-safe and thread-safe, as is stop_signal().
bool stop_requested();
/// The first signal that asked for a stop; 0 when none did.
int stop_signal();
/// How people call it: "Ctrl-C", "SIGTERM".
std::string stop_name(int signal);

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
