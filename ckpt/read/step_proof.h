#pragma once
// What lies at the path of a step: whether it is the checkpoint that was published there, and whether all of it holds.
// A path is no identity, and equal ids are no equal bytes.
#include <string>

#include "ckpt/base/cancel.h"
#include "ckpt/base/fs.h"
#include "ckpt/base/hash.h"

namespace titan::ckpt {

/// Reads every byte of the checkpoint at `path` past the page cache, with `threads` as verify_checkpoint does. Returns
/// its id. \error kCorrupt (the first damage), kNotFound, kMediaError, kIncompatible (newer format), kFailed,
/// kTerminated (by `cancel`)
Result<Digest> prove_step(Fs& fs, const std::string& path, const CancelToken& cancel = {}, unsigned threads = 0);

/// ok where the checkpoint at `path`, whose id is `found`, is the one that was known there. \error kIncompatible: what
/// was expected and what was found
Status check_id(const std::string& path, const Digest& found, const Digest& expected);

/// The same for what lies at `path` now, by its manifest alone. \error those of read_manifest
Status check_id_at(Fs& fs, const std::string& path, const Digest& expected);

}  // namespace titan::ckpt
