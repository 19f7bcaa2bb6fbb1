#pragma once
// Plans a replay (steps of a run computed again): from which checkpoints, with which configuration.
#include <cstdint>
#include <string>
#include <vector>

#include "ckpt/base/result.h"
#include "ckpt/model/settings.h"
#include "recipe/history/run_record.h"

namespace titan::ckpt {
class Fs;
}

namespace titan::train {

/// From RUN@A..B: steps A + 1 to B, from the checkpoint at A.
struct ReplayRange {
  std::string run;
  std::uint64_t from = 0, to = 0;
};
/// Parses RUN@A..B. \error kInvalid: the text has another form, or A is not less than B
ckpt::Result<ReplayRange> parse_replay_range(const std::string& text);

/// The layout of a replay. `nproc` 0: the layout that the run had.
struct ReplayLayout {
  std::uint32_t nproc = 0, pp = 1;
};

/// The steps that one start computes.
struct ReplaySegment {
  std::uint64_t from = 0, to = 0;
  std::string checkpoint;  ///< at `from`
  std::uint32_t nproc = 1;
  ckpt::Settings config;           ///< the configuration of the replay; the caller adds the run folder
  std::vector<std::string> allow;  ///< keys that the start after `from` was allowed to change
};

struct ReplayPlan {
  ReplayRange range;
  std::vector<ReplaySegment> segments;  ///< ascending; a segment ends where a start with an allowed change begins
  recipe::RunRecord published;          ///< what the run recorded for steps A + 1 to B
};

/// Reads the run; writes nothing. A segment's configuration is that of the oldest step after the segment's beginning.
/// \error kNotFound: no run; no full step at A, or before a start that changed a setting that shapes the loss curve; no
/// step after A; no records of these steps; else the error of reading the run
ckpt::Result<ReplayPlan> plan_replay(ckpt::Fs& fs, const ReplayRange& range, const ReplayLayout& layout);

/// The rows as a TOML file.
std::string toml_of_rows(const ckpt::Settings& rows);

}  // namespace titan::train
