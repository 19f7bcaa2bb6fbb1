#pragma once
// `titan-train plan`: what a run would do, as text and as one JSON document.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/kit/terminal.h"
#include "cli/titan_train/plan_device.h"
#include "libtrain/job/forecast/forecast.h"
#include "libtrain/job/host/speed.h"
#include "libtrain/job/start/preview.h"
#include "libtrain/job/start/token_scan.h"

namespace titan::cli {

struct PlanReport {
  std::string config_file, run_folder;
  std::string ranks_from;              ///< source of the number of ranks: "as --nproc says"
  std::uint64_t configured_steps = 0;  ///< training.steps
  std::optional<train::StartPreview>
      start;  ///< nullopt: `run` would fail before it chose a checkpoint; the other members are then for a new run
  train::Forecast forecast;
  std::optional<train::DataForecast> data;
  std::optional<std::uint64_t> seed;  ///< nullopt: drawn at random when the run starts
  ckpt::LrSchedule lr;                ///< the LR schedule of the run
  train::TokenScan scan;              ///< result of checking the ids of token files
  train::SpeedGuess speed;
  std::optional<DeviceReport> device;  ///< set with --device; facts of this machine are then left out
  ckpt::Status refused;                ///< the error with which `run` would end; ok if it would train

  bool complete() const { return start && start->complete; }
  std::vector<std::string> left_out() const {
    return start && start->dataset ? start->dataset->left_out() : std::vector<std::string>{};
  }
  const recipe::StoredRun* stored() const { return start && start->stored ? &*start->stored : nullptr; }
};

/// The steps of an LR schedule from `first` to `last` that the JSON document lists: all if there are at most 400, else
/// 201 to 301 steps at equal distances (the last distance may be shorter), including both ends.
std::vector<std::uint64_t> curve_steps(std::uint64_t first, std::uint64_t last);

std::string plan_text(const PlanReport& report, const Palette& palette);
std::string plan_json(const PlanReport& report);

/// The section of plan_text() about the learning rate: the LR schedule as a plot and as a table. If LR settings have
/// changed and no policy is chosen, a plot of what each policy would do.
std::string plan_curve_text(const PlanReport& report, const Palette& palette);

}  // namespace titan::cli
