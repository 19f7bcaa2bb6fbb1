#pragma once
// What a rank tells of a run as it goes on. Who shows it to people is not this library's business.
#include <cstdint>
#include <string>

#include "libtrain/job/metrics/step_metrics.h"

namespace titan::train {

/// Called from the rank's own thread.
class RunWatcher {
 public:
  virtual ~RunWatcher() = default;

  /// Training begins behind step `done` and ends with step `last`.
  virtual void begins(std::uint64_t /*done*/, std::uint64_t /*last*/, int /*ranks*/) {}
  /// After each step. `due`: metrics.log_freq asks for a line.
  virtual void step(const StepMetrics& /*metrics*/, bool /*due*/) {}
  virtual void validated(const ValidationMetrics& /*metrics*/) {}
  /// True where saving and saved, which rank 0 alone tells, are shown: the log says it in its file alone.
  virtual bool shows_saves() const { return false; }
  virtual void saving(std::uint64_t /*step*/) {}
  /// The store refused it, and the run goes on; the log says why.
  virtual void not_saved(std::uint64_t /*step*/) {}
  virtual void saved(std::uint64_t /*step*/, const std::string& /*path*/, std::uint64_t /*bytes*/, double /*seconds*/) {
  }
};

}  // namespace titan::train
