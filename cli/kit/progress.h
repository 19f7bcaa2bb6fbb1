#pragma once
// One line of progress on stderr, drawn over itself; only on a terminal, erased when the work ends.
#include <chrono>
#include <cstdint>
#include <string>

namespace titan::cli {

/// The line itself: "label   512.0 MiB of 1.0 GiB   50%   256.0 MiB/s  2s left", below `width` columns: first the label
/// is cut, then the end. Pure.
std::string progress_line(const std::string& label, std::uint64_t done, std::uint64_t total, double seconds,
                          std::size_t width);

class Progress {
 public:
  /// Draws nothing unless `wanted` and stderr is a terminal that can.
  explicit Progress(bool wanted);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Starts a new piece of work; the rate is measured from here.
  void begin(std::string label);
  /// At most ten redraws a second; `total` 0 when it is not known.
  void update(std::uint64_t done, std::uint64_t total);
  void erase();

 private:
  using Clock = std::chrono::steady_clock;
  bool on_ = false, drawn_ = false;
  std::string label_;
  Clock::time_point start_{}, last_{};
};

}  // namespace titan::cli
