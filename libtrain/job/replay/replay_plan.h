#pragma once
// Steps of a run that are to be computed again: from which checkpoints, with which configuration.
#include <cstdint>
#include <string>
#include <vector>

#include "ckpt/base/result.h"
#include "ckpt/model/settings.h"
#include "recipe/record/run_record.h"

namespace titan::ckpt {
class Fs;
}

namespace titan::train {

/// RUN@A..B: steps A + 1 to B, from the checkpoint at A.
struct ReplayRange {
  std::string run;
  std::uint64_t from = 0, to = 0;
};
/// \error kInvalid: another form, or A is not before B
ckpt::Result<ReplayRange> parse_replay_range(const std::string& text);

/// How the steps are laid out this time. Without `nproc` as the run was when it computed them.
struct ReplayLayout {
  std::uint32_t nproc = 0, pp = 1;
};

/// Steps that one start computes.
struct ReplaySegment {
  std::uint64_t from = 0, to = 0;
  std::string checkpoint;  ///< at `from`
  std::uint32_t nproc = 1;
  ckpt::Settings config;           ///< whole; the folder of the run is the caller's to add
  std::vector<std::string> allow;  ///< keys that the start behind `from` was allowed to change
};

struct ReplayPlan {
  ReplayRange range;
  std::vector<ReplaySegment> segments;  ///< ascending; one ends where a start with an allowed change begins
  recipe::RunRecord published;          ///< steps A + 1 to B
};

/// Looks at the run; writes nothing. The configuration is that of the oldest step behind each segment's beginning.
/// \error kNotFound (no run; no full step at A, or before a start that changed what shapes the curve; no step behind A;
/// nothing was published of these steps), those of reading them
ckpt::Result<ReplayPlan> plan_replay(ckpt::Fs& fs, const ReplayRange& range, const ReplayLayout& layout);

/// The rows as a TOML file.
std::string toml_of_rows(const ckpt::Settings& rows);

}  // namespace titan::train
