#pragma once
// Causes of a Status that are lines of one table: people see them below each other, without "caused by:".
#include <string>
#include <string_view>
#include <vector>

namespace titan::ckpt {

inline constexpr char kTableMark = '\t';

/// `lines` as causes.
inline std::vector<std::string> table_causes(std::vector<std::string> lines) {
  for (std::string& line : lines) line.insert(line.begin(), kTableMark);
  return lines;
}

inline bool is_table_line(std::string_view cause) { return cause.starts_with(kTableMark); }
/// A cause as it reads.
inline std::string cause_text(std::string_view cause) {
  return std::string(is_table_line(cause) ? cause.substr(1) : cause);
}

}  // namespace titan::ckpt
