#pragma once
// The only code that writes to stdout (the answer) and stderr (everything else).
#include <string_view>

#include "ckpt/base/status.h"

namespace titan::cli {

/// Ignores SIGPIPE, which would kill the program in `| head`, and SIGXFSZ, which kills it at the limit of `ulimit -f`.
/// A write then reports the error instead.
void ignore_write_signals();

enum class Delivery { kDone, kReaderGone };

/// Writes all of `text` to descriptor `fd`. On failure sets `status` to kFailed.
Delivery deliver(int fd, std::string_view text, ckpt::Status* status);

/// Writes `text` to stderr. Errors are ignored.
void to_stderr(std::string_view text);

}  // namespace titan::cli
