#pragma once
// Events of a run that a rank reports while it trains, for a program that displays them.
#include <cstdint>
#include <string>

#include "libtrain/job/metrics/step_metrics.h"

namespace titan::train {

/// Functions are called from the rank's training thread; shows_saves() also from the thread of a background save.
class RunWatcher {
 public:
  virtual ~RunWatcher() = default;

  /// Training begins after step `done` and ends with step `last`.
  virtual void begins(std::uint64_t /*done*/, std::uint64_t /*last*/, int /*ranks*/) {}
  /// After each step. `due`: a line is to be shown (metrics.log_freq; always for the first step of a start and the
  /// last).
  virtual void step(const StepMetrics& /*metrics*/, bool /*due*/) {}
  virtual void validated(const ValidationMetrics& /*metrics*/) {}
  /// Whether saving() and saved(), which only rank 0 calls, are displayed. If true, the log writes about saves only to
  /// its file.
  virtual bool shows_saves() const { return false; }
  virtual void saving(std::uint64_t /*step*/) {}
  /// The store refused the save, and the run continues. The log says why.
  virtual void not_saved(std::uint64_t /*step*/) {}
  virtual void saved(std::uint64_t /*step*/, const std::string& /*path*/, std::uint64_t /*bytes*/, double /*seconds*/) {
  }
};

}  // namespace titan::train
