#pragma once
// `scrub`: verifies the steps of a run one after another at a bounded rate, and goes on where it was stopped.
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ckpt/ops/verify.h"

namespace titan::ckpt {

/// A step that was verified, by this call or one before.
struct ScrubbedStep {
  std::uint64_t step = 0;
  Digest id;
  std::uint64_t damage = 0, unreadable = 0;  ///< places
  std::uint64_t at = 0;                      ///< seconds since 1970
  bool operator==(const ScrubbedStep&) const = default;
};

/// How a scrub stands: what its status file says.
struct ScrubStatus {
  std::string run;                 ///< the label of every line: where the run lies
  std::uint64_t steps = 0;         ///< of the run
  std::vector<ScrubbedStep> done;  ///< ascending
  std::uint64_t bytes = 0;         ///< read by this call
  std::uint64_t at = 0;            ///< seconds since 1970
  bool complete = false;           ///< nothing is left of this round
  bool operator==(const ScrubStatus&) const = default;
};
/// In Prometheus' text format, and back: nothing where a line is of no status, or of another run than those before it.
std::string scrub_text(const ScrubStatus& status);
std::optional<ScrubStatus> parse_scrub(std::string_view text);

struct ScrubOptions {
  std::string run;
  std::string status;                         ///< file; made when missing, and replaced whole
  std::uint64_t rate = 0;                     ///< bytes a second at most; 0: no bound
  unsigned threads = 1;                       ///< that read and hash
  std::function<std::uint64_t()> now;         ///< seconds since 1970
  std::function<void(double seconds)> sleep;  ///< for less than a second; empty: of this thread
  std::function<void(const std::string& path)> begin;
  VerifyProgress progress;
  CancelToken cancel;
};

struct ScrubReport {
  ScrubStatus status;
  VerifySummary verified;    ///< by this call
  std::uint64_t before = 0;  ///< steps of this round that an earlier call verified
  Status unwritten;          ///< not ok: the status could not be written once it had been, the last time
};

/// Verifies the steps that the status file does not name, oldest first, or all where that round is complete. The file
/// is written after each step, and every few seconds. A status that lies in the folder of the run is the run's own,
/// whatever it was called before. \error kNotFound (no steps), kInvalid (the file is no status, or another run's),
/// kInterrupted, kTerminated (the next call goes on), kFailed (the file cannot be written before the first step: later
/// it stops nothing)
Result<ScrubReport> scrub_run(Fs& fs, const ScrubOptions& options);

}  // namespace titan::ckpt
