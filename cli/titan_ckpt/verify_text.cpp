#include "cli/titan_ckpt/verify.h"

#include <algorithm>

#include "cli/kit/text.h"
#include "cli/kit/units.h"

namespace titan::cli {
namespace {

using ckpt::Damage;
using ckpt::VerifiedStep;
using ckpt::VerifySummary;

std::string places(std::uint64_t count) { return format_count(count) + (count == 1 ? " place" : " places"); }

std::string checked(std::uint64_t leaves, std::uint64_t bytes, const TextStyle& style) {
  return format_count(leaves) + (leaves == 1 ? " leaf, " : " leaves, ") + format_bytes(bytes, style.exact_bytes);
}

}  // namespace

std::string verify_text(const VerifySummary& summary, const TextStyle& style) {
  const Palette& palette = style.palette;
  std::string out;
  for (const VerifiedStep& step : summary.steps) {
    const std::size_t count = step.report.damage.size();
    if (!step.readable.ok()) {
      out += palette.paint(Role::kWarning, "unchecked") + "  " + escape(step.path) + "  " +
             escape(step.readable.message) + "\n";
    } else if (count == 0 && !step.report.unreadable.empty()) {
      out += palette.paint(Role::kWarning, "unreadable") + "  " + escape(step.path) + "  " +
             places(step.report.unreadable.size()) + ", no damage known\n";
    } else if (count == 0) {
      out += palette.paint(Role::kOk, "ok") + "  " + escape(step.path) + "  " +
             checked(step.report.leaves, step.report.bytes, style) + "\n";
    } else {
      out += palette.paint(Role::kError, "damaged") + "  " + escape(step.path) + "  " + places(count) +
             (step.report.unreadable.empty() ? "" : ", " + places(step.report.unreadable.size()) + " unreadable") +
             "\n";
    }
    for (const Damage& damage : step.report.damage) out += "  " + damage_line(damage) + "\n";
    for (const Damage& place : step.report.unreadable) out += "  unreadable: " + damage_line(place) + "\n";
    if (step.report.not_named > 0) out += "  and " + places(step.report.not_named) + " more\n";
    if (!step.report.note.empty()) out += "  note: " + escape(step.report.note) + "\n";
  }
  for (const std::string& path : summary.deleted)
    out += palette.paint(Role::kWarning, "deleted") + "  " + escape(path) + "  was deleted meanwhile, left out\n";
  if (summary.is_run) {
    const std::size_t count = summary.steps.size();
    const auto unchecked = std::count_if(summary.steps.begin(), summary.steps.end(),
                                         [](const VerifiedStep& step) { return !step.readable.ok(); });
    out += "total  " + std::to_string(count) + (count == 1 ? " step, " : " steps, ") +
           checked(summary.leaves, summary.bytes, style) + ", " + std::to_string(summary.damage) + " damaged" +
           (summary.unreadable_places == 0 ? "" : ", " + std::to_string(summary.unreadable_places) + " unreadable") +
           (unchecked == 0 ? "" : ", " + std::to_string(unchecked) + " not checked") + "\n";
  }
  return out;
}

std::string damage_line(const ckpt::Damage& damage) {
  std::string text = escape(damage.file) + ": " + escape(damage.unit);
  if (damage.unit == "leaf") text += " " + std::to_string(damage.leaf);
  if (!damage.tensor.empty()) text += " of " + escape(damage.tensor);
  if (damage.bytes > 0) text += ", " + format_count(damage.bytes) + " bytes at offset " + format_count(damage.offset);
  if (!damage.detail.empty()) text += ": " + escape(damage.detail);
  return text;
}

}  // namespace titan::cli
