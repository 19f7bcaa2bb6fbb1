#pragma once
// An async-signal-safe log line: allocates no memory, takes no lock and does not use spdlog.
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace titan::train {

/// Erases the progress bar, and the terminal's "^C", from the line of the cursor.
inline constexpr const char* kEraseProgress = "\r\x1b[J";

/// Sets the form of lines on stderr. With `columns` > 0, it is the form for a terminal that is `columns` wide: without
/// time and rank, wrapped between words, in place of a progress bar. With 0, it is the form of log files. Thread-safe.
void signal_lines_for_terminal(std::size_t columns);

class SignalLine {
 public:
  /// Begins the line like a warning of rank 0: time, level, rank.
  SignalLine& begin();
  SignalLine& operator<<(std::string_view text);
  /// Appends `value` in decimal, with leading zeros up to `width` digits.
  SignalLine& number(std::uint64_t value, int width = 1);
  /// Ends the line, and writes it to stderr. If the file descriptor `log` is not negative, writes it there, too.
  void write_out(int log);

 private:
  char line_[4096];                   ///< text that does not fit is dropped
  std::size_t size_ = 0, start_ = 0;  ///< start_: where the message begins, after time and rank

  void write_to_terminal(std::size_t columns);
};

}  // namespace titan::train
