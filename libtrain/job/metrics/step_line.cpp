#include "libtrain/job/metrics/step_line.h"

#include <cmath>

#include "ckpt/base/printed.h"

// \source torchtitan v0.2.2, components/metrics.py (fields, widths), tools/utils.py (colours)
namespace titan::train {
namespace {

constexpr const char* kRed = "\033[31m";
constexpr const char* kGreen = "\033[32m";
constexpr const char* kYellow = "\033[33m";
constexpr const char* kBlue = "\033[34m";
constexpr const char* kMagenta = "\033[35m";
constexpr const char* kCyan = "\033[36m";
constexpr const char* kOrange = "\033[38;2;180;60;0m";
constexpr const char* kTurquoise = "\033[38;2;54;234;195m";
constexpr const char* kReset = "\033[39m";

std::string fixed(double value, int width, int decimals) {
  if (std::isnan(value)) value = std::fabs(value);  // never "-nan"
  return ckpt::printed("%*.*f", width, decimals, value);
}

std::string rate(double tps) {
  return std::isfinite(tps) ? ckpt::with_commas(fixed(std::nearbyint(tps), 0, 0)) : "n/a";
}

/// Joins fields with two spaces, each in its colour.
class Line {
 public:
  explicit Line(bool color) : color_(color) {}
  Line& add(const char* color, const std::string& field) {
    if (!text_.empty()) text_ += "  ";
    if (color_) text_ += color;
    text_ += field;
    return *this;
  }
  std::string finish() const { return color_ ? text_ + kReset : text_; }

 private:
  bool color_;
  std::string text_;
};

std::string step_field(std::uint64_t step) { return (step < 10 ? "step:  " : "step: ") + std::to_string(step); }

std::string memory_field(const PeakMemory& memory) {
  const std::optional<std::uint64_t>& most = memory.device ? memory.tensors : memory.resident;
  if (!most) return "memory: n/a";
  const double bytes = static_cast<double>(*most);
  return "memory: " + fixed(bytes / (1 << 30), 5, 2) + "GiB" +
         (memory.device ? "(" + fixed(100 * bytes / static_cast<double>(*memory.device), 0, 2) + "%)" : "");
}

}  // namespace

std::string step_line(const StepMetrics& metrics, bool color) {
  return Line(color)
      .add(kRed, step_field(metrics.step))
      .add(kGreen, "loss: " + fixed(metrics.loss, 8, 5))
      .add(kOrange, "grad_norm: " + fixed(metrics.grad_norm, 7, 4))
      .add(kTurquoise, memory_field(metrics.memory))
      .add(kBlue, "tps: " + rate(metrics.tps))
      .add(kCyan, "tflops: " + (metrics.tflops ? ckpt::with_commas(fixed(*metrics.tflops, 0, 2)) : "n/a"))
      .add(kMagenta, "mfu: " + (metrics.mfu ? fixed(*metrics.mfu, 0, 2) + "%" : "n/a"))
      .finish();
}

std::string validation_line(const ValidationMetrics& metrics, bool color) {
  return Line(color)
      .add(kYellow, "validate " + step_field(metrics.step))
      .add(kGreen, "loss: " + fixed(metrics.loss, 7, 4))
      .add(kTurquoise, memory_field(metrics.memory))
      .add(kBlue, "tps: " + rate(metrics.tps))
      .finish();
}

}  // namespace titan::train
