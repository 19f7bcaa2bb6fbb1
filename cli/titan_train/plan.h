#pragma once
// `titan-train plan`: what a run would do, as text for people and as one JSON document for scripts.
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

/// Says what `run` would do, without doing it; its error is what `run` would answer before its first step.
Answer run_plan(const Request& request);

struct PlanReport {
  std::string config_file, run_folder;
  std::string ranks_from;              ///< "as --nproc says"
  std::uint64_t configured_steps = 0;  ///< training.steps
  std::optional<train::StartPreview>
      start;  ///< nothing: the start is refused before it is known; the rest is a fresh start's
  train::Forecast forecast;
  std::optional<train::DataForecast> data;
  std::optional<std::uint64_t> seed;  ///< nothing: drawn at the start
  ckpt::LrSchedule lr;                ///< the curve that would be followed
  train::TokenScan scan;              ///< of token files
  train::SpeedGuess speed;
  std::optional<DeviceReport> device;  ///< with --device; what this machine has is left out then
  ckpt::Status refused;                ///< why the run would not start

  bool complete() const { return start && start->complete; }
  std::vector<std::string> left_out() const {
    return start && start->dataset ? start->dataset->left_out() : std::vector<std::string>{};
  }
  const recipe::StoredRun* stored() const { return start && start->stored ? &*start->stored : nullptr; }
};

/// Steps at which a curve from `first` to `last` is given out: all when few, else about 200 at equal distances, ends
/// included.
std::vector<std::uint64_t> curve_steps(std::uint64_t first, std::uint64_t last);

std::string plan_text(const PlanReport& report, const Palette& palette);
std::string plan_json(const PlanReport& report);

/// The part of the text about the learning rate: the curve drawn, its steps in numbers; where settings changed, what
/// each policy would do.
std::string plan_curve_text(const PlanReport& report, const Palette& palette);

/// The pipeline's schedule in lines of at most `width` columns: a row per rank, time to the right. A forward takes one
/// unit of time, a backward two, each half of a split one one. A unit is two columns, letter and last digit of the
/// micro-batch, where all of them fit, else one; what still does not fit is left out in the middle. Stages beyond a
/// rank's first have small letters.
std::string draw_schedule(const train::DrawnSchedule& schedule, const Palette& palette, std::size_t width);

/// Writes what --schedule-csv and --trace ask for, and returns a line for each file. \error kInvalid: a file is there,
/// or the step is too long to be written whole
ckpt::Result<std::vector<std::string>> write_plan_files(const Request& request, const PlanReport& report);

}  // namespace titan::cli
