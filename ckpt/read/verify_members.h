#pragma once
// Checks a checkpoint against a manifest that is not the one in its folder.
#include "ckpt/format/manifest.h"
#include "ckpt/read/verifier.h"

namespace titan::ckpt {

/// As verify_checkpoint(), but checks the members that `manifest` lists: for a folder whose own manifest is lost.
/// `manifest` must outlive the call.
Result<VerifyReport> verify_members(Fs& fs, const std::string& path, const Manifest& manifest,
                                    const VerifyProgress& progress = {}, const CancelToken& cancel = {},
                                    unsigned threads = 0);

}  // namespace titan::ckpt
