#pragma once
// Reads a schedule from text in torchtitan's format (parallelism.pipeline_parallel_schedule_csv). Pure.
#include <string>
#include <string_view>

#include "libtrain/job/schedule/schedule.h"

namespace titan::train {

struct ScheduleCsv {
  ScheduleTable table;
  std::vector<std::size_t> lines;               ///< line number of each row, from 1
  std::vector<std::vector<std::size_t>> cells;  ///< cell number of each action of a row, from 1
  /// "line 2, cell 5 (1B0)"
  std::string where(std::size_t row, std::size_t action) const;
};

/// Reads `text`: one line per pipeline rank, with cells between commas. A cell is "<stage><F|B|I|W><micro-batch>", or
/// empty while the rank is idle. Empty lines at the end do not count. simulate() checks whether the actions fit
/// together.
/// \error kInvalid: with line and cell, a cell that is none of these (a transfer, overlapped actions, ...); or there is
/// no action
ckpt::Result<ScheduleCsv> parse_schedule_csv(std::string_view text);

}  // namespace titan::train
