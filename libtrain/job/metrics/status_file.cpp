#include "libtrain/job/metrics/status_file.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "ckpt/base/host.h"
#include "ckpt/base/printed.h"
#include "ckpt/base/quoting.h"
#include "ckpt/store/put_file.h"
#include "libtrain/job/metrics/log.h"

namespace titan::train {
namespace {

constexpr std::chrono::seconds kBetweenSteps{1};

std::string value_text(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  return ckpt::digits_of(value);
}

/// Lines of metrics that share a label.
class Exposition {
 public:
  explicit Exposition(const std::string& run) : label_("{run=" + ckpt::quoted_label(run) + "} ") {}
  void gauge(const char* name, const char* help, double value) { add(name, help, "gauge", value_text(value)); }
  void gauge(const char* name, const char* help, std::uint64_t value) {
    add(name, help, "gauge", std::to_string(value));
  }
  void counter(const char* name, const char* help, std::uint64_t value) {
    add(name, help, "counter", std::to_string(value));
  }
  std::string text() && { return std::move(text_); }

 private:
  void add(const std::string& name, const char* help, const char* type, const std::string& value) {
    text_ += "# HELP " + name + " " + help + "\n# TYPE " + name + " " + type + "\n" + name + label_ + value + "\n";
  }
  std::string label_, text_;
};

}  // namespace

std::string status_text(const RunStatus& status, double now) {
  Exposition out(status.run);
  if (const std::optional<StepMetrics>& step = status.step) {
    out.gauge("titan_step", "Last finished step.", step->step);
    out.gauge("titan_loss", "Its mean loss over tokens, in nats.", step->loss);
    out.gauge("titan_gradient_norm", "Its gradient norm before clipping.", step->grad_norm);
    out.gauge("titan_learning_rate", "The rate that it applied.", step->lr);
    out.counter("titan_tokens_total", "Tokens seen since the run began.", step->tokens);
    out.gauge("titan_tokens_per_second", "Of all ranks together.", step->tps_total);
  }
  if (status.durable) {
    out.gauge("titan_last_durable_step", "The newest step that is on the disk.", *status.durable);
    out.gauge("titan_last_durable_timestamp_seconds", "When it was, or when this start took it.", status.durable_at);
    out.gauge("titan_last_durable_age_seconds", "Since then, when this file was written.",
              std::max(0.0, now - status.durable_at));
  }
  out.gauge("titan_attempt", "Which start of the run this is.", std::uint64_t{status.attempt});
  out.counter("titan_save_failures_total", "Saves of this start that failed.", status.save_failures);
  out.counter("titan_skips_total", "Steps of this start whose samples were skipped.", status.skips);
  out.counter("titan_rollbacks_total", "Times that this start went back to a checkpoint.", status.rollbacks);
  out.gauge("titan_status_timestamp_seconds", "When this file was written.", now);
  return std::move(out).text();
}

StatusFile::StatusFile(ckpt::Fs& fs, std::string path, RunStatus status, BackgroundWriter& background)
    : fs_(fs), path_(std::move(path)), background_(background), status_(std::move(status)) {
  const ckpt::MutexLock guard(mutex_);
  status_.durable_at = ckpt::seconds_since_epoch();
  (void)ckpt::remove_stale_temporaries(fs_, path_);  // the first write reports what is wrong with the folder
}

void StatusFile::step(const StepMetrics& metrics) {
  {
    const ckpt::MutexLock guard(mutex_);
    status_.step = metrics;
    if (written_ && std::chrono::steady_clock::now() - *written_ < kBetweenSteps) return;
  }
  write_soon();
}

void StatusFile::saved(std::uint64_t step) {
  {
    const ckpt::MutexLock guard(mutex_);
    status_.durable = step;
    status_.durable_at = ckpt::seconds_since_epoch();
  }
  write_soon();
}

void StatusFile::event(std::string_view name, const EventFields& fields) {
  const auto is = [&](const char* action) {
    return name == "non_finite" &&
           std::ranges::find(fields, EventFields::value_type("action", std::string(action))) != fields.end();
  };
  {
    const ckpt::MutexLock guard(mutex_);
    std::uint64_t* const count = name == "save_failed" ? &status_.save_failures
                                 : is("skip")          ? &status_.skips
                                 : is("rollback")      ? &status_.rollbacks
                                                       : nullptr;
    if (count == nullptr) return;
    ++*count;
  }
  write_soon();
}

void StatusFile::write_soon() {
  {
    const ckpt::MutexLock guard(mutex_);
    if (std::exchange(waiting_, true)) return;
  }
  background_.add(BackgroundWriter::Keep::kAlways, 0, [self = shared_from_this()] {
    self->write();
    return ckpt::ok_status();  // not retried: the next step writes the file again
  });
}

void StatusFile::write() {
  std::string text;
  {
    const ckpt::MutexLock guard(mutex_);
    text = status_text(status_, ckpt::seconds_since_epoch());
    waiting_ = false;
    written_ = std::chrono::steady_clock::now();
  }
  // Not synced to disk, since the text is outdated in a second.
  const ckpt::Status status = ckpt::put_file(fs_, path_, text, ckpt::Lasting::kNo);
  if (!status.ok() && !std::exchange(refused_, true)) log_warn("metrics.status_file: " + log_text(status));
  if (status.ok()) refused_ = false;
}

}  // namespace titan::train
