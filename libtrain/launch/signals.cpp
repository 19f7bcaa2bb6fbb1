#include "libtrain/launch/signals.h"

#include <atomic>
#include <csignal>
#include <unistd.h>

namespace titan::train {
namespace {

std::atomic<int> first_signal{0};
std::atomic<int> interrupts{0};
static_assert(std::atomic<int>::is_always_lock_free, "used inside a signal handler");

extern "C" void note_stop(int signal) {
  if (signal == SIGINT && interrupts.fetch_add(1) > 0) _exit(130);
  int none = 0;
  first_signal.compare_exchange_strong(none, signal);
}

}  // namespace

void install_stop_handlers() {
  struct sigaction action {};
  action.sa_handler = note_stop;
  // Without SA_RESTART a signal in the middle of a save would surface as EINTR.
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  for (int signal : {SIGTERM, SIGUSR1, SIGINT}) sigaction(signal, &action, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
}

bool stop_requested() { return first_signal.load() != 0; }

int stop_signal() { return first_signal.load(); }

}  // namespace titan::train
