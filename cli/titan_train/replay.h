#pragma once
// `titan-train replay` and `bisect`: compute steps of a run again and compare them with the run's records.
#include <optional>
#include <string>
#include <vector>

#include "ckpt/ops/diff.h"
#include "cli/kit/verb.h"
#include "libtrain/job/replay/replay_plan.h"

namespace titan::cli {

ckpt::Result<Answer> run_replay(const Request& request);
ckpt::Result<Answer> run_bisect(const Request& request);

/// The result of one replay: the steps were computed again from a saved checkpoint.
struct ReplayOutcome {
  train::ReplayPlan plan;
  recipe::RecordComparison result;       ///< recorded losses, gradient norms and ids against those computed again
  std::optional<ckpt::DiffReport> diff;  ///< tensors of the first step whose id differs, if its checkpoint still exists
  std::vector<std::string> notes;
  /// Whether the replay gave the recorded values.
  bool follows() const { return result.differences.empty(); }
};

/// The result of `bisect`: a binary search, by replays, for the first full step that differs when training is repeated
/// from an earlier full step.
struct BisectOutcome {
  std::string run;
  std::vector<std::uint64_t> steps;    ///< steps with a full checkpoint, ascending; without those in `passed_over`
  std::vector<ReplayOutcome> replays;  ///< in the order in which they ran
  std::uint64_t proved = 0;            ///< the replays reproduced all steps up to this one
  /// False if the last replay found a difference.
  bool follows() const { return replays.empty() || replays.back().follows(); }
  std::vector<std::string> passed_over;    ///< a line for each damaged step, from which no replay can start
  std::vector<std::string> notes() const;  ///< `passed_over` and the notes of the replays, each once
};

std::string replay_text(const ReplayOutcome& outcome, const TextStyle& style);
std::string replay_json(const ReplayOutcome& outcome);
std::string bisect_text(const BisectOutcome& outcome, const TextStyle& style);
std::string bisect_json(const BisectOutcome& outcome);

}  // namespace titan::cli
