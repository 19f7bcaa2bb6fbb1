#include "libtrain/metrics/signal_line.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstring>

namespace titan::train {

SignalLine& SignalLine::operator<<(std::string_view text) {
  const std::size_t bytes = std::min(text.size(), sizeof line_ - 1 - size_);  // the line's end has a place
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
  return number(static_cast<std::uint64_t>(time.subseconds().count()), 3) << "Z W r0 ";
}

void SignalLine::write_out(int log) {
  line_[size_++] = '\n';
  for (const int fd : {STDERR_FILENO, log})
    if (fd >= 0 && ::write(fd, line_, size_) < 0) continue;  // nobody is left to be told
}

}  // namespace titan::train
