#pragma once
// What rank 0 tells of a run as it goes on. Who shows it to people is not this library's business.
#include <cstdint>
#include <string>

#include "libtrain/metrics/step_line.h"

namespace titan::train {

/// Called from rank 0's own thread.
class RunWatcher {
 public:
  virtual ~RunWatcher() = default;

  /// Training begins behind step `done` and ends with step `last`.
  virtual void begins(std::uint64_t /*done*/, std::uint64_t /*last*/, int /*ranks*/) {}
  /// After each step. `tflops`: a second and rank; `due`: metrics.log_freq asks for a line.
  virtual void step(const StepMetrics& metrics, double tflops, bool due) = 0;
  /// `tps`: a rank.
  virtual void validated(std::uint64_t step, double loss, double tps) = 0;
  /// True where these two are shown: the log says it in its file alone.
  virtual bool shows_saves() const { return false; }
  virtual void saving(std::uint64_t /*step*/) {}
  virtual void saved(std::uint64_t /*step*/, const std::string& /*path*/, std::uint64_t /*bytes*/, double /*seconds*/) {
  }
};

}  // namespace titan::train
