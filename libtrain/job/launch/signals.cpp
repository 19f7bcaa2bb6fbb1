#include "libtrain/job/launch/signals.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <thread>

#include "ckpt/base/exit_code.h"
#include "ckpt/base/status.h"
#include "libtrain/job/metrics/signal_line.h"

namespace titan::train {
namespace {

std::atomic<int> first_signal{0};
ckpt::CancelSource stop_source;
std::atomic<int> interrupts{0};
std::atomic<StopPhase> phase{StopPhase::kConnecting};
std::atomic<std::uint64_t> finished{0}, saved{0};
static_assert(std::atomic<int>::is_always_lock_free && std::atomic<std::uint64_t>::is_always_lock_free,
              "used inside a signal handler");

// Written before `speaks` is set, and never changed again.
std::atomic<bool> speaks{false};
bool saves_at_all = true;
int log_file = -1;
char resume_hint[2048];
// Written before the handlers are installed.
char who[32];
bool silent = false;

/// "the 37 steps since step 300"
void add_steps(SignalLine& line, std::uint64_t count, std::uint64_t since) {
  line << (since == 0 ? "all " : "the ");
  line.number(count) << (count == 1 ? " step" : " steps");
  if (since != 0)
    (line << " since step ").number(since);
  else
    line << " so far";
}

void announce(int signal, bool already) {
  const std::uint64_t step = finished.load(), kept = saved.load();
  SignalLine line;
  line.begin() << (signal == SIGINT    ? "Ctrl-C"
                   : signal == SIGTERM ? "SIGTERM"
                   : signal == SIGHUP  ? "SIGHUP"
                                       : "SIGUSR1")
               << ": ";
  if (phase == StopPhase::kEnding) {
    line << "ending already";
  } else if (phase == StopPhase::kConnecting || phase == StopPhase::kStarting) {
    line << (already ? "stopping already" : "stopping; nothing is lost");
  } else {
    line << (already ? "stopping already, " : "stopping ") << "after this step"
         << (saves_at_all ? ", then saving it" : "; nothing is saved (checkpoint.enable = false)");
    if (signal == SIGINT) {
      line << "; Ctrl-C again stops at once and loses ";
      if (step <= kept)
        line << "this step";
      else
        add_steps(line, step - kept, kept);
    }
  }
  line.write_out(log_file);
}

void last_words() {
  const std::uint64_t step = finished.load(), kept = saved.load();
  SignalLine line;
  line.begin() << "Ctrl-C: ";
  if (phase == StopPhase::kStarting || phase == StopPhase::kConnecting || step == 0) {
    line << "stopped before the end of the first step; nothing is lost";
  } else if (step <= kept) {
    line << (phase == StopPhase::kEnding ? "stopped at the end; step " : "stopped within a step; step ");
    line.number(kept) << " is saved, no other is lost";
  } else {
    line << "stopped without a save; ";
    add_steps(line, step - kept, kept);
    line << (step - kept == 1 ? " is lost" : " are lost");
  }
  line << resume_hint;
  line.write_out(log_file);
}

/// The message of a process that has nothing else to say.
void say_ended() {
  const char* parts[] = {"note: ", who, "stopped at once by a second Ctrl-C\n"};
  for (const char* part : parts) (void)!::write(STDERR_FILENO, part, std::strlen(part));
}

/// One rank of Titan's launcher prints messages for all.
void learn_who_speaks() {
  const char* rank = std::getenv("RANK");
  if (rank != nullptr) std::snprintf(who, sizeof who, "rank %.16s was ", rank);
  silent = rank != nullptr && std::getenv("TITAN_LAUNCHER_PID") != nullptr && std::strcmp(rank, "0") != 0;
}

extern "C" void note_stop(int signal) {
  const int error = errno;
  if (signal == SIGINT && interrupts.fetch_add(1) > 0) {
    if (speaks)
      last_words();
    else if (!silent)
      say_ended();
    _exit(ckpt::kExitInterrupted);
  }
  int none = 0;
  const bool first = first_signal.compare_exchange_strong(none, signal);
  stop_source.request(signal == SIGINT   ? ckpt::StopReason::kInterrupt
                      : signal == SIGHUP ? ckpt::StopReason::kHangUp
                                         : ckpt::StopReason::kTerminate);
  if (speaks && (first || signal == SIGINT)) announce(signal, !first);
  errno = error;
}

void mask_stop_signals(int how) {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : stop_signals()) sigaddset(&signals, signal);
  pthread_sigmask(how, &signals, nullptr);
}

}  // namespace

std::vector<int> stop_signals() {
  std::vector<int> signals = {SIGTERM, SIGUSR1, SIGINT};
  struct sigaction action {};
  sigaction(SIGHUP, nullptr, &action);
  if (action.sa_handler != SIG_IGN) signals.push_back(SIGHUP);
  return signals;
}

void install_stop_handlers() {
  learn_who_speaks();
  struct sigaction action {};
  action.sa_handler = note_stop;
  // Without SA_RESTART a signal in the middle of a save would surface as EINTR.
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  for (int signal : stop_signals()) sigaction(signal, &action, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
}

void hold_stop_signals() { mask_stop_signals(SIG_BLOCK); }

void release_stop_signals() { mask_stop_signals(SIG_UNBLOCK); }

void handle_stops_in_own_thread() {
  static std::once_flag once;
  std::call_once(once, [] {
    hold_stop_signals();
    std::thread([] {
      prctl(PR_SET_NAME, "stop-signals");
      release_stop_signals();
      while (true) ::pause();
    }).detach();
  });
}

bool stop_requested() { return first_signal.load() != 0; }

int stop_signal() { return first_signal.load(); }

ckpt::CancelToken stop_token() { return ckpt::CancelToken(stop_source); }

bool is_stop(const ckpt::Status& status) {
  return status.code == ckpt::Code::kInterrupted || status.code == ckpt::Code::kTerminated;
}

std::string stop_name(int signal) {
  if (signal == SIGINT) return "Ctrl-C";
  const char* name = sigabbrev_np(signal);
  return name == nullptr ? "signal " + std::to_string(signal) : "SIG" + std::string(name);
}

// A launcher signals its ranks one after the other: the signal that another rank got may still be on its way.
std::string who_asks() {
  for (int look = 0; look < 20 && stop_signal() == 0; ++look)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  return stop_signal() != 0 ? stop_name(stop_signal()) : "asked for on another rank";
}

int code_without_save() { return stop_signal() == SIGINT ? ckpt::kExitInterrupted : ckpt::kExitTerminated; }

void speak_of_stops(const StopSpeaker& speaker) {
  saves_at_all = speaker.saves;
  if (!speaker.log_path.empty()) log_file = ::open(speaker.log_path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  if (!speaker.resume_hint.empty()) {
    const std::string text = "; " + speaker.resume_hint;
    std::memcpy(resume_hint, text.data(), std::min(text.size(), sizeof resume_hint - 1));
  }
  speaks = true;
}

void note_progress(StopPhase now, std::uint64_t step, std::uint64_t newest_saved) {
  saved = newest_saved;
  finished = step;
  phase = now;
}

}  // namespace titan::train
