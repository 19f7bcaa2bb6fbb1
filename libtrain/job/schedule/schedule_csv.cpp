#include "libtrain/job/schedule/schedule_csv.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>

#include "ckpt/base/text.h"

namespace titan::train {
namespace {

using ckpt::Result;

/// Removes the part of `text` before `mark`, and the mark, from `text`; returns that part.
std::string_view cut(std::string_view& text, char mark) {
  const std::size_t end = std::min(text.find(mark), text.size());
  const std::string_view part = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return part;
}

/// Takes a number from the front of `text`.
std::optional<std::uint32_t> number(std::string_view& text) {
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{}) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return value;
}

std::optional<Action> action_of(std::string_view cell) {
  constexpr std::string_view kLetters = "FBIW";  // in the order of ActionKind
  const auto stage = number(cell);
  if (!stage || cell.empty()) return std::nullopt;
  const std::size_t kind = kLetters.find(cell.front());
  cell.remove_prefix(1);
  const auto micro_batch = number(cell);
  if (kind == std::string_view::npos || !micro_batch || !cell.empty()) return std::nullopt;
  return Action{static_cast<ActionKind>(kind), *stage, *micro_batch};
}

std::string place_text(std::size_t line, std::size_t cell) {
  return "line " + std::to_string(line) + ", cell " + std::to_string(cell);
}

std::string hint_for(std::string_view cell) {
  if (cell.find("OVERLAP_F_B") != std::string_view::npos)
    return "there are no overlapped cells here: write the forward and the backward as two cells, one after the other";
  for (const std::string_view word : {"SEND_", "RECV_", "UNSHARD", "RESHARD", "REDUCE_GRAD"})
    if (cell.find(word) != std::string_view::npos)
      return "leave out transfers, UNSHARD, RESHARD and REDUCE_GRAD: they are worked out from the actions that compute";
  return "a cell is a stage, one of F, B, I and W, and a micro-batch, such as 2F0";
}

}  // namespace

std::string ScheduleCsv::where(std::size_t row, std::size_t action) const {
  return place_text(lines[row], cells[row][action]) + " (" + to_csv(table[row][action]) + ")";
}

Result<ScheduleCsv> parse_schedule_csv(std::string_view text) {
  ScheduleCsv csv;
  bool any = false;
  for (std::size_t line = 1; !text.empty(); ++line) {
    std::string_view row = cut(text, '\n');
    if (ckpt::trimmed(row).empty() && ckpt::trimmed(text).find_first_not_of('\n') == std::string_view::npos)
      break;  // only empty lines follow
    csv.table.emplace_back();
    csv.lines.push_back(line);
    csv.cells.emplace_back();
    for (std::size_t place = 1; !row.empty(); ++place) {
      const std::string_view cell = ckpt::trimmed(cut(row, ','));
      if (cell.empty()) continue;
      const std::optional<Action> action = action_of(cell);
      if (!action)
        return ckpt::invalid(place_text(line, place) + ": `" + std::string(cell.substr(0, 40)) + "` is no action")
            .with_hint(hint_for(cell));
      csv.table.back().push_back(*action);
      csv.cells.back().push_back(place);
      any = true;
    }
  }
  if (!any) return ckpt::invalid("the schedule has no actions").with_hint(hint_for(""));
  return csv;
}

}  // namespace titan::train
