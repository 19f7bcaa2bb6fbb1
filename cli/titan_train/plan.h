#pragma once
// `titan-train plan`: what a run would do, as text and as one JSON document.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/kit/verb.h"
#include "cli/titan_train/plan_device.h"
#include "libtrain/job/forecast/forecast.h"
#include "libtrain/job/host/speed.h"
#include "libtrain/job/start/preview.h"
#include "libtrain/job/start/token_scan.h"

namespace titan::cli {

/// Prints what `run` would do, without doing it. Its error is the one that `run` would give before its first step.
ckpt::Result<Answer> run_plan(const Request& request);

struct PlanReport {
  std::string config_file, run_folder;
  std::string ranks_from;              ///< source of the number of ranks: "as --nproc says"
  std::uint64_t configured_steps = 0;  ///< training.steps
  std::optional<train::StartPreview>
      start;  ///< nullopt: the start was refused before it was decided; the rest is for a fresh start
  train::Forecast forecast;
  std::optional<train::DataForecast> data;
  std::optional<std::uint64_t> seed;  ///< nullopt: drawn at the start
  ckpt::LrSchedule lr;                ///< the LR schedule of the run
  train::TokenScan scan;              ///< of token files
  train::SpeedGuess speed;
  std::optional<DeviceReport> device;  ///< with --device; facts of this machine are then left out
  ckpt::Status refused;                ///< why the run would not start

  bool complete() const { return start && start->complete; }
  std::vector<std::string> left_out() const {
    return start && start->dataset ? start->dataset->left_out() : std::vector<std::string>{};
  }
  const recipe::StoredRun* stored() const { return start && start->stored ? &*start->stored : nullptr; }
};

/// The steps at which an LR schedule from `first` to `last` is printed: all if they are few, else about 200 at equal
/// distances, including both ends.
std::vector<std::uint64_t> curve_steps(std::uint64_t first, std::uint64_t last);

std::string plan_text(const PlanReport& report, const Palette& palette);
std::string plan_json(const PlanReport& report);

/// The LR part of the text: the schedule as a plot and in numbers; if settings changed, what each policy would do.
std::string plan_curve_text(const PlanReport& report, const Palette& palette);

/// The pipeline's schedule in lines of at most `width` columns: a row per rank, time to the right. A forward takes one
/// unit of time, a backward two, each half of a split backward one. A unit has two columns (letter and last digit of
/// the micro-batch) if all fit, else one column; if that is still too wide, the middle is left out. Stages after a
/// rank's first have small letters.
std::string draw_schedule(const train::DrawnSchedule& schedule, const Palette& palette, std::size_t width);

}  // namespace titan::cli
