#include "cli/titan_train/plan_drawing.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <vector>

namespace titan::cli {
namespace {

using train::Action;
using train::ActionKind;

constexpr std::size_t kMostRows = 16;

/// What a rank does in a unit of time.
struct DrawnCell {
  const Action* action = nullptr;  ///< null while the rank is idle
  bool first = false;              ///< this is the first unit of the action
};
using Row = std::vector<DrawnCell>;

std::vector<Row> cells_of(const train::DrawnSchedule& schedule) {
  std::vector<Row> rows;
  for (std::size_t rank = 0; rank < schedule.table.size(); ++rank) {
    Row& row = rows.emplace_back(static_cast<std::size_t>(std::lround(schedule.makespan)));
    for (std::size_t i = 0; i < schedule.table[rank].size(); ++i) {
      const auto start = static_cast<std::size_t>(std::lround(schedule.spans[rank][i].start));
      const auto end = static_cast<std::size_t>(std::lround(schedule.spans[rank][i].finish));
      for (std::size_t t = start; t < end; ++t) row[t] = {&schedule.table[rank][i], t == start};
    }
  }
  return rows;
}

char letter_of(ActionKind kind) {
  switch (kind) {
    case ActionKind::kForward: return 'F';
    case ActionKind::kBackwardInput: return 'I';
    case ActionKind::kBackwardWeight: return 'W';
    default: return 'B';
  }
}

Role role_of(const DrawnCell& cell) {
  if (cell.action == nullptr) return Role::kDim;
  switch (cell.action->kind) {
    case ActionKind::kForward: return Role::kOk;
    case ActionKind::kBackwardWeight: return Role::kPlain;
    default: return Role::kWarning;
  }
}

std::string text_of(const DrawnCell& cell, std::uint32_t ranks, bool wide) {
  if (cell.action == nullptr) return wide ? ". " : ".";
  const char letter = letter_of(cell.action->kind);
  std::string text(1, cell.action->stage < ranks ? letter : static_cast<char>(std::tolower(letter)));
  if (!wide) return text;
  if (!cell.first) return "--";
  return text + static_cast<char>('0' + cell.action->micro_batch % 10);
}

/// The text of the cells [begin, end). Adjacent cells of one colour share an escape sequence.
std::string paint(const Row& row, std::size_t begin, std::size_t end, std::uint32_t ranks, bool wide,
                  const Palette& palette) {
  std::string out, part;
  for (std::size_t t = begin; t < end; ++t) {
    part += text_of(row[t], ranks, wide);
    if (t + 1 < end && role_of(row[t + 1]) == role_of(row[t])) continue;
    out += palette.paint(role_of(row[t]), part);
    part.clear();
  }
  return out;
}

}  // namespace

std::string draw_schedule(const train::DrawnSchedule& schedule, const Palette& palette, std::size_t width) {
  const std::vector<Row> rows = cells_of(schedule);
  if (rows.empty()) return "";
  const auto ranks = static_cast<std::uint32_t>(rows.size());
  const std::size_t shown = rows.size() <= kMostRows ? rows.size() : kMostRows - 1;
  const std::size_t digits = std::to_string(shown - 1).size();
  const std::string name = "  rank ";
  const std::size_t columns = width - std::min(width, name.size() + digits + 3);  // 3: " |" and "|"
  const std::size_t units = rows[0].size();
  const bool wide = 2 * units <= columns;
  const bool whole = wide || units <= columns;
  const std::string gap = " ... ";
  const std::size_t left = whole ? units : (columns - gap.size()) / 2;

  std::string out;
  for (std::size_t rank = 0; rank < shown; ++rank) {
    const std::string number = std::to_string(rank);
    out += name + std::string(digits - number.size(), ' ') + number + " |";
    out += paint(rows[rank], 0, left, ranks, wide, palette);
    if (!whole) out += palette.paint(Role::kDim, gap) + paint(rows[rank], units - left, units, ranks, wide, palette);
    out += "|\n";
  }
  if (shown < rows.size()) out += "  and " + std::to_string(rows.size() - shown) + " more ranks\n";
  return out;
}

}  // namespace titan::cli
