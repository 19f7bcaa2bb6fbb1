#pragma once
// `scrub`: verifies the steps of a run one after another at a limited rate. After a stop, the next scrub_run()
// continues with the first step that was not verified to its end. A round is one pass over all steps, in one call or
// several.
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ckpt/ops/verify.h"

namespace titan::ckpt {

/// A step that was verified by this call of scrub_run() or an earlier one.
struct ScrubbedStep {
  std::uint64_t step = 0;
  Digest id;
  std::uint64_t damage = 0, unreadable = 0;  ///< number of damaged and of unreadable units
  std::uint64_t at = 0;                      ///< seconds since 1970
  bool operator==(const ScrubbedStep&) const = default;
};

/// The progress of a scrub: the content of its status file.
struct ScrubStatus {
  std::string run;                 ///< path of the run; every line of the file has it as a label
  std::uint64_t steps = 0;         ///< number of steps of the run
  std::vector<ScrubbedStep> done;  ///< ascending
  std::uint64_t bytes = 0;         ///< bytes read by this call
  std::uint64_t at = 0;            ///< time of writing, seconds since 1970
  bool complete = false;           ///< all steps of the round are done
  bool operator==(const ScrubStatus&) const = default;
};
/// Formats a status as Prometheus text. parse_scrub() is the inverse; it returns nullopt if a line is not part of a
/// status or names another run than the lines before it.
std::string scrub_text(const ScrubStatus& status);
std::optional<ScrubStatus> parse_scrub(std::string_view text);

struct ScrubOptions {
  std::string run;
  std::string status;                  ///< the status file; created if it is missing, and always replaced as a whole
  std::uint64_t rate = 0;              ///< limit of bytes read per second; 0: no limit
  unsigned threads = 1;                ///< threads that read and hash
  std::function<std::uint64_t()> now;  ///< the time in seconds since 1970
  std::function<void(double seconds)> sleep;  ///< for tests: called instead of a sleep of less than a second
  std::function<void(const std::string& path)> begin;
  VerifyProgress progress;
  CancelToken cancel;
};

struct ScrubReport {
  ScrubStatus status;
  VerifySummary verified;    ///< the steps that this call verified
  std::uint64_t before = 0;  ///< number of steps of the round that earlier calls verified
  Status unwritten;          ///< not ok: the last write of the status failed, although an earlier one succeeded
};

/// Verifies the steps that the status file does not list, oldest first; all steps if the last round is complete. Writes
/// the file after each step and every few seconds. A status file in the run's own folder is accepted even if it names
/// another path (the run may have been renamed); then a new round begins. \error kNotFound (no steps), kInvalid (the
/// file is not a status, or is another run's), kInterrupted, kTerminated (the next call continues), kFailed (the file
/// cannot be written before the first step; later failures are only reported in `unwritten`), the errors of
/// verify_target()
Result<ScrubReport> scrub_run(Fs& fs, const ScrubOptions& options);

}  // namespace titan::ckpt
