#pragma once
// `advise`: how often a run should save and how many steps it should keep, computed from the run's metrics.jsonl,
// config.toml and saved steps. What these files lack is reported, not guessed.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "recipe/history/retention_fit.h"
#include "recipe/history/save_interval.h"
#include "recipe/history/save_record.h"
#include "recipe/keys/interval.h"

namespace titan::ckpt {
class Fs;
}

namespace titan::recipe {

struct AdviseOptions {
  std::string run;                      ///< as the user typed it
  double mtbf_s = 24 * 3600;            ///< mean time between failures, in seconds
  std::optional<std::uint64_t> budget;  ///< disk space for the steps of this run, in bytes
};

/// A save interval, in steps and in seconds, and the share of time that is lost with it.
struct IntervalAdvice {
  std::uint64_t steps = 0;
  double seconds = 0;
  LostShare lost;
};

/// Forecast for a larger model that is saved at the same speed.
struct LargerRun {
  std::uint64_t parameters = 0;
  std::uint64_t save_bytes = 0;
  std::optional<double> save_s, interval_s;  ///< cost of a save (as AdviseReport::cost_s) and best interval in seconds,
                                             ///< if the speed of this run's saves is known
};

/// The recommendations, and the figures they are computed from. Optional members are empty if a record is missing.
struct AdviseReport {
  std::string metrics;  ///< path of the run's metrics.jsonl
  std::string folder;   ///< the folder that holds the run's steps; empty if there is no step
  SaveRecord record;    ///< statistics of metrics.jsonl
  double mtbf_s = 0;
  // From the run's config.toml:
  bool has_settings = false;
  bool saves_enabled = true;
  SaveInterval interval;
  std::uint64_t keep_latest_k = 0;
  std::uint64_t steps = 0;  ///< training.steps

  std::optional<double> cost_s;             ///< seconds that training waits for one save; if unknown, its duration
  std::optional<IntervalAdvice> now, best;  ///< now: with the interval in config.toml

  std::uint64_t steps_there = 0, bytes_there = 0;  ///< saved steps; bytes of these and of damaged steps moved aside
  std::optional<std::uint64_t> one_save;           ///< bytes of the newest full step, else of the last save
  std::optional<std::uint64_t> needed;             ///< bytes of keep_latest_k steps and of the one being written
  std::optional<std::uint64_t> free;               ///< free bytes of the file system
  std::optional<std::uint64_t> budget;             ///< AdviseOptions::budget
  std::optional<RetentionFit> fit;                 ///< how many steps fit into the budget

  std::uint64_t parameters = 0;  ///< 0: unknown
  std::vector<LargerRun> larger;
  std::vector<std::string> not_known;  ///< missing records, and which answers are missing because of them
};

/// Reads the records of a run and makes the recommendations. \error kNotFound (no metrics.jsonl), the errors of
/// read_metrics
ckpt::Result<AdviseReport> advise_run(ckpt::Fs& fs, const AdviseOptions& options);

}  // namespace titan::recipe
