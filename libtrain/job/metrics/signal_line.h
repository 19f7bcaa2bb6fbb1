#pragma once
// A line of the log that a signal handler may write: no memory is allocated, nothing is locked, spdlog is not asked.
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace titan::train {

/// Lines to stderr are for a terminal of so many columns, on which a bar may stand: no time and rank, broken between
/// words. 0: for a file. Any thread may call it.
void signal_lines_for_terminal(std::size_t columns);

class SignalLine {
 public:
  /// As a warning of rank 0 begins: time, level, rank.
  SignalLine& begin();
  SignalLine& operator<<(std::string_view text);
  /// Decimal, with zeros in front up to `width`.
  SignalLine& number(std::uint64_t value, int width = 1);
  /// Ends the line; writes it to stderr and to the open file `log` unless that is negative.
  void write_out(int log);

 private:
  char line_[4096];                   ///< what does not fit is left out
  std::size_t size_ = 0, start_ = 0;  ///< the message begins behind time and rank

  void write_to_terminal(std::size_t columns);
};

}  // namespace titan::train
