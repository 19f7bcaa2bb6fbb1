#include "ckpt/base/exit_code.h"

namespace titan::ckpt {

bool is_exit_code(int code) {
  switch (static_cast<ExitCode>(code)) {
    case kExitDone:
    case kExitDifferent:
    case kExitUsage:
    case kExitFailed:
    case kExitNotFound:
    case kExitLocked:
    case kExitCorrupt:
    case kExitIncompatible:
    case kExitSaved:
    case kExitInterrupted:
    case kExitTerminated: return true;
  }
  return false;
}

ExitCode exit_code(Code code) {
  switch (code) {
    case Code::kOk: return kExitDone;
    case Code::kInvalid:
    case Code::kUnsupported: return kExitUsage;
    case Code::kFailed:
    case Code::kMediaError: return kExitFailed;
    case Code::kNotFound: return kExitNotFound;
    case Code::kLocked: return kExitLocked;
    case Code::kCorrupt: return kExitCorrupt;
    case Code::kIncompatible: return kExitIncompatible;
    case Code::kInterrupted: return kExitInterrupted;
    case Code::kTerminated: return kExitTerminated;
  }
  return kExitFailed;
}

}  // namespace titan::ckpt
