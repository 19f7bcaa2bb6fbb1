#pragma once
// Checks that the folder at a step's path still has the id of the checkpoint that was published there, and that all its
// bytes match their digests. The path does not prove the id, and the id in the manifest does not prove the bytes.
#include <string>

#include "ckpt/base/cancel.h"
#include "ckpt/base/hash.h"

namespace titan::ckpt {

class Fs;

/// Reads every byte of the checkpoint at `path` past the page cache, with `threads` as in verify_checkpoint, and
/// returns the id. \error kCorrupt (the first damage), kNotFound, kMediaError, kIncompatible (newer format), kFailed,
/// kInterrupted, kTerminated (by `cancel`)
Result<Digest> prove_step(Fs& fs, const std::string& path, const CancelToken& cancel = {}, unsigned threads = 0);

/// Checks that `found`, the id of the checkpoint at `path`, equals `expected`. \error kIncompatible, naming both ids
Status check_id(const std::string& path, const Digest& found, const Digest& expected);

/// As check_id(), with the id that the manifest at `path` has at present. \error as read_manifest
Status check_id_at(Fs& fs, const std::string& path, const Digest& expected);

}  // namespace titan::ckpt
