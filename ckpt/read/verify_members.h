#pragma once
// The check of a checkpoint whose manifest is known from elsewhere.
#include "ckpt/format/manifest.h"
#include "ckpt/read/verifier.h"

namespace titan::ckpt {

/// As verify_checkpoint, of the members of `manifest`, where that of the folder is lost. `manifest` outlives the call.
Result<VerifyReport> verify_members(Fs& fs, const std::string& path, const Manifest& manifest,
                                    const VerifyProgress& progress = {}, const CancelToken& cancel = {},
                                    unsigned threads = 0);

}  // namespace titan::ckpt
