#pragma once
// Which lines of a metrics.jsonl are valid. A start that resumes from an earlier step repeats steps, and their earlier
// lines no longer count. titan-train removes such lines itself; joined or copied files may still have them. Pure.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "recipe/history/metrics_line.h"

namespace titan::recipe {

/// The first pass over a file, line by line: finds starts that resumed from an earlier step. For speed, it parses most
/// lines only up to the step number.
class HistoryScan {
 public:
  void line(std::string_view text);
  std::uint64_t lines() const { return lines_; }

  struct Cut {
    std::uint64_t line = 0;  ///< among the lines before this one...
    std::uint64_t step = 0;  ///< ...those of this step or later are invalid
  };
  /// In ascending order of step. An earlier cut that a later one includes is not listed.
  const std::vector<Cut>& cuts() const { return cuts_; }

 private:
  std::uint64_t lines_ = 0, newest_ = 0;
  std::uint32_t attempt_ = 0;
  std::vector<Cut> cuts_;
};

/// The second pass: decides for each line, in order, whether it is valid. kDoneAgain: a later start repeated this step.
/// kOutOfOrder: the step does not ascend.
class HistoryFilter {
 public:
  explicit HistoryFilter(std::vector<HistoryScan::Cut> cuts) : cuts_(std::move(cuts)) {}
  enum class Counts { kYes, kDoneAgain, kOutOfOrder };
  /// `number` is the line number, from 0.
  Counts judge(std::uint64_t number, const MetricsLine& line);

 private:
  std::vector<HistoryScan::Cut> cuts_;
  std::size_t next_ = 0;
  std::optional<std::uint64_t> last_;  ///< step of the last valid line
};

}  // namespace titan::recipe
