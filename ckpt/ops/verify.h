#pragma once
// `verify`: checks all digests of one checkpoint, or of all steps of a run.
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "ckpt/read/verifier.h"

namespace titan::ckpt {

class Fs;

/// One verified step, or why it could not be verified.
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
  std::uint64_t leaves = 0, bytes = 0;              ///< sums over `steps`
  std::uint64_t damage = 0, unreadable_places = 0;  ///< numbers of units, including those not listed
  void add(VerifiedStep step);
  bool ok() const;  ///< everything could be checked and matches its digests
  /// Ok if anything is damaged. Otherwise the error of a step that could not be checked (VerifiedStep::readable), or
  /// kMediaError if a unit could not be read, or ok.
  Status unreadable() const;
};

struct VerifyOptions {
  std::string target;                                  ///< checkpoint folder, RUN@step, RUN@latest, or a run folder
  std::function<void(const std::string& path)> begin;  ///< called before a step is checked
  VerifyProgress progress;                             ///< progress within that step
  CancelToken cancel;
  unsigned threads = 0;  ///< 0: as io_threads()
};

/// Verifies the target. Damaged and unreadable units are part of the report, not errors. \error kNotFound (the target
/// holds no checkpoint, or was deleted meanwhile), kFailed (a file cannot be read for another reason than a media
/// error), kInterrupted, kTerminated
Result<VerifySummary> verify_target(Fs& fs, const VerifyOptions& options);

}  // namespace titan::ckpt
