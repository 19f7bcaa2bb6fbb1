#pragma once
// The wish to stop: what SIGTERM, SIGUSR1 and SIGINT mean for a training rank.

namespace titan::train {

/// Installs handlers that only take a note: the first SIGTERM, SIGUSR1 or SIGINT asks for a save and an early end at the
/// step boundary, a second SIGINT ends the process at once with 130. Other repetitions change nothing. SIGPIPE is ignored.
void install_stop_handlers();
/// True once a stop was asked for. Async-signal-safe and thread-safe, as is stop_signal().
bool stop_requested();
/// The first signal that asked for a stop; 0 when none did.
int stop_signal();

}  // namespace titan::train
