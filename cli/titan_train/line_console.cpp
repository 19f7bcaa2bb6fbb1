#include "ckpt/base/path.h"
#include "cli/kit/output.h"
#include "cli/titan_train/console.h"
#include "libtrain/job/metrics/log.h"
#include "libtrain/job/metrics/step_line.h"
#include "recipe/keys/config.h"

namespace titan::cli {
namespace {

class LineConsole : public Console {
 public:
  LineConsole(const recipe::Config& config, bool color)
      : metrics_(ckpt::join_path(config.job.dump_folder, "metrics.jsonl")), color_(color) {}

  void step(const train::StepMetrics& metrics, bool due) override {
    if (due) print(train::step_line(metrics, color_));
  }
  void validated(const train::ValidationMetrics& metrics) override { print(train::validation_line(metrics, color_)); }
  void end(int, const std::vector<std::string>&) override {}

 private:
  // A run continues if stdout is closed or its disk is full.
  void print(const std::string& line) {
    ckpt::Status failed;
    const bool gone = deliver(1, line + "\n", &failed) == Delivery::kReaderGone;
    if (!lost_ && (gone || !failed.ok()))
      train::log_warn("step lines are lost: " + (gone ? "nobody reads standard output any more" : failed.message) +
                      "; training continues, and " + metrics_ + " has every step");
    lost_ = lost_ || gone || !failed.ok();
  }

  std::string metrics_;
  bool color_, lost_ = false;
};

}  // namespace

std::unique_ptr<Console> make_line_console(const recipe::Config& config, ColorChoice color) {
  return std::make_unique<LineConsole>(config, !config.metrics.disable_color_printing && color_of_process(1, color));
}

}  // namespace titan::cli
