#include "recipe/history/advise.h"

#include <algorithm>

#include "ckpt/base/fs.h"
#include "ckpt/base/path.h"
#include "ckpt/ops/list.h"
#include "ckpt/run/run_check.h"
#include "ckpt/run/run_resolve.h"
#include "recipe/history/run_metrics.h"
#include "recipe/keys/loader.h"

namespace titan::recipe {
namespace {

using ckpt::Result;

/// The least bytes of a save from which the speed of larger saves is extrapolated. Smaller saves spend most of their
/// time on system calls and waiting.
constexpr double kTellingBytes = 1ull << 30;
constexpr std::uint64_t kLarger[] = {1'000'000'000, 8'000'000'000, 70'000'000'000, 405'000'000'000};

std::uint64_t parameters_of(const ckpt::Manifest& manifest) {
  std::uint64_t count = 0;
  for (const ckpt::ParameterRecord& record : manifest.parameters) {
    std::uint64_t elements = 1;
    for (const std::uint64_t extent : record.meta.shape) elements *= extent;
    count += elements;
  }
  return count;
}

class Advice {
 public:
  Advice(ckpt::Fs& fs, const AdviseOptions& options) : fs_(fs), options_(options) {}

  Result<AdviseReport> run() {
    TITAN_ASSIGN_OR_RETURN(report_.metrics, find_metrics(fs_, options_.run));
    SaveRecordBuilder builder;
    TITAN_ASSIGN_OR_RETURN(const MetricsProblems problems,
                           read_metrics(fs_, report_.metrics, [&](const MetricsLine& line) { builder.take(line); }));
    report_.record = builder.finish();
    report_.mtbf_s = options_.mtbf_s;
    report_.budget = options_.budget;
    report_.not_known = problems.notes(report_.metrics);
    settings();
    intervals();
    disk();
    larger();
    return std::move(report_);
  }

 private:
  void lacks(std::string text) { report_.not_known.push_back(std::move(text)); }

  void settings() {
    const std::string path = ckpt::join_path(ckpt::parent_path(report_.metrics), "config.toml");
    const Result<LoadedConfig> loaded = load_config(path);
    if (!loaded.ok()) {
      lacks("the settings of the run: " + path + " cannot be read, so what it does now is not compared");
      return;
    }
    report_.has_settings = true;
    report_.saves_enabled = loaded->config.checkpoint.enable;
    report_.interval = loaded->config.checkpoint.interval;
    report_.steps = static_cast<std::uint64_t>(loaded->config.training.steps);
    report_.keep_latest_k = static_cast<std::uint64_t>(loaded->config.checkpoint.keep_latest_k);
    steps_folder_ = loaded->config.checkpoint.folder;
    if (!report_.saves_enabled) lacks("the run does not save (checkpoint.enable = false)");
  }

  void intervals() {
    const SaveRecord& record = report_.record;
    report_.cost_s = record.stall_s ? record.stall_s : record.save_s;
    if (!report_.cost_s) lacks("what a save costs: metrics.jsonl has no save with its seconds");
    if (!record.step_s) lacks("how long a step takes: metrics.jsonl has no step after the first one of a start");
    if (!report_.cost_s || !record.step_s) return;
    const double step = *record.step_s, cost = *report_.cost_s;
    const auto advice = [&](std::uint64_t steps) {
      const double seconds = static_cast<double>(steps) * step;
      return IntervalAdvice{steps, seconds, lost_share(seconds, cost, options_.mtbf_s)};
    };
    report_.best = advice(steps_of(best_interval(cost, options_.mtbf_s), step));
    if (report_.has_settings && report_.saves_enabled) {
      const SaveInterval& interval = report_.interval;
      if (interval.kind == SaveInterval::Kind::kTime)
        report_.now = advice(steps_of(interval.seconds, step));
      else if (interval.kind == SaveInterval::Kind::kSteps)
        report_.now = advice(interval.known_steps());
      else
        lacks("how often the run saves now: checkpoint.interval = \"" + interval.text + "\" is decided while it runs");
    }
    if (record.saves < 5)
      lacks("how much saves vary: there " +
            std::string(record.saves == 1 ? "is one" : "are " + std::to_string(record.saves)) +
            ", and the first one makes folders");
  }

