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

/// The result of one replay.
struct ReplayOutcome {
  train::ReplayPlan plan;
  recipe::RecordComparison result;
  std::optional<ckpt::DiffReport> diff;  ///< of the first recorded step whose id differs, if that step still exists
  std::vector<std::string> notes;
  bool follows() const { return result.differences.empty(); }
};

struct BisectOutcome {
  std::string run;
  std::vector<std::uint64_t> steps;    ///< full ones, ascending
  std::vector<ReplayOutcome> replays;  ///< in the order in which they ran
  std::uint64_t proved = 0;            ///< all steps up to this one were reproduced
  /// False if the last replay found a difference.
  bool follows() const { return replays.empty() || replays.back().follows(); }
  std::vector<std::string> passed_over;    ///< damaged steps from which no replay can start, and why
  std::vector<std::string> notes() const;  ///< those, and the notes of the replays, each once
};

std::string replay_text(const ReplayOutcome& outcome, const TextStyle& style);
std::string replay_json(const ReplayOutcome& outcome);
std::string bisect_text(const BisectOutcome& outcome, const TextStyle& style);
std::string bisect_json(const BisectOutcome& outcome);

}  // namespace titan::cli
