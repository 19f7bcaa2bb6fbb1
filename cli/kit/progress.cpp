#include "cli/kit/progress.h"

#include "cli/kit/output.h"
#include "cli/kit/terminal.h"
#include "cli/kit/text.h"
#include "cli/kit/units.h"

namespace titan::cli {

std::string progress_line(const std::string& label, std::uint64_t done, std::uint64_t total, double seconds,
                          std::size_t width) {
  std::string line = escape(label) + "  " + format_bytes(done);
  if (total > 0) {
    const double share = static_cast<double>(done) / static_cast<double>(total);
    line += " of " + format_bytes(total) + "  " + std::to_string(static_cast<int>(share * 100)) + "%";
  }
  const double rate = seconds > 0.5 ? static_cast<double>(done) / seconds : 0;
  if (rate > 0) line += "  " + format_bytes(static_cast<std::uint64_t>(rate)) + "/s";
  if (rate > 0 && total >= done && total > 0)
    line += "  " + format_duration(static_cast<double>(total - done) / rate) + " left";
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
  to_stderr("\r\x1b[K" + progress_line(label_, done, total, seconds, terminal_width()));
  drawn_ = true;
}

void Progress::erase() {
  if (drawn_) to_stderr("\r\x1b[K");
  drawn_ = false;
}

}  // namespace titan::cli
