#pragma once
// Clean Ctrl-C: the first SIGINT or SIGTERM asks the running operation to stop, a second one ends the process at once.
#include "ckpt/base/cancel.h"

namespace titan::cli {

/// Installs the handlers (once) and returns the token to hand to a long operation. A verb that never calls this dies of
/// the first signal, as programs do by default.
ckpt::CancelToken stop_on_signals();

}  // namespace titan::cli
