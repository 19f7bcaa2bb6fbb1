#pragma once
// The two streams of a program: stdout carries the answer, stderr everything else. The only place that writes to them.
#include <string_view>

#include "ckpt/base/status.h"

namespace titan::cli {

/// Ignores SIGPIPE, which would kill the program in `| head`, and SIGXFSZ, which kills it at the limit of `ulimit -f`.
/// A write then reports the error instead.
void ignore_write_signals();

enum class Delivery { kDone, kReaderGone };

/// Writes all of `text` to descriptor `fd`. \error through `status`: kFailed when the stream cannot take it.
Delivery deliver(int fd, std::string_view text, ckpt::Status* status);

/// Writes `text` to stderr; nothing can be done about a failure there.
void to_stderr(std::string_view text);

}  // namespace titan::cli
