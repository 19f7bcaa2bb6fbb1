#include "libtrain/job/metrics/signal_line.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <cstring>

namespace titan::train {
namespace {

std::atomic<std::size_t> terminal_columns{0};
static_assert(std::atomic<std::size_t>::is_always_lock_free, "used inside a signal handler");

}  // namespace

void signal_lines_for_terminal(std::size_t columns) { terminal_columns = columns; }

SignalLine& SignalLine::operator<<(std::string_view text) {
  const std::size_t bytes = std::min(text.size(), sizeof line_ - 1 - size_);  // room for the line's end
  std::memcpy(line_ + size_, text.data(), bytes);
  size_ += bytes;
  return *this;
}

SignalLine& SignalLine::number(std::uint64_t value, int width) {
  char digits[20];
  const char* end = std::to_chars(digits, digits + sizeof digits, value).ptr;
  for (auto missing = width - (end - digits); missing > 0; --missing) *this << "0";
  return *this << std::string_view(digits, static_cast<std::size_t>(end - digits));
}

SignalLine& SignalLine::begin() {
  using namespace std::chrono;  // plain arithmetic: gmtime may not be called here
  const auto now = floor<milliseconds>(system_clock::now());
  const auto midnight = floor<days>(now);
  const year_month_day date(midnight);
  const hh_mm_ss time(now - midnight);
  number(static_cast<std::uint64_t>(static_cast<int>(date.year())), 4) << "-";
  number(static_cast<unsigned>(date.month()), 2) << "-";
  number(static_cast<unsigned>(date.day()), 2) << "T";
  number(static_cast<std::uint64_t>(time.hours().count()), 2) << ":";
  number(static_cast<std::uint64_t>(time.minutes().count()), 2) << ":";
  number(static_cast<std::uint64_t>(time.seconds().count()), 2) << ".";
  number(static_cast<std::uint64_t>(time.subseconds().count()), 3) << "Z W r0 ";
  start_ = size_;
  return *this;
}

void SignalLine::write_out(int log) {
  line_[size_++] = '\n';
  const std::size_t columns = terminal_columns;
  for (const int fd : {log, columns > 0 ? -1 : STDERR_FILENO})
    if (fd >= 0 && ::write(fd, line_, size_) < 0) continue;  // a failed write cannot be reported anywhere
  if (columns > 0) write_to_terminal(columns);
}

void SignalLine::write_to_terminal(std::size_t columns) {
  std::size_t begin = start_, blank = 0;
  for (std::size_t at = start_; at < size_; ++at) {
    if (at - begin >= columns && blank > 0) {
      line_[blank] = '\n';
      begin = blank + 1;
      blank = 0;
    }
    if (line_[at] == ' ') blank = at;
  }
  if (::write(STDERR_FILENO, kEraseProgress, std::strlen(kEraseProgress)) < 0) return;
  (void)!::write(STDERR_FILENO, line_ + start_, size_ - start_);
}

}  // namespace titan::train
