#pragma once
// `verify`: checks all digests of one checkpoint, or of all steps of a run.
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "ckpt/read/verifier.h"

namespace titan::ckpt {

class Fs;

struct VerifiedStep {
  std::string path;
  Status readable;  ///< not ok: newer format (kIncompatible), dead link or missing right (kFailed)
  VerifyReport report;
};

struct VerifySummary {
  bool is_run = false;  ///< true: `steps` are those of a run, newest first; false: `steps` has one checkpoint
  /// Steps of a run that retention or `prune` deleted before they were checked. Not in `steps`.
  std::vector<std::string> deleted;
  std::vector<VerifiedStep> steps;
  std::uint64_t leaves = 0, bytes = 0;              ///< sums
  std::uint64_t damage = 0, unreadable_places = 0;  ///< including units that are not listed
  void add(VerifiedStep step);
  bool ok() const;  ///< everything could be checked and is whole
  /// If nothing is damaged: the error of a step that could not be checked (VerifiedStep::readable), else kMediaError if
  /// a unit could not be read, else ok. Ok if anything is damaged.
  Status unreadable() const;
};

struct VerifyOptions {
  std::string target;                                  ///< checkpoint folder, RUN@step, RUN@latest, or a run folder
  std::function<void(const std::string& path)> begin;  ///< called before a step is checked
  VerifyProgress progress;                             ///< of that step
  CancelToken cancel;
  unsigned threads = 0;  ///< 0: as many as suit disk and cores
};

/// Verifies the target. Damaged and unreadable units are part of the report, not errors. \error kNotFound when the
/// target
/// holds no checkpoint, or no longer; kFailed when a file cannot be read; kInterrupted, kTerminated
Result<VerifySummary> verify_target(Fs& fs, const VerifyOptions& options);

}  // namespace titan::ckpt
