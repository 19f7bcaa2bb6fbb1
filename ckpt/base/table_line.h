#pragma once
// Causes of a Status (status.h) that are the rows of a table. They are printed without "caused by:".
#include <string>
#include <string_view>
#include <vector>

namespace titan::ckpt {

inline constexpr char kTableMark = '\t';

/// Marks `lines` as rows of a table, for use as the causes of a Status.
inline std::vector<std::string> table_causes(std::vector<std::string> lines) {
  for (std::string& line : lines) line.insert(line.begin(), kTableMark);
  return lines;
}

inline bool is_table_line(std::string_view cause) { return cause.starts_with(kTableMark); }
/// The text of a cause, without the mark of a table line.
inline std::string cause_text(std::string_view cause) {
  return std::string(is_table_line(cause) ? cause.substr(1) : cause);
}

}  // namespace titan::ckpt
