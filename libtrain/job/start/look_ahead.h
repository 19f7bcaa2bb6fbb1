#pragma once
// Finds what would stop a run apart from its settings, in the order in which the run would meet it. For `titan-train
// plan`: writes, locks and creates nothing.
#include <string>
#include <vector>

#include "ckpt/base/result.h"
#include "libtrain/job/start/preview.h"
#include "libtrain/job/start/token_scan.h"

namespace titan::ckpt {
class Fs;
}

namespace titan::train {

using ckpt::Status;

struct Outlook {
  /// kFailed (missing permissions, too little space), kLocked, kInvalid (ids outside the vocabulary), kIncompatible
  /// (Dataset::continue_from()).
  Status refused;
  std::vector<std::string> warnings;
  TokenScan scan;
};

/// \pre the settings of `preview` are not refused, and its run is not complete
Outlook look_ahead(ckpt::Fs& fs, const StartPreview& preview);

}  // namespace titan::train
