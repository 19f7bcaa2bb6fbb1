#pragma once
// The frame of every tool that makes a checkpoint DST from another, SRC: checks both names, takes locks, makes a temporary
// beside DST, publishes it whole or leaves nothing. SRC is never touched.
#include <memory>
#include <string>

#include "ckpt/base/fs.h"
#include "ckpt/format/manifest.h"
#include "ckpt/io/run_lock.h"

namespace titan::ckpt {

class Rewrite {
 public:
  /// Checks that DST can be made (not there, or a checkpoint with `force`; not SRC, not inside SRC), takes the lock of the run
  /// folder that DST lies in, if it lies in one, clears temporaries of dead tools for the same DST, and makes a new one, locked.
  /// \error kInvalid (DST exists, is SRC, is inside SRC), kLocked (live run, or another tool on the same DST), kFailed
  static Result<std::unique_ptr<Rewrite>> begin(Fs& fs, const std::string& src, const std::string& dst, bool force);
  /// Removes the temporary unless publish() succeeded.
  ~Rewrite();
  Rewrite(const Rewrite&) = delete;
  Rewrite& operator=(const Rewrite&) = delete;

  const std::string& folder() const;  ///< the temporary, to be filled
  /// True when a resume would not find DST: it is not named step-%08d with the checkpoint's step.
  bool hidden_from_resume(std::uint64_t step) const;
  /// Syncs the component folders, writes `manifest` (write_manifest), renames the temporary to DST without replacing (with
  /// `force`: exchanges, or moves the old one aside first) and syncs the parent. Then removes what was replaced.
  Status publish(const Manifest& manifest);

 private:
  struct Impl;
  explicit Rewrite(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace titan::ckpt
