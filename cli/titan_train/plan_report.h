#pragma once
// What `titan-train plan` says, as text for people and as one JSON document for scripts. Pure: a report in, text out.
#include <optional>
#include <string>
#include <vector>

#include "ckpt/base/status.h"
#include "ckpt/model/schedule.h"
#include "cli/ui/terminal.h"
#include "libtrain/config/drift.h"
#include "libtrain/forecast/forecast.h"
#include "libtrain/state/start.h"

namespace titan::train_cli {

struct PlanReport {
  std::string config_file, run_folder;
  std::string ranks_from;                        ///< "--nproc", "the launcher", "the mesh keys"
  train::StartDecision start;
  std::string stored_layout;                     ///< "2x2" of the checkpoint, empty when fresh
  std::uint64_t configured_steps = 0;            ///< training.steps
  bool complete = false;                         ///< the checkpoint is at training.steps: nothing would happen
  std::vector<train::Drift> drift;
  train::Forecast forecast;
  std::optional<train::DataForecast> data;
  std::optional<std::uint64_t> seed;             ///< nothing: drawn at the start
  ckpt::LrSchedule lr;                           ///< the curve that would be followed
  ckpt::Status refused;                          ///< why the run would not start
};

/// Steps at which a curve from `first` to `last` is given out: all when few, else about 200 at equal distances, ends included.
std::vector<std::uint64_t> curve_steps(std::uint64_t first, std::uint64_t last);

std::string plan_text(const PlanReport& report, const ui::Palette& palette);
std::string plan_json(const PlanReport& report);

}  // namespace titan::train_cli