  void disk() {
    const std::string run = ckpt::parent_path(report_.metrics);
    std::string folder = ckpt::join_path(run, steps_folder_);
    if (const Result<std::string> found = ckpt::resolve_run(fs_, run); steps_folder_ == "checkpoint" && found.ok())
      folder = *found;
    ckpt::RunScan scan;
    if (Result<ckpt::RunScan> found = ckpt::scan_run(fs_, folder); found.ok()) {
      scan = std::move(*found);
    } else {
      lacks("the contents of " + folder + ": " + found.status().message);
    }
    std::vector<std::uint64_t> bytes;
    std::optional<std::uint64_t> newest;
    for (const ckpt::StepEntry& entry : scan.steps) {
      bytes.push_back(ckpt::tree_bytes(fs_, entry.path));
      report_.bytes_there += bytes.back();
      if (newest || !entry.validity.ok() || !entry.full) continue;
      newest = bytes.back();
      if (entry.manifest) report_.parameters = parameters_of(*entry.manifest);
    }
    std::uint64_t damaged = 0;
    for (const std::string& name : scan.damaged) damaged += ckpt::tree_bytes(fs_, ckpt::join_path(folder, name));
    report_.bytes_there += damaged;
    report_.steps_there = scan.steps.size();
    if (!scan.steps.empty()) report_.folder = folder;
    if (const Result<std::uint64_t> free = fs_.free_bytes(run); free.ok()) report_.free = *free;
    if (newest) {
      report_.one_save = newest;
    } else if (report_.record.save_bytes) {
      report_.one_save = static_cast<std::uint64_t>(std::min(*report_.record.save_bytes, 1e18));
      lacks("the size of a whole step: none is there; that of the last save is taken");
    } else {
      lacks("the size of a step: there is none, and metrics.jsonl names no save with its bytes");
      return;
    }
    if (report_.has_settings && report_.saves_enabled && report_.keep_latest_k > 0)
      report_.needed = (report_.keep_latest_k + 1) * *report_.one_save;
    if (options_.budget) report_.fit = fit_retention(scan, bytes, damaged, *report_.one_save, *options_.budget);
  }

  void larger() {
    if (report_.parameters == 0) {
      lacks("what a larger model would need: no whole step says how many parameters this one has");
      return;
    }
    const double per_parameter = static_cast<double>(*report_.one_save) / static_cast<double>(report_.parameters);
    const double bytes = report_.record.save_bytes.value_or(0);
    const bool telling = report_.cost_s && bytes >= kTellingBytes;
    for (const std::uint64_t parameters : kLarger) {
      if (parameters < 2 * report_.parameters) continue;
      LargerRun& row = report_.larger.emplace_back();
      row.parameters = parameters;
      row.save_bytes = static_cast<std::uint64_t>(per_parameter * static_cast<double>(parameters));
      if (!telling) continue;
      row.save_s = *report_.cost_s * static_cast<double>(row.save_bytes) / bytes;
      row.interval_s = best_interval(*row.save_s, options_.mtbf_s);
    }
    if (!telling && !report_.larger.empty() && report_.cost_s)
      lacks("how fast large saves are: those of this run are smaller than 1 GiB and say little about the store");
  }

  ckpt::Fs& fs_;
  const AdviseOptions& options_;
  std::string steps_folder_ = "checkpoint";
  AdviseReport report_;
};

}  // namespace

Result<AdviseReport> advise_run(ckpt::Fs& fs, const AdviseOptions& options) { return Advice(fs, options).run(); }

}  // namespace titan::recipe
