#pragma once
// Stop signals: the effect of SIGTERM, SIGHUP, SIGUSR1 and SIGINT on a training rank, and the messages about them.
#include <cstdint>
#include <string>
#include <vector>

#include "ckpt/base/cancel.h"

namespace titan::train {

/// The signals that ask for a stop. If SIGHUP is ignored, as under nohup, it is not among them and stays ignored.
std::vector<int> stop_signals();
/// Installs handlers that record a stop. The first signal of stop_signals() asks for a save and an early end at the
/// step boundary. A second SIGINT ends the process at once with exit code 130 and a message (in ranks of Titan's
/// launcher only rank 0 prints it). Other repeated signals have no effect. SIGPIPE is ignored.
void install_stop_handlers();
/// Blocks stop signals while this process executes itself again, since a stop recorded before the exec would be lost.
void hold_stop_signals();
void release_stop_signals();
/// From now on a separate thread runs the handlers of stop signals; the calling thread and its later threads never do.
/// Call it before the first tensor operation: some of oneDNN's matrix products keep a heap address in the stack pointer
/// (https://github.com/uxlfoundation/oneDNN/issues/4845), so that a handler would overwrite the heap. Later calls have
/// no effect.
void handle_stops_in_own_thread();
/// True once a stop was asked for. Async-signal-safe and thread-safe, as is stop_signal().
bool stop_requested();
/// The first signal that asked for a stop; 0 if none did.
int stop_signal();
/// A token for long work to poll: after a stop signal, check() is kInterrupted for SIGINT, else kTerminated.
ckpt::CancelToken stop_token();
/// Whether `status` is the error of work that was cancelled by its token.
bool is_stop(const ckpt::Status& status);
/// The signal's name for messages: "Ctrl-C", "SIGTERM".
std::string stop_name(int signal);

/// The origin of the stop, for messages: "SIGTERM", "Ctrl-C", or that another rank got a signal. May wait 0.2 s for a
/// signal of this rank.
std::string who_asks();
/// The exit code of a stop without a save: 130 after Ctrl-C, else 143.
int code_without_save();

struct StopSpeaker {
  std::string log_path;     ///< file that gets the messages in addition to stderr; empty: none
  bool saves = true;        ///< checkpoint.enable
  std::string resume_hint;  ///< how to resume the job after a second Ctrl-C; empty: the launcher prints it
};
/// From now on this process answers a stop signal at once with a log line: what happens, and what a second Ctrl-C would
/// lose, or has lost. Call it in one process of a run.
void speak_of_stops(const StopSpeaker& speaker);

enum class StopPhase { kStarting, kTraining, kEnding, kConnecting };  ///< kConnecting: ranks connect; before kStarting
/// Sets the facts for the lines of speak_of_stops(): the part of the run that this process is in, the last finished
/// step, and the newest saved one (0: none). `phase` decides which line is printed. For example, before training the
/// line says that nothing is lost.
void note_progress(StopPhase phase, std::uint64_t step, std::uint64_t saved);

}  // namespace titan::train
