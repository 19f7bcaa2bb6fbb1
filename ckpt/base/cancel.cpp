#include "ckpt/base/cancel.h"

namespace titan::ckpt {

Status CancelToken::check() const {
  if (!stopped()) return ok_status();
  if (source_->reason() == StopReason::kInterrupt) return interrupted("interrupted");
  return terminated(source_->reason() == StopReason::kHangUp ? "stopped by SIGHUP" : "stopped by SIGTERM");
}

}  // namespace titan::ckpt
