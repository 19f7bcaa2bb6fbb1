#pragma once
// The two streams of a program: stdout carries the answer, stderr everything else. The only place that writes to them.
#include <string_view>

#include "ckpt/base/status.h"

namespace titan::cli {

/// SIGPIPE would kill the program in the middle of `| head`, SIGXFSZ where `ulimit -f` ends a file; with both ignored a
/// write reports it instead.
void ignore_write_signals();

enum class Delivery { kDone, kReaderGone };

/// Writes all of `text` to descriptor `fd`. \error through `status`: kFailed when the stream cannot take it.
Delivery deliver(int fd, std::string_view text, ckpt::Status* status);

/// Writes `text` to stderr; nothing can be done about a failure there.
void to_stderr(std::string_view text);

}  // namespace titan::cli
