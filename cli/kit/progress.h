#pragma once
// A progress line on stderr that is redrawn in place. It is only drawn on a terminal, and erased when the work ends.
#include <chrono>
#include <cstdint>
#include <string>

namespace titan::cli {

/// "label   512.0 MiB of 1.0 GiB   50%   256.0 MiB/s  2s left". `done` and `total` in bytes; `total` 0: not known. A
/// line of `width` columns or more is shortened: first the label is cut at its beginning until 16 columns are left,
/// then the line at its end. Pure.
std::string progress_line(const std::string& label, std::uint64_t done, std::uint64_t total, double seconds,
                          std::size_t width);

class Progress {
 public:
  /// Draws only if `wanted` is true and stderr is a terminal that supports it.
  explicit Progress(bool wanted);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Sets the label and the time from which the rate is measured.
  void begin(std::string label);
  /// Redraws the line, at most ten times a second. Arguments as for progress_line().
  void update(std::uint64_t done, std::uint64_t total);
  void erase();

 private:
  using Clock = std::chrono::steady_clock;
  bool on_ = false, drawn_ = false;
  std::string label_;
  Clock::time_point start_{}, last_{};
};

}  // namespace titan::cli
