#pragma once
// `advise`: how often a run should save and how many steps it should keep, from its own records. What they lack is
// said, not guessed.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ckpt/base/fs.h"
#include "recipe/advice/retention_fit.h"
#include "recipe/advice/save_interval.h"
#include "recipe/advice/save_record.h"
#include "recipe/keys/interval.h"

namespace titan::recipe {

struct AdviseOptions {
  std::string run;                      ///< as typed
  double mtbf_s = 24 * 3600;            ///< a failure comes every so many seconds, on average
  std::optional<std::uint64_t> budget;  ///< bytes of disk for the steps of this run
};

/// How a save interval does.
struct IntervalAdvice {
  std::uint64_t steps = 0;
  double seconds = 0;
  LostShare lost;
};

/// A larger model, saved as this one is.
struct LargerRun {
  std::uint64_t parameters = 0;
  std::uint64_t save_bytes = 0;
  std::optional<double> save_s, interval_s;  ///< at the speed of this run's saves, where that says something
};

struct AdviseReport {
  std::string metrics;  ///< its metrics.jsonl
  std::string folder;   ///< of its steps; empty without any
  SaveRecord record;
  double mtbf_s = 0;
  // From its config.toml.
  bool has_settings = false;
  bool saves_enabled = true;
  SaveInterval interval;
  std::uint64_t keep_latest_k = 0;
  std::uint64_t steps = 0;  ///< training.steps

  std::optional<double> cost_s;             ///< of a save, as far as training waits for it
  std::optional<IntervalAdvice> now, best;  ///< now: with the interval of config.toml

  std::uint64_t steps_there = 0, bytes_there = 0;  ///< steps, and bytes of all that lies in the folder of steps
  std::optional<std::uint64_t> one_save;           ///< bytes of the newest full step, else of the last save
  std::optional<std::uint64_t> needed;             ///< with keep_latest_k, one more while it is written
  std::optional<std::uint64_t> free;
  std::optional<std::uint64_t> budget;
  std::optional<RetentionFit> fit;

  std::uint64_t parameters = 0;  ///< 0: not known
  std::vector<LargerRun> larger;
  std::vector<std::string> not_known;  ///< what the records lack, and what follows from that
};

/// \error kNotFound (no metrics.jsonl), those of read_metrics
ckpt::Result<AdviseReport> advise_run(ckpt::Fs& fs, const AdviseOptions& options);

}  // namespace titan::recipe
