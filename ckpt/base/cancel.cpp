#include "ckpt/base/cancel.h"

namespace titan::ckpt {

Status CancelToken::check() const {
  if (!stopped()) return ok_status();
  return source_->reason() == StopReason::kTerminate ? terminated("stopped by SIGTERM") : interrupted("interrupted");
}

}  // namespace titan::ckpt
