#pragma once
// What would stop a run besides its settings, looked up in the order in which a run meets it. For `plan`: nothing is
// written, locked or made.
#include <string>
#include <vector>

#include "ckpt/base/fs.h"
#include "ckpt/base/result.h"
#include "libtrain/job/start/preview.h"
#include "libtrain/job/start/token_scan.h"

namespace titan::train {

using ckpt::Status;

struct Outlook {
  Status refused;  ///< kFailed (rights, space), kLocked, kInvalid (ids)
  std::vector<std::string> warnings;
  TokenScan scan;
};

/// \pre the settings of `preview` are not refused, and it is not complete
Outlook look_ahead(ckpt::Fs& fs, const StartPreview& preview);

}  // namespace titan::train
