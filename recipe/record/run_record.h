#pragma once
// What a run has published of some steps: losses in its metrics.jsonl, ids there and in its checkpoints.
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

/// The values of a step that are the same on every layout.
struct StepRecord {
  std::optional<double> loss, grad_norm, lr, tokens;
};

struct RunRecord {
  std::map<std::uint64_t, StepRecord> steps;
  std::map<std::uint64_t, std::string> ids;  ///< in hex: of the checkpoint that is there, else as metrics.jsonl has it
};

/// Reads the steps from `first` to `last` of the run in `folder`. A missing metrics.jsonl has no lines.
/// \error kNotFound (no run), of the file, of a step that could not be judged
ckpt::Result<RunRecord> read_record(ckpt::Fs& fs, const std::string& folder, std::uint64_t first, std::uint64_t last);

/// A value that two records of a step do not share, as text.
struct RecordDifference {
  std::uint64_t step = 0;
  std::string what;                 ///< "loss", "gradient norm", "rate", "tokens", "id"
  std::string published, computed;  ///< "nothing" where a record lacks it
  bool operator==(const RecordDifference&) const = default;
};

struct RecordComparison {
  std::uint64_t steps = 0, ids = 0;           ///< that could be compared
  std::vector<RecordDifference> differences;  ///< by step; the id of a step last
};

/// Compares all that `published` has. Numbers are equal when their values are, NaN with NaN. Pure.
RecordComparison compare_records(const RunRecord& published, const RunRecord& computed);

}  // namespace titan::recipe
