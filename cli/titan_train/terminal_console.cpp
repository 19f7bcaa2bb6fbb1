#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <limits>
#include <mutex>
#include <thread>

#include "ckpt/base/exit_code.h"
#include "cli/kit/output.h"
#include "cli/kit/step_text.h"
#include "cli/kit/units.h"
#include "cli/titan_train/console.h"
#include "cli/titan_train/resume_hint.h"
#include "libtrain/job/metrics/log.h"
#include "libtrain/job/metrics/signal_line.h"
#include "recipe/keys/config.h"

namespace titan::cli {
namespace {

using Clock = std::chrono::steady_clock;
using train::StepMetrics;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// Erases everything from the cursor to the end of the screen. The cursor stays at the beginning of the bar, for two
// reasons: output of another process overwrites the bar instead of following it, and a bar that a narrower window has
// wrapped into several lines is erased completely.

/// Prints a log message on a terminal. `who`: text before the message, such as "rank 3: ".
void show_message(train::LogLevel level, const std::string& message, const std::string& who, const Palette& palette) {
  const bool info = level == train::LogLevel::kInfo, error = level == train::LogLevel::kError;
  to_stderr(message_text(info    ? ""
                         : error ? "error:"
                                 : "note:",
                         error  ? Role::kError
                         : info ? Role::kPlain
                                : Role::kWarning,
                         who + message, terminal_width(), palette));
}

// A ticker thread draws what the other functions set; they share one lock. The class has many members because the bar,
// the step lines and the summary are made from the same steps and share the terminal.
class TerminalConsole : public Console {
 public:
  TerminalConsole(const recipe::Config& config, ColorChoice color)
      : config_(config),
        out_{!config.metrics.disable_color_printing && color_of_process(STDOUT_FILENO, color)},
        err_{color_of_process(STDERR_FILENO, color)},
        log_here_(isatty(STDERR_FILENO) == 1),
        bar_(err_.on && progress_possible()) {
    if (!log_here_) return;
    train::show_log([this](train::LogLevel level, const std::string& message) {
      const std::lock_guard<std::mutex> lock(mutex_);
      erase();
      show_message(level, message, "", err_);
      draw();
    });
    train::signal_lines_for_terminal(terminal_width());
  }

  ~TerminalConsole() override { stop_ticking(); }

  void begins(std::uint64_t done, std::uint64_t last, int ranks) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    look_.step = done;
    look_.last = last;
    look_.ranks = ranks;
    sum_.first = done + 1;
    sum_.last = last;
    start_ = Clock::now();
    if (!bar_) return;
    running_ = true;
    draw();
    ticker_ = std::thread([this] { tick(); });
  }

  void step(const StepMetrics& metrics, bool due) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    note(metrics);
    // The width may have changed. Signal handlers cannot ask for it, so their lines are wrapped again here.
    if (log_here_) train::signal_lines_for_terminal(terminal_width());
    if (due) {
      // The speed since the previous step line, not of this step alone.
      look_.tps = static_cast<double>(line_tokens_) / std::max(line_seconds_, 1e-9);
      line_tokens_ = 0;
      line_seconds_ = 0;
      print(step_text(look_, width(), out_) + "\n");
    } else if (seconds_since(drawn_at_) > 0.1) {
      draw();
    }
  }

