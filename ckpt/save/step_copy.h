#pragma once
// Copies a published step into another folder of steps, with the same bytes and the same id. The bytes are verified
// while they are copied. \source docs/operations.md, "Saves in two tiers"
#include <string>

#include "ckpt/base/cancel.h"
#include "ckpt/model/read_back.h"
#include "ckpt/save/publish.h"

namespace titan::ckpt {

struct StepCopyOptions {
  ReadBack read_back = ReadBack::kSampled;  ///< how much of the copy is read back before it is published
  CommitOptions commit;                     ///< for publish()
  CancelToken cancel;
  unsigned threads = 2;  ///< threads that read, hash and write
};

/// Copies the step at `from` into `checkpoint_dir` and publishes it as a save does. A member of `from` that does not
/// match its digests fails the copy, and nothing is published.
/// \error kCorrupt, kMediaError (`from` is damaged, or cannot be read), kNotFound (`from`), kIncompatible (newer
/// format), kFailed (also ENOSPC), kTerminated, kInterrupted (by `cancel`), the errors of publish()
Result<Published> copy_step(Fs& fs, const std::string& from, const std::string& checkpoint_dir,
                            const StepCopyOptions& options);

}  // namespace titan::ckpt
