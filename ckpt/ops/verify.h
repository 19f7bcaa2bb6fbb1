#pragma once
// `verify`: every digest of every leaf, of one checkpoint or of all steps of a run.
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "ckpt/base/fs.h"
#include "ckpt/read/verifier.h"

namespace titan::ckpt {

struct VerifiedStep {
  std::string path;
  Status readable;  ///< not ok: a newer format (kIncompatible), a link that leads nowhere, or a right that is missing
                    ///< (kFailed)
  VerifyReport report;
};

struct VerifySummary {
  bool is_run = false;  ///< the target was a run: `steps` are its steps, newest first; else there is one
  /// Steps of a run that retention or `prune` deleted before they were checked. They are not among `steps`.
  std::vector<std::string> deleted;
  std::vector<VerifiedStep> steps;
  std::uint64_t leaves = 0, bytes = 0;              ///< sums
  std::uint64_t damage = 0, unreadable_places = 0;  ///< also those that are not named
  void add(VerifiedStep step);
  bool ok() const;  ///< everything could be checked and is whole
  /// When nothing is damaged: kIncompatible when a step could not be checked, kMediaError when a place of one could not
  /// be read.
  Status unreadable() const;
};

struct VerifyOptions {
  std::string target;                                  ///< checkpoint folder, RUN@step, RUN@latest, or a run folder
  std::function<void(const std::string& path)> begin;  ///< called when a step is to be checked
  VerifyProgress progress;                             ///< of that step
  CancelToken cancel;
  unsigned threads = 0;  ///< 0: as many as suit disk and cores
};

/// Damage and places that the store cannot read are part of the report, not errors. \error kNotFound when the target
/// holds no checkpoint, or no longer; kFailed when a file cannot be read; kInterrupted, kTerminated.
Result<VerifySummary> verify_target(Fs& fs, const VerifyOptions& options);

}  // namespace titan::ckpt
