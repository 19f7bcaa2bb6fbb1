#include "cli/kit/progress.h"

#include <algorithm>

#include "cli/kit/output.h"
#include "cli/kit/terminal.h"
#include "cli/kit/text.h"
#include "cli/kit/units.h"

namespace titan::cli {

namespace {

std::string to_right(const std::string& text, std::size_t width) {
  return std::string(width - std::min(width, text.size()), ' ') + text;
}

/// `text`, or if it is wider than `width`, "..." and the end of it.
std::string end_of(std::string text, std::size_t width) {
  if (display_width(text) <= width) return text;
  const auto continues = [&] { return !text.empty() && (static_cast<unsigned char>(text[0]) & 0xc0) == 0x80; };
  while (!text.empty() && (display_width(text) + 3 > width || continues())) text.erase(0, 1);
  return "..." + text;
}

}  // namespace

std::string progress_line(const std::string& label, std::uint64_t done, std::uint64_t total, double seconds,
                          std::size_t width) {
  // The largest width of a size and the least width of the label: fixed, so that columns do not move between redraws.
  constexpr std::size_t kSize = sizeof "1023.9 MiB" - 1, kLabel = 16;
  std::string line;
  if (total > 0) {
    const double share = static_cast<double>(done) / static_cast<double>(total);
    line = to_right(format_bytes(done), kSize) + " of " + format_bytes(total) + "  " +
           to_right(std::to_string(static_cast<int>(share * 100)), 3) + "%";
  } else {
    line = to_right(format_bytes(done), kSize);
  }
  const double rate = seconds > 0.5 ? static_cast<double>(done) / seconds : 0;
  if (rate > 0) line += "  " + to_right(format_bytes(static_cast<std::uint64_t>(rate)), kSize) + "/s";
  if (rate > 0 && total >= done && total > 0)
    line += "  " + format_duration(static_cast<double>(total - done) / rate) + " left";
  const std::size_t used = display_width(line) + 3;
  line = end_of(escape(label), std::max(kLabel, width > used ? width - used : 0)) + "  " + line;
  while (display_width(line) >= width && !line.empty()) line.pop_back();
  return line;
}

Progress::Progress(bool wanted) : on_(wanted && progress_possible()) {}
Progress::~Progress() { erase(); }

void Progress::begin(std::string label) {
  label_ = std::move(label);
  start_ = last_ = Clock::now();
}

void Progress::update(std::uint64_t done, std::uint64_t total) {
  const Clock::time_point now = Clock::now();
  if (!on_ || now - last_ < std::chrono::milliseconds(100)) return;
  last_ = now;
  const double seconds = std::chrono::duration<double>(now - start_).count();
  // The rest of the old line is erased after the new text is drawn: erasing first would flicker.
  to_stderr("\r" + progress_line(label_, done, total, seconds, terminal_width()) + "\x1b[K");
  drawn_ = true;
}

void Progress::erase() {
  if (drawn_) to_stderr("\r\x1b[K");
  drawn_ = false;
}

}  // namespace titan::cli
