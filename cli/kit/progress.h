#pragma once
// One line of progress on stderr, redrawn in place. Only on a terminal; erased when the work ends.
#include <chrono>
#include <cstdint>
#include <string>

namespace titan::cli {

/// "label   512.0 MiB of 1.0 GiB   50%   256.0 MiB/s  2s left", shorter than `width` columns: the label is cut first,
/// then the end of the line. Pure.
std::string progress_line(const std::string& label, std::uint64_t done, std::uint64_t total, double seconds,
                          std::size_t width);

class Progress {
 public:
  /// Draws only if `wanted` is true and stderr is a terminal that supports it.
  explicit Progress(bool wanted);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Starts a new piece of work. The rate is measured from here.
  void begin(std::string label);
  /// Redraws at most ten times a second. `total` = 0: not known.
  void update(std::uint64_t done, std::uint64_t total);
  void erase();

 private:
  using Clock = std::chrono::steady_clock;
  bool on_ = false, drawn_ = false;
  std::string label_;
  Clock::time_point start_{}, last_{};
};

}  // namespace titan::cli