  void validated(const train::ValidationMetrics& metrics) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    sum_.validation_loss = metrics.loss;
    sum_.validation_step = metrics.step;
    print(event_line(metrics.step, "validation", "loss " + format_rounded(metrics.loss, 5)));
  }

  bool shows_saves() const override { return log_here_; }
  void saving(std::uint64_t step) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    doing_ = "saving step " + std::to_string(step);
    erase();
    draw();
  }
  void not_saved(std::uint64_t step) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    doing_ = "step " + std::to_string(step) + " is not saved";
    erase();
    draw();
  }
  void saved(std::uint64_t step, const std::string& path, std::uint64_t bytes, double seconds) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    doing_.clear();
    sum_.newest = path;
    if (log_here_) print(event_line(step, "saved", format_bytes(bytes) + " in " + format_duration(seconds)));
  }

  void end(int exit_code, const std::vector<std::string>& words) override {
    stop_ticking();
    const std::lock_guard<std::mutex> lock(mutex_);
    running_ = false;
    erase();
    if (sum_.done < sum_.first || (exit_code != 0 && exit_code != ckpt::kExitSaved)) return;
    sum_.seconds = seconds_since(start_);
    if (exit_code == 0) sum_.extend_command = extend_command(words, config_);
    print(summary_text(sum_, width(), out_));
  }

 private:
  void note(const StepMetrics& metrics) {
    look_.step = sum_.done = metrics.step;
    look_.loss = sum_.loss = metrics.loss;
    look_.lr = metrics.lr;
    look_.grad_norm = metrics.grad_norm;
    if (metrics.loss < sum_.best_loss) {
      sum_.best_loss = metrics.loss;
      sum_.best_step = metrics.step;
    }
    const double tokens = metrics.tps_total * metrics.time_s;
    sum_.tokens += static_cast<std::uint64_t>(tokens + 0.5);
    line_tokens_ += tokens;
    line_seconds_ += metrics.time_s;
    // The time left is computed from the ends of steps, because saves and validation between steps take time as well.
    ends_.push_back(Clock::now());
    if (ends_.size() > kWindow) ends_.pop_front();
    const double each = ends_.size() < 2 ? metrics.time_s
                                         : std::chrono::duration<double>(ends_.back() - ends_.front()).count() /
                                               static_cast<double>(ends_.size() - 1);
    look_.left = each * static_cast<double>(look_.last - look_.step);
  }

  std::string event_line(std::uint64_t step, const std::string& what, const std::string& how) const {
    const std::string last = std::to_string(look_.last), at = std::to_string(step);
    return out_.paint(Role::kDim, "step") + " " + std::string(last.size() - std::min(last.size(), at.size()), ' ') +
           at + std::string(last.size() + 1, ' ') + "  " + out_.paint(Role::kOk, what) + " " + how + "\n";
  }

  std::size_t width() const { return terminal_width(); }

  void print(const std::string& text) {
    erase();
    ckpt::Status ignored;  // a run continues if its terminal has been closed
    deliver(STDOUT_FILENO, text, &ignored);
    draw();
  }
  void draw() {
    if (!running_ || stopped_) return;
    to_stderr(train::kEraseProgress + bar_text(look_, seconds_since(start_), doing_, width()) + "\r");
    shown_ = true;
    drawn_at_ = Clock::now();
  }
  void erase() {
    if (shown_) to_stderr(train::kEraseProgress);
    shown_ = false;
  }

  void tick() {
    std::unique_lock<std::mutex> lock(mutex_);
    while (!stopped_)
      if (!wake_.wait_for(lock, std::chrono::seconds(1), [this] { return stopped_; })) draw();
  }
  void stop_ticking() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      stopped_ = true;
      erase();
    }
    wake_.notify_all();
    if (ticker_.joinable()) ticker_.join();
  }

  static constexpr std::size_t kWindow = 32;  // number of steps whose mean duration gives the time left

  const recipe::Config& config_;
  const Palette out_, err_;
  const bool log_here_, bar_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::thread ticker_;
  bool running_ = false, stopped_ = false, shown_ = false;
  StepLook look_;
  RunSummary sum_{.best_loss = std::numeric_limits<double>::infinity()};
  std::deque<Clock::time_point> ends_;
  double line_tokens_ = 0, line_seconds_ = 0;
  std::string doing_;
  Clock::time_point start_ = Clock::now(), drawn_at_{};
};

}  // namespace

std::unique_ptr<Console> make_terminal_console(const recipe::Config& config, ColorChoice color) {
  return std::make_unique<TerminalConsole>(config, color);
}

std::unique_ptr<Console> make_console(const recipe::Config& config, ColorChoice color) {
  return isatty(STDOUT_FILENO) == 1 ? make_terminal_console(config, color) : make_line_console(config, color);
}

void clear_bar(ColorChoice color) {
  if (color_of_process(STDERR_FILENO, color) && progress_possible()) to_stderr(train::kEraseProgress);
}

void show_log_of_rank(int rank, ColorChoice color) {
  if (isatty(STDERR_FILENO) != 1) return;
  const Palette palette{color_of_process(STDERR_FILENO, color)};
  const std::string who = "rank " + std::to_string(rank) + ": ";
  train::show_log([palette, who](train::LogLevel level, const std::string& message) {
    if (palette.on && progress_possible()) to_stderr(train::kEraseProgress);
    show_message(level, message, who, palette);
  });
}

}  // namespace titan::cli
