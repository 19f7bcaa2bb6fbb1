#pragma once
// A published step becomes a step of another folder: the same bytes and the same id, each byte checked against its
// digest in the memory from which it is written. \source docs/operations.md, "Saves in two tiers"
#include <string>

#include "ckpt/base/cancel.h"
#include "ckpt/model/read_back.h"
#include "ckpt/save/sync_and_publish.h"

namespace titan::ckpt {

struct StepCopyOptions {
  ReadBack read_back = ReadBack::kSampled;  ///< of the copy, before it is published
  CommitOptions commit;                     ///< as a save's
  CancelToken cancel;
  unsigned threads = 2;  ///< that read, hash and write
};

/// Copies the step at `from` into `checkpoint_dir` and publishes it there as a save does. What a member of `from` lacks
/// of its digests is found on the way, and nothing is published then.
/// \error kCorrupt, kMediaError (`from` is damaged, or cannot be read), kNotFound (`from`), kIncompatible (newer
/// format), kFailed (also ENOSPC), kTerminated, kInterrupted (by `cancel`), those of publish()
Result<Published> copy_step(Fs& fs, const std::string& from, const std::string& checkpoint_dir,
                            const StepCopyOptions& options);

}  // namespace titan::ckpt
