#pragma once
// Writes to stdout (the answer of a verb) and stderr (everything else). No other code of `cli` does, except the handler
// of stop signals (stop.cpp).
#include <string_view>

#include "ckpt/base/status.h"

namespace titan::cli {

/// Ignores SIGPIPE, which would kill the program in `| head`, and SIGXFSZ, which would kill it at the file size limit
/// (`ulimit -f`). The write then fails with an error instead.
void ignore_write_signals();

/// kReaderGone: the reader of a pipe has closed it.
enum class Delivery { kDone, kReaderGone };

/// Writes all of `text` to the file descriptor `fd`. If a write fails for another reason than kReaderGone, sets
/// `status` to kFailed and returns kDone.
Delivery deliver(int fd, std::string_view text, ckpt::Status* status);

/// Writes `text` to stderr. Errors are ignored.
void to_stderr(std::string_view text);

}  // namespace titan::cli
