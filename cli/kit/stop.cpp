#include "cli/kit/stop.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <cstring>

#include "ckpt/base/exit_code.h"
#include "cli/kit/errors.h"

namespace titan::cli {

namespace {

ckpt::CancelSource source;

/// A line that a signal handler can write: prepared in advance, in static memory.
struct Line {
  std::array<char, 4096> text{};
  std::size_t size = 0;

  void set(const std::string& line) {
    size = std::min(line.size(), text.size());
    std::memcpy(text.data(), line.data(), size);
    if (size == text.size()) text.back() = '\n';
  }
};

struct Stop {
  int signal = 0;
  bool asks = false;   ///< after stop_on_signals(), the first such signal only sets the token
  Line first, second;  ///< printed when the first signal ends the process; when a second one does
};

// Written only before the handlers are installed.
std::array<Stop, 4> stops;
// Read by handlers, which may run on another thread.
std::array<char, 4096> file_to_remove{};
std::atomic<bool> removes_file{false};

ckpt::Status status_of(int signal) {
  if (signal == SIGINT) return ckpt::interrupted("interrupted");
  const char* name = sigabbrev_np(signal);
  return ckpt::terminated("stopped by " + (name == nullptr ? "a signal" : "SIG" + std::string(name)));
}

void end_at_once(int signal) {
  if (removes_file) (void)::unlink(file_to_remove.data());
  for (const Stop& stop : stops) {
    if (stop.signal != signal) continue;
    const Line& line = source.reason() == ckpt::StopReason::kNone ? stop.first : stop.second;
    (void)!::write(STDERR_FILENO, line.text.data(), line.size);
  }
  _exit(signal == SIGINT ? ckpt::kExitInterrupted : ckpt::kExitTerminated);
}

void install(int signal, void (*handler)(int)) {
  struct sigaction present {};
  // nohup and shells that start jobs in the background ignore signals on purpose.
  if (sigaction(signal, nullptr, &present) == 0 && present.sa_handler == SIG_IGN) return;
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  sigaction(signal, &action, nullptr);
}

void ask(int signal) {
  (void)source.request(signal == SIGINT    ? ckpt::StopReason::kInterrupt
                       : signal == SIGTERM ? ckpt::StopReason::kTerminate
                                           : ckpt::StopReason::kHangUp);
  // The next stop signal, of any kind, ends the process at once.
  for (const Stop& stop : stops)
    if (stop.asks) install(stop.signal, end_at_once);
}

void prepare(const StopLines& lines) {
  std::vector<int> signals = {SIGINT, SIGTERM, SIGHUP};
  signals.insert(signals.end(), lines.more.begin(), lines.more.end());
  const Palette palette{!lines.json && color_of_process(STDERR_FILENO, lines.color)};
  const auto text = [&](const ckpt::Status& status) {
    return lines.json ? error_json(status) : error_text(status, palette);
  };
  for (std::size_t i = 0; i < std::min(signals.size(), stops.size()); ++i) {
    const ckpt::Status status = status_of(signals[i]);
    stops[i].signal = signals[i];
    stops[i].asks = i < 3;
    stops[i].first.set(text(ckpt::Status(status).with_hint(lines.hint)));
    stops[i].second.set(text(ckpt::Status(status).with_hint(
        "stopped at once: half-made files may be left, which the next writer to the same place removes")));
  }
}

}  // namespace

void stop_at_once(const StopLines& lines) {
  prepare(lines);
  for (const Stop& stop : stops)
    if (stop.signal != 0) install(stop.signal, end_at_once);
}

ckpt::CancelToken stop_on_signals() {
  static const bool once = [] {
    if (stops[0].signal == 0) prepare({});
    for (const Stop& stop : stops)
      if (stop.asks) install(stop.signal, ask);
    return true;
  }();
  (void)once;
  return ckpt::CancelToken(source);
}

void remove_at_stop(const std::string& path) {
  removes_file = false;
  if (path.empty() || path.size() >= file_to_remove.size()) return;
  std::memcpy(file_to_remove.data(), path.c_str(), path.size() + 1);
  removes_file = true;
}

}  // namespace titan::cli
