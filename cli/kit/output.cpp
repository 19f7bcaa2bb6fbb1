#include "cli/kit/output.h"

#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <string>

namespace titan::cli {

void ignore_write_signals() {
  for (const int signal : {SIGPIPE, SIGXFSZ}) std::signal(signal, SIG_IGN);
}

Delivery deliver(int fd, std::string_view text, ckpt::Status* status) {
  *status = ckpt::ok_status();
  while (!text.empty()) {
    const ssize_t written = ::write(fd, text.data(), text.size());
    if (written >= 0) {
      text.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno == EPIPE) {
      return Delivery::kReaderGone;
    } else if (errno != EINTR) {
      *status = ckpt::failed("standard output: write: " + std::string(std::strerror(errno)));
      return Delivery::kDone;
    }
  }
  return Delivery::kDone;
}

void to_stderr(std::string_view text) {
  ckpt::Status ignored;
  (void)deliver(STDERR_FILENO, text, &ignored);
}

}  // namespace titan::cli
