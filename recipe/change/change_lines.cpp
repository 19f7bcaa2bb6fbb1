#include "recipe/change/change_lines.h"

#include <algorithm>

#include "ckpt/base/printed.h"
#include "ckpt/base/text.h"
#include "ckpt/base/wrap.h"
#include "ckpt/plan/lr_schedule.h"

namespace titan::recipe {
namespace {

constexpr std::size_t kWidth = 76;  // columns of a table; it is printed with an indent of four
using Row = std::vector<std::string>;

std::string padded(const std::string& text, std::size_t width, bool to_the_right) {
  const std::string blanks(width - std::min(width, text.size()), ' ');
  return to_the_right ? blanks + text : text + blanks;
}

/// Lays out `rows` with two blanks between columns, and wraps the last column to fit kWidth. With `numbers`, the
/// columns between the first and the last are right-aligned.
std::vector<std::string> table(const std::vector<Row>& rows, bool numbers) {
  std::vector<std::size_t> widths;
  for (const Row& row : rows) {
    widths.resize(std::max(widths.size(), row.size() - 1));
    for (std::size_t i = 0; i + 1 < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::vector<std::string> lines;
  for (const Row& row : rows) {
    std::string start;
    for (std::size_t i = 0; i + 1 < row.size(); ++i) start += padded(row[i], widths[i], numbers && i > 0) + "  ";
    const std::size_t room = std::max<std::size_t>(24, kWidth - std::min(kWidth, start.size()));
    for (const std::string& part : ckpt::wrap_words(row.back(), room)) {
      std::string line = start + part;
      line.erase(line.find_last_not_of(' ') + 1);
      lines.push_back(std::move(line));
      start.assign(start.size(), ' ');
    }
  }
  return lines;
}

/// The note after a key's name, such as "training.steps when unset"; empty if the name is enough.
std::string row_note(const Change& change) {
  const Key* key = find_key(change.drift.key);
  if (key == nullptr || change.key != change.drift.key) return "";
  if (!key->row_note.empty()) return " (" + key->row_note + ")";
  return key->unset_follows.empty() ? "" : " (" + key->unset_follows + " when unset)";
}

std::string rounded(double value) { return ckpt::printed("%.4g", value); }

std::string jump(const ckpt::LrPreview& preview) {
  const double before = preview.next_before, after = preview.next_after;
  if (before > 0 && after != before) return rounded(after / before) + " times what it was";
  return before > 0 || !(after > 0) ? "as without the change" : "was 0";
}

std::string refusal(const ckpt::LrPreview& preview) {
  const std::string causes = ckpt::joined(preview.refused.causes);
  return "not possible: " + preview.refused.message + (causes.empty() ? "" : " (" + causes + ")");
}

struct Points {
  std::uint64_t next, middle, end;
};

Points points_of(const ckpt::LrPreview& preview) {
  const std::uint64_t next = preview.step + 1, end = std::max(preview.after.accepted.total_steps, next);
  return {next, preview.step + (end - preview.step + 1) / 2, end};
}

std::string rate(const ckpt::LrPreview& preview, std::uint64_t step) {
  return rounded(ckpt::lr_at(preview.after.phases, step));
}

/// Lists changes with one value per line, for values that are too long to be next to each other.
std::vector<std::string> stacked_changes(const std::vector<Change>& changes) {
  std::vector<std::string> lines;
  for (const Change& change : changes) {
    lines.push_back(change.key + row_note(change));
    for (std::string& line : table({{"  checkpoint", change.drift.stored},
                                    {"  here", change.drift.config},
                                    {change.allowed ? "  allowed" : "  then", change.what}},
                                   false))
      lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace

std::string allow_flags(const Change& change) {
  if (change.allow.empty()) return "";
  return "--allow " + change.allow + (change.needs_policy ? " --lr_scheduler.on_change=POLICY" : "");
}

std::string change_line(const Change& change) {
  return change.key + ": " + change.drift.stored + " -> " + change.drift.config + row_note(change) + ": " + change.what;
}

std::vector<std::string> change_table(const std::vector<Change>& changes) {
  constexpr std::size_t kLong = 20;  // longer values (a fingerprint of data files, for example) are stacked
  const bool stacked = std::ranges::any_of(changes, [](const Change& change) {
    return change.drift.stored.size() > kLong || change.drift.config.size() > kLong;
  });
  if (stacked) return stacked_changes(changes);
  std::vector<Row> rows{{"setting", "checkpoint", "here", "what happens"}};
  for (const Change& change : changes) {
    const std::string verdict = change.allowed ? "allowed: " : "";
    rows.push_back({change.key, change.drift.stored, change.drift.config, verdict + change.what + row_note(change)});
  }
  return table(rows, false);
}

std::string preview_line(const ckpt::LrPreview& preview) {
  const std::string line = padded(ckpt::policy_name(preview.policy), 7, false) + "  ";
  if (!preview.refused.ok()) return line + refusal(preview);
  const auto at = [&](std::uint64_t step) { return "lr(" + std::to_string(step) + ") = " + rate(preview, step); };
  const auto [next, middle, end] = points_of(preview);
  return line + at(next) + " (" + jump(preview) + "), " + at(middle) + ", " + at(end);
}

std::vector<std::string> preview_table(const std::vector<ckpt::LrPreview>& previews) {
  const auto usable = std::ranges::find_if(previews, [](const ckpt::LrPreview& p) { return p.refused.ok(); });
  std::vector<Row> rows;
  if (usable != previews.end()) {
    const auto [next, middle, end] = points_of(*usable);
    const auto step = [](std::uint64_t n) { return "lr(" + std::to_string(n) + ")"; };
    rows.push_back({"policy", step(next), step(middle), step(end), ""});
  }
  for (const ckpt::LrPreview& preview : previews) {
    Row row{ckpt::policy_name(preview.policy)};
    if (!preview.refused.ok()) {
      row.insert(row.end(), {"-", "-", "-", refusal(preview)});
    } else {
      const auto [next, middle, end] = points_of(preview);
      for (const std::uint64_t step : {next, middle, end}) row.push_back(rate(preview, step));
      std::string remark = jump(preview);
      for (const std::string& warning : preview.warnings) {
        const std::string own = std::string(ckpt::policy_name(preview.policy)) + ": ";
        remark += "; " + (warning.starts_with(own) ? warning.substr(own.size()) : warning);
      }
      row.push_back(std::move(remark));
    }
    rows.push_back(std::move(row));
  }
  return table(rows, true);
}

}  // namespace titan::recipe
