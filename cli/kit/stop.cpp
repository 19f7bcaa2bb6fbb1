#include "cli/kit/stop.h"

#include <csignal>

namespace titan::cli {

namespace {

ckpt::CancelSource source;

void on_signal(int signal) {
  (void)source.request(signal == SIGTERM ? ckpt::StopReason::kTerminate : ckpt::StopReason::kInterrupt);
  // The next one of either kind is for those who do not want to wait.
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
}

void install(int signal) {
  struct sigaction present {};
  // nohup and shells that start jobs in the background ignore signals on purpose.
  if (sigaction(signal, nullptr, &present) == 0 && present.sa_handler == SIG_IGN) return;
  struct sigaction action {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  sigaction(signal, &action, nullptr);
}

}  // namespace

ckpt::CancelToken stop_on_signals() {
  static const bool once = [] {
    install(SIGINT);
    install(SIGTERM);
    return true;
  }();
  (void)once;
  return ckpt::CancelToken(source);
}

}  // namespace titan::cli
