#pragma once
// Recorded values of some steps of a run: losses from its metrics.jsonl, ids from its metrics.jsonl and its
// checkpoints.
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ckpt/base/result.h"

namespace titan::ckpt {
class Fs;
}

namespace titan::recipe {

/// The values of a step that do not depend on the layout.
struct StepRecord {
  std::optional<double> loss, grad_norm, lr, tokens;
};

/// The recorded values of a run.
struct RunRecord {
  std::map<std::uint64_t, StepRecord> steps;
  std::map<std::uint64_t, std::string> ids;  ///< in hex: of an existing full checkpoint, else from metrics.jsonl
  std::vector<std::string> notes;            ///< steps without a whole manifest, whose id is from metrics.jsonl
};

/// Reads steps `first` to `last` of the run in `folder`. A missing metrics.jsonl counts as empty.
/// \error kNotFound (no run), the errors of reading metrics.jsonl, the error of a step that could not be checked
ckpt::Result<RunRecord> read_record(ckpt::Fs& fs, const std::string& folder, std::uint64_t first, std::uint64_t last);

/// A value that differs between two records of a step, as text.
struct RecordDifference {
  std::uint64_t step = 0;
  std::string what;                 ///< "loss", "gradient norm", "rate", "tokens", "id"
  std::string published, computed;  ///< of the run, and of its replay; "nothing" if a record lacks it
  bool operator==(const RecordDifference&) const = default;
};

/// The outcome of a comparison.
struct RecordComparison {
  std::uint64_t steps = 0, ids = 0;           ///< numbers of steps and of ids in the published record
  std::vector<RecordDifference> differences;  ///< in order of step; the id of a step comes last
};

/// Compares every value in `published` (what a run recorded) with that in `computed` (what `titan-train replay` of its
/// steps recorded). Numbers are compared by value; NaN equals NaN. Pure.
RecordComparison compare_records(const RunRecord& published, const RunRecord& computed);

}  // namespace titan::recipe
